import type { CallInput } from '@countersign/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';

export type HistoryFilters = Pick<
  NonNullable<CallInput<'history'>['query']>,
  'q' | 'project_id' | 'tool_name' | 'status' | 'risk_level' | 'since' | 'until'
>;

/** One call in full. With null, no request is made. */
export function useExecution(toolId: string | null) {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.execution(toolId ?? ''),
    enabled: toolId !== null,
    queryFn: ({ signal }) => client.getExecution({ params: { tool_id: toolId ?? '' } }, { signal }),
  });
}

/** Earlier calls, newest first, page by page. */
export function useHistory(filters: HistoryFilters) {
  const { client } = useLive();
  return useInfiniteQuery({
    queryKey: keys.history(filters),
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      client.history(
        { query: { ...filters, limit: 50, ...(pageParam !== null && { cursor: pageParam }) } },
        { signal },
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
}
