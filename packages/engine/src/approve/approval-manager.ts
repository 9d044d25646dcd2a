import type { ToolCallPolicy } from '@countersign/policy';
import type { Caller } from '../caller.ts';
import type { Clock } from '../clock.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { EventLoopTurns } from '../event-loop-turns.ts';
import { commit, type FaultPoints } from '../fault-points.ts';
import { approvalView, listedApproval } from '../record/call-events.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import { Waiters } from '../settle/waiters.ts';
import { approvalsAtOnce, type Bus, type Store, type Transaction, type Unit } from '../store.ts';
import { ApprovalDecisions, type NotDecided } from './approval-decisions.ts';
import type { ApproveInput, DecisionAnswer, PreviewInput, RejectInput } from './approval-input.ts';
import { ApprovalRequests } from './approval-requests.ts';
import { alreadyDecided } from './approval-rows.ts';
import { Deadlines } from './deadlines.ts';
import { resumeDeadlines } from './resumed-deadlines.ts';
import type { StoredPolicies } from './stored-policies.ts';

export interface ApprovalManagerDeps extends FaultPoints {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly policies: StoredPolicies;
  readonly dispatcher: Dispatcher;
  readonly outcomes: Outcomes;
  readonly turns: EventLoopTurns;
  readonly onError: (error: unknown) => void;
}

/** How long an edit waits for its preview. Longer: the card shows it, and the person decides again. */
const EDIT_PREVIEW_MS = 10_000;

/** What is shown of a request whose parameters are no longer kept (DA-3). */
const pastItsTime = { description: null, offered_scopes: null, params: {} };

/**
 * Asks the person and keeps their decision: made once, first one wins, by a person or by the server's own timer
 * (AP-1 to AP-10). The row is the truth; what is in memory is only who waits and which deadline is next.
 */
export class ApprovalManager {
  readonly #deps: ApprovalManagerDeps;
  readonly #deadlines: Deadlines;
  readonly #waiting = new Waiters<ApprovalRow>();
  /** Edits that are approved when their preview is there; undefined: this process ends. */
  readonly #previewed = new Waiters<ApprovalRow | undefined>();
  readonly #requests: ApprovalRequests;
  readonly #decisions: ApprovalDecisions;
  readonly #unsubscribe: () => void;

  constructor(deps: ApprovalManagerDeps) {
    this.#deps = deps;
    this.#requests = new ApprovalRequests(deps.store);
    this.#decisions = new ApprovalDecisions(deps);
    this.#unsubscribe = deps.bus.subscribe((hint) => {
      if (hint.kind === 'decided' && this.#waiting.has(hint.approvalId))
        this.#look(hint.approvalId).catch(deps.onError);
      const isNews = hint.kind === 'decided' || hint.kind === 'previewed';
      if (isNews && this.#previewed.has(hint.approvalId))
        this.#lookForPreview(hint.approvalId).catch(deps.onError);
    });
    this.#deadlines = new Deadlines(deps.clock, (id) => void this.#expire(id).catch(deps.onError)); // the tick tries again
  }

  /** Inside the unit that records the call: the request, announced at once; the preview follows (AP-7). */
  requestToolApproval(
    tx: Transaction,
    execution: ExecutionRow,
    about: Parameters<ApprovalRequests['request']>[2],
  ): Unit<ApprovalRow> {
    return this.#requests.request(tx, execution, about);
  }

  /** After the commit: the deadline counts, in monotonic time. */
  watch(approval: Pick<ApprovalRow, 'id' | 'deadline_at'>): void {
    this.#deadlines.set(approval.id, approval.deadline_at - this.#deps.store.now());
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
    const { dispatcher, policies } = this.#deps;
    const { policy, workspace, toolId } = await this.#policyOfApproval(caller, approvalId);
    const outcome = await commit(this.#deps, 'approve', (tx) =>
      this.#decisions.approve(tx, caller, approvalId, input, policy, workspace),
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
    if (outcome.saved) this.#deps.policies.forget(caller.userId);
    this.#decided(outcome.approval);
    dispatcher.signalled(outcome.execution);
    for (const { approval, execution } of outcome.released) {
      this.#decided(approval);
      dispatcher.signalled(execution);
    }
    return { status: 'approved', grantId: outcome.grant?.id, ruleId: outcome.saved };
  }

  /**
   * AP-6: the preview of an edit must say what the person approved by its parameters: the same level, no network that the
   * parameters did not tell of, and no refusal.
   */
  async #digestOfEdit({ id, revision, risk_level, network }: ApprovalRow, tooLate: Refusal): Promise<string> {
    let stopTimer = () => {};
    const late = new Promise<undefined>((resolve) => {
      stopTimer = this.#deps.clock.after(EDIT_PREVIEW_MS, () => resolve(undefined));
    });
    const previewed = this.#previewed.wait(id);
    await this.#lookForPreview(id);
    const row = await Promise.race([previewed, late]);
    stopTimer();
    if (row && row.status !== 'pending') throw alreadyDecided(row);
    if (!row?.digest) throw tooLate;
    if (row.revision !== revision) throw new Refusal('PREVIEW_CHANGED');
    if (row.risk_level !== risk_level) throw new Refusal('RISK_ROSE', { risk: row.risk_level });
    if (row.network && !network) throw new Refusal('PREVIEW_CHANGED');
    return row.digest;
  }

