import { type GrantedCall, grantAsRule, type PolicyDecision, type ToolCallPolicy } from '@countersign/policy';
import type { PolicyRule } from '@countersign/protocol';
import type { GrantRow } from '../rows.ts';

/** The grants that allow a call, with the rules of the person's policy that they need beside them. */
export interface Covering {
  readonly grants: readonly GrantRow[];
  readonly rules: readonly PolicyRule[];
}

/**
 * The grant that covers a call; or the grants and rules that together cover each command of a line (RK-5). Undefined if the
 * person must be asked.
 */
export function findCovering(
  policy: ToolCallPolicy,
  decision: PolicyDecision,
  live: readonly GrantRow[],
  here: GrantedCall,
): Covering | undefined {
  const { call, details } = decision;
  if (!call || !details) return undefined;
  const usable = live.flatMap((grant) => {
    const rule = grant.revoked_at === null ? grantAsRule(grant, details, here) : undefined;
    return rule ? [{ ...rule, grant }] : [];
  });
  const alone = usable.find((rule) => rule.matches(call, details));
  if (alone) return { grants: [alone.grant], rules: [] };
  const united = policy.unite(decision, usable);
  const grants = united.flatMap((rule) => ('grant' in rule ? [rule.grant] : []));
  if (grants.length === 0) return undefined;
  return { grants, rules: united.flatMap((rule) => ('grant' in rule ? [] : [rule.rule])) };
}
