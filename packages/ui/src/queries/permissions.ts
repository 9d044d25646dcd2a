import type { CallInput, CallResponse, Client } from '@countersign/client';
import type { PolicyFile, PolicyRule } from '@countersign/protocol';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';
import { useRead } from './use-read.ts';

export const useGrants = () =>
  useRead(keys.grants, async (client, options) => (await client.listGrants({}, options)).grants);

export const useRevoking = () =>
  useChange(keys.grants, (client, grant_id: string) => client.revokeGrant({ params: { grant_id } }));

/** The person's rules, and the file that they are kept in if the server runs on their machine. */
export type KeptPolicy = Pick<CallResponse<'getPolicy'>, 'policy' | 'file'>;

export const usePolicy = () =>
  useRead(
    keys.policy,
    async (client, options): Promise<KeptPolicy> => kept(await client.getPolicy({}, options)),
  );

const kept = ({ policy, file }: KeptPolicy): KeptPolicy => ({ policy, ...(file && { file }) });

/** Replaces the policy that was edited; refused if another program has changed it meanwhile. */
export const useSavingPolicy = () =>
  usePolicyChange((client, { policy, replaces }: { policy: PolicyFile; replaces: PolicyFile }) =>
    client.putPolicy({ body: { ...policy, replaces } }),
  );

/** Removes one rule from the server's current policy, not from this page's copy. */
export const useRemovingRule = () =>
  useRulesChange((rules, ruleId: string) => rules.filter(({ id }) => id !== ruleId));

/** Adds a rule, or replaces the one with its id. */
export const useSavingRule = () =>
  useRulesChange((rules, rule: PolicyRule) => [...rules.filter(({ id }) => id !== rule.id), rule]);

/** What each of these rules would have decided on the recorded calls, before they are saved (RK-5). */
export function useTryingRules() {
  const { client } = useLive();
  return useMutation({
    mutationFn: async (rules: readonly PolicyRule[]) => {
      const tried: { rule: PolicyRule; found: CallResponse<'backtestPolicy'> }[] = [];
      for (const rule of rules) tried.push({ rule, found: await client.backtestPolicy({ body: { rule } }) });
      return tried;
    },
  });
}

function useRulesChange<Input>(change: (rules: readonly PolicyRule[], input: Input) => PolicyRule[]) {
  return usePolicyChange(async (client, input: Input) => {
    const { policy } = await client.getPolicy();
    return client.putPolicy({ body: { ...policy, rules: change(policy.rules, input), replaces: policy } });
  });
}

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
function usePolicyChange<Input>(change: (client: Client, input: Input) => Promise<KeptPolicy>) {
  const { client } = useLive();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(client, input),
    onSuccess: (saved) => queries.setQueryData(keys.policy, kept(saved)),
  });
}
