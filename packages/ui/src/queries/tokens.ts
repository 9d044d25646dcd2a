import type { CallInput } from '@countersign/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';

export function useTokens() {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.tokens,
    queryFn: async ({ signal }) => (await client.listTokens({}, { signal })).tokens,
  });
}

/** The response holds the token itself. It is not cached, and dropped when the form is reset. */
export function useMakingToken() {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: CallInput<'createToken'>['body']) => client.createToken({ body }),
    gcTime: 0,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens }),
  });
}

export function useRevokingToken() {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (tokenId: string) => client.revokeToken({ params: { token_id: tokenId } }),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens }),
  });
}
