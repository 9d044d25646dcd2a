import type { CallInput } from '@countersign/client';
import type { PolicyFile } from '@countersign/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';

export function useGrants() {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.grants,
    queryFn: async ({ signal }) => (await client.listGrants({}, { signal })).grants,
  });
}

export function useRevoking() {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (grantId: string) => client.revokeGrant({ params: { grant_id: grantId } }),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.grants }),
  });
}

export function usePolicy() {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.policy,
    queryFn: async ({ signal }) => (await client.getPolicy({}, { signal })).policy,
  });
}

export function useSavingPolicy() {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (policy: PolicyFile) => client.putPolicy({ body: policy }),
    onSuccess: ({ policy }) => queries.setQueryData(keys.policy, policy),
  });
}

/** Removes one rule from the server's current policy, not from this page's copy. */
export function useRemovingRule() {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (ruleId: string) => {
      const { policy } = await client.getPolicy();
      return client.putPolicy({ body: { ...policy, rules: policy.rules.filter(({ id }) => id !== ruleId) } });
    },
    onSuccess: ({ policy }) => queries.setQueryData(keys.policy, policy),
  });
}

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
