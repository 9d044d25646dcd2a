import { rulesOnPaths } from '@countersign/policy';
import { type PolicyRule, type RunnerCapability, runnerCapabilities } from '@countersign/protocol';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';

/** The rules of the person's own policy that a runner applies to the real disk (RK-5, VA-8), as they are stored now. */
export function* pathRulesFor(
  tx: Reading,
  { user_id, tool_name }: Pick<ExecutionRow, 'user_id' | 'tool_name'>,
): Unit<readonly PolicyRule[]> {
  const row = yield* tx.get('policies', user_id);
  return rulesOnPaths(row?.policy.rules ?? [], tool_name);
}

/** What a runner must be able to do before it is given a call that these rules touch. */
export const capabilityFor = (rules: readonly PolicyRule[]): RunnerCapability | undefined =>
  rules.length > 0 ? runnerCapabilities.pathRules : undefined;
