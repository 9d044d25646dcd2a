import type { Client } from '@countersign/client';
import { useQuery } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';

/** A query of the server's data. `queryKey` is one of `keys`. Without `enabled`, no request is made. */
export function useRead<T>(
  queryKey: readonly string[],
  read: (client: Client, options: { readonly signal: AbortSignal }) => Promise<T>,
  enabled = true,
) {
  const { client } = useLive();
  return useQuery({ queryKey, enabled, queryFn: ({ signal }) => read(client, { signal }) });
}
