import type { ToolCallPolicy } from '@countersign/policy';
import type { Caller } from '../caller.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { EventLoopTurns } from '../event-loop-turns.ts';
import { commit, type FaultPoints } from '../fault-points.ts';
import { approvalView, listedApproval } from '../record/call-events.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import { approvalsAtOnce, type Transaction, type Unit } from '../store.ts';
import {
  ApprovalDecisions,
  type ApprovalDecisionsDeps,
  type ApproveInput,
  type NotDecided,
  type RejectInput,
} from './approval-decisions.ts';
import { type PreviewInput, previewApproval, requestApproval } from './approval-requests.ts';
import { alreadyDecided } from './approval-rows.ts';
import type { PendingDecisions } from './pending-decisions.ts';

export interface ApprovalManagerDeps extends FaultPoints, ApprovalDecisionsDeps {
  readonly decisions: PendingDecisions;
  readonly dispatcher: Dispatcher;
  readonly outcomes: Outcomes;
  readonly turns: EventLoopTurns;
}

export interface DecisionAnswer {
  readonly status: ApprovalRow['status'];
  readonly grantId: string | undefined;
  readonly ruleId: string | undefined;
}

/** How long an edit waits for its preview. Longer: the card shows it, and the person decides again. */
const EDIT_PREVIEW_MS = 10_000;

/** What is shown of a request whose parameters are no longer kept (DA-3). */
const pastItsTime = { description: null, offered_scopes: null, params: {} };

/**
 * Asks the person and takes their decision: made once, first one wins, by a person or by the server's own timer
 * (AP-1 to AP-10). The row is the truth; `PendingDecisions` keeps who waits and which deadline is next.
 */
export class ApprovalManager {
  readonly #deps: ApprovalManagerDeps;
  readonly #units: ApprovalDecisions;

  constructor(deps: ApprovalManagerDeps) {
    this.#deps = deps;
    this.#units = new ApprovalDecisions(deps);
  }

  /** Inside the unit that records the call. After its commit, `watch` lets its deadline count. */
  requestToolApproval(
    tx: Transaction,
    execution: ExecutionRow,
    about: Parameters<typeof requestApproval>[2],
  ): Unit<ApprovalRow> {
    return requestApproval(tx, execution, about, this.#deps.store.now());
  }

  watch(approval: Pick<ApprovalRow, 'id' | 'deadline_at'>): void {
    this.#deps.decisions.watch(approval);
  }

  /** Resolves with the decided request, whoever decided it. */
  waitForDecision(approvalId: string): Promise<ApprovalRow> {
    return this.#deps.decisions.waitForDecision(approvalId);
  }

  /** Every pending request of one person, as front ends draw it; what is large is left out, as in events, and not read. */
  async getPendingApprovals(userId: string) {
    const { store, turns } = this.#deps;
    const ids = (await store.read((tx) => tx.pendingApprovals(userId))).map(({ id }) => id);
    const views: ReturnType<typeof listedApproval>[] = [];
    for (let from = 0; from < ids.length; from += approvalsAtOnce) {
      if (from > 0) await turns.next();
      const some = ids.slice(from, from + approvalsAtOnce);
      for (const { approval, payload } of await store.read((tx) => tx.shownApprovals(some)))
        views.push(listedApproval(approval, payload, store.now()));
    }
    return views;
  }

  async approvalOf(caller: Caller, approvalId: string) {
    const { store } = this.#deps;
    return store.read(function* (tx) {
      const row = yield* tx.get('approvals', approvalId);
      if (!row || row.user_id !== caller.userId) throw notFound('approval');
      const whole = yield* tx.get('payloads', row.tool_id);
      return approvalView(row, whole ?? pastItsTime, store.now());
    });
  }

  /** The person approves what was displayed. Everything that follows from it is in the same transaction. */
  async approveTool(caller: Caller, approvalId: string, input: ApproveInput): Promise<DecisionAnswer> {
    const { dispatcher, policies, decisions } = this.#deps;
    const { policy, workspace, toolId } = await this.#policyOfApproval(caller, approvalId);
    const outcome = await commit(this.#deps, 'approve', (tx) =>
      this.#units.approve(tx, caller, approvalId, input, policy, workspace),
    );
    if (outcome === 'POLICY_CHANGED') {
      policies.forget(caller.userId);
      // An edit is judged itself; what it replaces may be denied by now (RK-5).
      if (input.tool_params === undefined) await dispatcher.review(toolId);
      return this.approveTool(caller, approvalId, input);
    }
    if ('refusal' in outcome) {
      const refusal = this.#notDecided(outcome);
      if (!outcome.awaitsPreview) throw refusal;
      const digest = await this.#digestOfEdit(outcome.approval, refusal);
      return this.approveTool(caller, approvalId, { ...input, tool_params: undefined, digest });
    }
    if (outcome.saved) policies.forget(caller.userId);
    for (const { approval, execution } of [outcome, ...outcome.released]) {
      decisions.decided(approval);
      dispatcher.signalled(execution);
    }
    return { status: 'approved', grantId: outcome.grant?.id, ruleId: outcome.saved };
  }

  /**
   * AP-6: the preview of an edit must say what the person approved by its parameters: the same level, no network that the
   * parameters did not tell of, and no refusal.
   */
  async #digestOfEdit({ id, revision, risk_level, network }: ApprovalRow, tooLate: Refusal): Promise<string> {
    const row = await this.#deps.decisions.waitForPreview(id, EDIT_PREVIEW_MS);
    if (row && row.status !== 'pending') throw alreadyDecided(row);
    if (!row?.digest) throw tooLate;
    if (row.revision !== revision) throw new Refusal('PREVIEW_CHANGED');
    if (row.risk_level !== risk_level) throw new Refusal('RISK_ROSE', { risk: row.risk_level });
    if (row.network && !network) throw new Refusal('PREVIEW_CHANGED');
    return row.digest;
  }

