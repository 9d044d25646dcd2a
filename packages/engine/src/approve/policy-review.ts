import { isRefused, type PolicyDecision } from '@countersign/policy';
import { isFinal, type PolicyRule } from '@countersign/protocol';
import type { RunnerlessCalls } from '../dispatch/runnerless-calls.ts';
import type { Signals } from '../dispatch/signals.ts';
import { mayNotHaveBegun, passOn } from '../record/execution-record.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';
import { askAgain, failCall } from './approval-requests.ts';
import type { PendingDecisions } from './pending-decisions.ts';
import type { StoredPolicies } from './stored-policies.ts';

export interface PolicyReviewDeps {
  readonly store: Store;
  readonly policies: StoredPolicies;
  readonly outcomes: Outcomes;
  readonly decisions: PendingDecisions;
  readonly signals: Signals;
  readonly runnerless: RunnerlessCalls;
}

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

/** Inside a unit that lets a call go on: whether the person's policy is newer than the one that judged it (RK-5). */
export function* isJudgedByOlderPolicy(tx: Reading, execution: ExecutionRow): Unit<boolean> {
  return (yield* tx.policyVersion(execution.user_id)) !== execution.policy_version;
}

/**
 * RK-5: a deny that came after an approval refuses at the claim, and wherever a call is given out without one. The call
 * is judged again only where the policy has changed, and outside any unit: its parameters may be as large as a file.
 */
export class PolicyReview {
  readonly #deps: PolicyReviewDeps;

  constructor(deps: PolicyReviewDeps) {
    this.#deps = deps;
  }

  /** Judges an open call by the newest policy: it fails where that denies it, and is asked about where it must be. */
  async review(toolId: string): Promise<void> {
    const { store, decisions, outcomes, runnerless } = this.#deps;
    const stale = await store.read(function* (tx) {
      const execution = yield* tx.get('tool_executions', toolId);
      if (!execution || isFinal(execution.status)) return undefined;
      return (yield* isJudgedByOlderPolicy(tx, execution)) ? execution : undefined;
    });
    if (!stale) return;
    const judged = await this.#judge(stale);
    const reviewed = await store.write((tx) => this.#apply(tx, toolId, judged));
    if (!reviewed) return;
    const { execution, withdrawn, asked } = reviewed;
    if (withdrawn) decisions.decided(withdrawn);
    if (asked) decisions.watch(asked);
    if (isFinal(execution.status)) outcomes.settled(execution, null, undefined);
    else runnerless.watch(execution);
  }

  async #judge({ id, user_id, project_id, tool_name }: ExecutionRow): Promise<Judged> {
    const { store, policies } = this.#deps;
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

  *#apply(tx: Transaction, toolId: string, judged: Judged): Unit<Reviewed | undefined> {
    const { version, decision, rules } = judged;
    const now = this.#deps.store.now();
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || (execution.status !== 'awaiting_approval' && !mayNotHaveBegun(execution)))
      return undefined;
    // Changed once more: who wanted to know asks again.
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
    // The runner looks at the real disk, and was told of the rules as they were. It may not begin the attempt before any more.
    if (!mayNotHaveBegun(current) || current.runner_id === null || rules.length === 0)
      return { execution: current };
    const again = yield* passOn(tx, current, current.attempt + 1, current.runner_id);
    return { execution: yield* this.#deps.signals.signalStored(tx, again, rules) };
  }
}

/** Whether a person must be asked about a call that was let through without one. */
function mustAsk(execution: ExecutionRow, { verdict, askedBy }: PolicyDecision): boolean {
  if (!mayNotHaveBegun(execution)) return false;
  const { approved_by } = execution;
  return approved_by === 'config'
    ? askedBy !== undefined
    : approved_by === 'auto' && verdict.decision !== 'LOW';
}