  /** The person rejects; the agent gets the reason and the message, and goes on without the tool (AP-5). */
  async rejectTool(caller: Caller, approvalId: string, input: RejectInput): Promise<DecisionAnswer> {
    await this.#ownApproval(caller, approvalId);
    const outcome = await commit(this.#deps, 'reject', (tx) =>
      this.#decisions.reject(tx, caller, approvalId, input),
    );
    if ('refusal' in outcome) throw this.#notDecided(outcome);
    this.#decided(outcome.approval);
    this.#deps.outcomes.settled(outcome.execution, null, outcome.approval);
    return { status: 'rejected', grantId: undefined, ruleId: undefined };
  }

  /** The runner's preview and verdict, which can only be stricter (AP-7, VA-8). */
  async submitPreview(caller: Caller, approvalId: string, input: PreviewInput): Promise<void> {
    const { policy, workspace } = await this.#policyOfApproval(caller, approvalId);
    const changed = await commit(this.#deps, 'preview', (tx) =>
      this.#requests.preview(tx, caller, approvalId, input, policy, workspace),
    );
    if ('execution' in changed) {
      this.#decided(changed.approval);
      this.#deps.outcomes.settled(changed.execution, null, undefined);
      return;
    }
    this.watch(changed.approval);
    this.#previewed.settle(approvalId, changed.approval);
    this.#deps.bus.publish({ kind: 'previewed', approvalId });
  }

  /** What was approved has changed, or must be asked after all (AP-8). */
  askAgain(tx: Transaction, execution: ExecutionRow, problem: string): Unit<ApprovalRow | undefined> {
    return this.#requests.askAgain(tx, execution, problem);
  }

  /** Withdraws the request of a call that is being cancelled or refused, inside that unit. */
  withdrawApproval(tx: Transaction, execution: ExecutionRow, now: number): Unit<ApprovalRow | undefined> {
    return this.#requests.withdraw(tx, execution, now);
  }

  /** Ends a call that the person's newer policy denies, inside that unit (RK-5). */
  failCall(...about: Parameters<ApprovalRequests['fail']>): ReturnType<ApprovalRequests['fail']> {
    return this.#requests.fail(...about);
  }

  /** Resolves with the decided request, whoever decided it. */
  async waitForDecision(approvalId: string): Promise<ApprovalRow> {
    const decision = this.#waiting.wait(approvalId);
    await this.#look(approvalId);
    return decision;
  }

  /** For units of others that withdrew a request. */
  withdrawn(approval: ApprovalRow): void {
    this.#decided(approval);
  }

  /** At start: every pending request counts again from its stored deadline (AP-3, AP-10). */
  resume(cameAt: number): Promise<number> {
    return resumeDeadlines(this.#deps, cameAt, (id, leftMs) => this.#deadlines.set(id, leftMs));
  }

  /** The slow tick: picks up what other nodes decided, so that a lost hint costs a moment only. */
  async tick(): Promise<void> {
    for (const id of this.#waiting.keys()) await this.#look(id);
  }

  /** Expires what is overdue, whichever node was to do it: each once, as the row says. */
  async sweepOverdue(until: number, limit: number): Promise<void> {
    const { store } = this.#deps;
    const [soonest] = await store.read((tx) => tx.soonestDeadlines(1));
    if (!soonest || soonest.deadline_at > until) return; // nearly always
    for (const { id, deadline_at } of await store.read((tx) => tx.soonestDeadlines(limit)))
      if (deadline_at <= until) await this.#expire(id).catch(this.#deps.onError); // the others go on
  }

  close(): void {
    this.#unsubscribe();
    this.#deadlines.close();
    for (const id of this.#previewed.keys()) this.#previewed.settle(id, undefined);
  }

  /** After the commit of whatever decided it: answers who waits here, and hints to others. */
  #decided(approval: ApprovalRow): void {
    this.#settle(approval);
    this.#deps.bus.publish({ kind: 'decided', approvalId: approval.id });
  }

  #settle(approval: ApprovalRow): void {
    this.#deadlines.clear(approval.id);
    this.#waiting.settle(approval.id, approval);
    this.#previewed.settle(approval.id, approval);
  }

  async #lookForPreview(approvalId: string): Promise<void> {
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (row && (row.status !== 'pending' || row.digest !== null)) this.#previewed.settle(approvalId, row);
  }

  async #look(approvalId: string): Promise<void> {
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (row && row.status !== 'pending') this.#settle(row);
  }

  /** A decision that was not made, after the commit of what changed all the same. */
  #notDecided({ refusal, approval, expired }: NotDecided): Refusal {
    if (expired) {
      this.#decided(approval);
      this.#deps.outcomes.settled(expired, null, approval);
    }
    return refusal;
  }

  async #expire(approvalId: string): Promise<void> {
    const ended = await commit(this.#deps, 'expire', (tx) => this.#decisions.expireIfDue(tx, approvalId));
    if (ended === undefined) return;
    if (typeof ended === 'number') {
      this.#deadlines.set(approvalId, ended);
      return;
    }
    this.#decided(ended.approval);
    this.#deps.outcomes.settled(ended.execution, null, ended.approval);
  }

  async #ownApproval(caller: Caller, approvalId: string): Promise<ApprovalRow> {
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (!row || row.user_id !== caller.userId) throw notFound('approval');
    return row;
  }

  async #policyOfApproval(
    caller: Caller,
    approvalId: string,
  ): Promise<{ policy: ToolCallPolicy; workspace: string; toolId: string }> {
    const approval = await this.#ownApproval(caller, approvalId);
    const project = await this.#deps.store.read((tx) => tx.get('projects', approval.project_id));
    const workspace = project?.workspace ?? null;
    return {
      policy: await this.#deps.policies.policyFor(caller.userId, workspace, approval.tool_name),
      workspace: workspace ?? '',
      toolId: approval.tool_id,
    };
  }
}
