import { isRefused, type PolicyDecision } from '@countersign/policy';
import { isFinal, type PolicyRule } from '@countersign/protocol';
import type { EngineParts } from '../engine-parts.ts';
import { mayNotHaveBegun, reassign } from '../record/execution-record.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Reading, Transaction, Unit } from '../store.ts';
import { askAgain, failCall } from './approval-requests.ts';

type ReviewParts = Omit<EngineParts, 'assignments'>;

/** A call as the person's newest policy judges it. */
interface Judged {
  readonly version: number;
  readonly decision: PolicyDecision;
  readonly rules: readonly PolicyRule[];
}

interface Reviewed {
  readonly execution: ExecutionRow;
  readonly withdrawn?: ApprovalRow | undefined;
  readonly asked?: ApprovalRow | undefined;
}

/** Inside a unit: whether the person's policy is newer than the version that judged the call (RK-5). */
export function* isJudgedByOlderPolicy(tx: Reading, execution: ExecutionRow): Unit<boolean> {
  return (yield* tx.policyVersion(execution.user_id)) !== execution.policy_version;
}

/**
 * RK-5: judges an open call again if the person's policy has changed since. It fails if the newest policy denies it, and
 * the person is asked if that policy says so. Runs outside any unit, because the parameters may be as large as a file.
 * Returns the call if it was reviewed.
 */
export async function reviewCall(parts: ReviewParts, toolId: string): Promise<ExecutionRow | undefined> {
  const { store, decisions, outcomes } = parts;
  const stale = await store.read(function* (tx) {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || isFinal(execution.status)) return undefined;
    return (yield* isJudgedByOlderPolicy(tx, execution)) ? execution : undefined;
  });
  if (!stale) return undefined;
  const judged = await judge(parts, stale);
  const reviewed = await store.write((tx) => applyNewPolicy(tx, parts, toolId, judged));
  if (!reviewed) return undefined;
  const { execution, withdrawn, asked } = reviewed;
  if (withdrawn) decisions.decided(withdrawn);
  if (asked) decisions.watch(asked);
  if (isFinal(execution.status)) outcomes.settled(execution);
  return execution;
}

async function judge(
  { store, policies }: ReviewParts,
  { id, user_id, project_id, tool_name }: ExecutionRow,
): Promise<Judged> {
  const { workspace, params } = await store.read(function* (tx) {
    const project = yield* tx.get('projects', project_id);
    const payload = yield* tx.get('payloads', id);
    return { workspace: project?.workspace ?? null, params: payload?.params };
  });
  const policy = await policies.freshPolicyFor(user_id, workspace);
  return {
    version: policies.versionOf(policy),
    decision: policy.decide(tool_name, params),
    rules: policy.rulesOnPaths(tool_name),
  };
}

function* applyNewPolicy(
  tx: Transaction,
  { store, signals }: ReviewParts,
  toolId: string,
  { version, decision, rules }: Judged,
): Unit<Reviewed | undefined> {
  const now = store.now();
  const execution = yield* tx.get('tool_executions', toolId);
  if (!execution || (execution.status !== 'awaiting_approval' && !mayNotHaveBegun(execution)))
    return undefined;
  // The policy changed once more: the caller finds that out and reviews again.
  if ((yield* tx.policyVersion(execution.user_id)) !== version) return undefined;
  if (isRefused(decision.verdict)) {
    const failed = yield* failCall(tx, execution, decision.verdict, 'policy', now);
    return { execution: failed.execution, withdrawn: failed.approval };
  }
  yield* tx.update('tool_executions', toolId, { policy_version: version });
  const current = { ...execution, policy_version: version };
  if (mustAsk(current, decision)) {
    const problem = 'your policy has changed since, and wants this to be asked';
    const asked = yield* askAgain(tx, current, problem, now);
    return { execution: (yield* tx.get('tool_executions', toolId)) ?? current, asked };
  }
  // The runner applies path rules to the real disk and has the old ones: signal a new attempt with the new rules.
  if (!mayNotHaveBegun(current) || current.runner_id === null || rules.length === 0)
    return { execution: current };
  const again = yield* reassign(tx, current, current.attempt + 1, current.runner_id);
  return { execution: yield* signals.signalStored(tx, again, rules) };
}

/** Whether the policy now asks about a call that was allowed without asking a person. */
function mustAsk(execution: ExecutionRow, { verdict, askedBy }: PolicyDecision): boolean {
  if (!mayNotHaveBegun(execution)) return false;
  const { approved_by } = execution;
  return approved_by === 'config'
    ? askedBy !== undefined
    : approved_by === 'auto' && verdict.decision !== 'LOW';
}