  /** The person rejects; the agent gets the reason and the message, and goes on without the tool (AP-5). */
  async rejectTool(caller: Caller, approvalId: string, input: RejectInput): Promise<DecisionAnswer> {
    const outcome = await commit(this.#deps, 'reject', (tx) =>
      this.#units.reject(tx, caller, approvalId, input),
    );
    if ('refusal' in outcome) throw this.#notDecided(outcome);
    this.#deps.decisions.decided(outcome.approval);
    this.#deps.outcomes.settled(outcome.execution, null, outcome.approval);
    return { status: 'rejected', grantId: undefined, ruleId: undefined };
  }

  /** The runner's preview and verdict, which can only be stricter (AP-7, VA-8). */
  async submitPreview(caller: Caller, approvalId: string, input: PreviewInput): Promise<void> {
    const { store, decisions, outcomes } = this.#deps;
    const { policy, workspace } = await this.#policyOfApproval(caller, approvalId);
    const changed = await commit(this.#deps, 'preview', (tx) =>
      previewApproval(tx, caller, approvalId, input, { policy, workspace, now: store.now() }),
    );
    if (!('execution' in changed)) return decisions.previewed(changed.approval);
    decisions.decided(changed.approval);
    outcomes.settled(changed.execution, null, undefined);
  }

  /** A decision that was not made, after the commit of what changed all the same. */
  #notDecided({ refusal, approval, expired }: NotDecided): Refusal {
    if (expired) {
      this.#deps.decisions.decided(approval);
      this.#deps.outcomes.settled(expired, null, approval);
    }
    return refusal;
  }

  async #policyOfApproval(
    caller: Caller,
    approvalId: string,
  ): Promise<{ policy: ToolCallPolicy; workspace: string; toolId: string }> {
    const { approval, workspace } = await this.#deps.store.read(function* (tx) {
      const row = yield* tx.get('approvals', approvalId);
      if (!row || row.user_id !== caller.userId) throw notFound('approval');
      const project = yield* tx.get('projects', row.project_id);
      return { approval: row, workspace: project?.workspace ?? null };
    });
    return {
      policy: await this.#deps.policies.policyFor(caller.userId, workspace, approval.tool_name),
      workspace: workspace ?? '',
      toolId: approval.tool_id,
    };
  }
}
