import type { CallInput, Client } from '@countersign/client';
import type { PolicyFile } from '@countersign/protocol';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';
import { useRead } from './use-read.ts';

export const useGrants = () =>
  useRead(keys.grants, async (client, options) => (await client.listGrants({}, options)).grants);

export const useRevoking = () =>
  useChange(keys.grants, (client, grant_id: string) => client.revokeGrant({ params: { grant_id } }));

export const usePolicy = () =>
  useRead(keys.policy, async (client, options) => (await client.getPolicy({}, options)).policy);

export const useSavingPolicy = () =>
  usePolicyChange((client, policy: PolicyFile) => client.putPolicy({ body: policy }));

/** Removes one rule from the server's current policy, not from this page's copy. */
export const useRemovingRule = () =>
  usePolicyChange(async (client, ruleId: string) => {
    const { policy } = await client.getPolicy();
    return client.putPolicy({ body: { ...policy, rules: policy.rules.filter(({ id }) => id !== ruleId) } });
  });

export const useTokens = () =>
  useRead(keys.tokens, async (client, options) => (await client.listTokens({}, options)).tokens);

/** The response contains the token itself, so it is not cached: it is dropped when the form is reset. */
export const useMakingToken = () =>
  useChange(keys.tokens, (client, body: CallInput<'createToken'>['body']) => client.createToken({ body }), {
    gcTime: 0,
  });

export const useRevokingToken = () =>
  useChange(keys.tokens, (client, token_id: string) => client.revokeToken({ params: { token_id } }));

/** A request that changes data of the server. Afterwards, the queries of `queryKey` are refetched. */
function useChange<Input, Response>(
  queryKey: readonly string[],
  change: (client: Client, input: Input) => Promise<Response>,
  options: { readonly gcTime?: number } = {},
) {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    ...options,
    mutationFn: (input: Input) => change(client, input),
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
}

/** A request that responds with the new policy, which replaces the page's copy. */
function usePolicyChange<Input>(
  change: (client: Client, input: Input) => Promise<{ readonly policy: PolicyFile }>,
) {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(client, input),
    onSuccess: ({ policy }) => queries.setQueryData(keys.policy, policy),
  });
}
