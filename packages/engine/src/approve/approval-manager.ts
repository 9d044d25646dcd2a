import type { ToolCallPolicy } from '@countersign/policy';
import type { RequestBody, ResponseBody } from '@countersign/protocol';
import type { EngineParts } from '../engine-parts.ts';
import type { EventLoopTurns } from '../event-loop-turns.ts';
import { commit } from '../fault-points.ts';
import { approvalView, listedApproval } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import { approvalsAtOnce, type Transaction, type Unit } from '../store.ts';
import { approve, type NotDecided, reject } from './approval-decisions.ts';
import { alreadyDecided, previewApproval, requestApproval } from './approval-requests.ts';
import { askForTrial } from './trials.ts';

/** The response to a person's decision. */
type Decided = Pick<ResponseBody<'approve'>, 'status' | 'grant_id' | 'rule_id'>;

/** How long approving an edit waits for the runner's preview. After that, the person decides again. */
const EDIT_PREVIEW_MS = 10_000;

/** Stands for a payload that was removed (DA-3). */
const removedPayload = { description: null, offered_scopes: null, params: {} };

/**
 * Asks the person and takes their decision (AP-1 to AP-10). The first decision wins, whether a person or the server's
 * timer makes it. The row is the truth; `PendingDecisions` keeps waiters and deadlines in memory.
 */
export class ApprovalManager {
  readonly #parts: EngineParts;
  readonly #turns: EventLoopTurns;

  constructor(parts: EngineParts, turns: EventLoopTurns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  /** Runs inside the unit that records the call. After the commit, call `PendingDecisions.watch`. */
  requestToolApproval(
    tx: Transaction,
    execution: ExecutionRow,
    about: Parameters<typeof requestApproval>[2],
  ): Unit<ApprovalRow> {
    return requestApproval(tx, execution, about, this.#parts.store.now());
  }

  /** Resolves when the request is decided, by a person or by the timer. */
  waitForDecision(approvalId: string): Promise<ApprovalRow> {
    return this.#parts.decisions.waitForDecision(approvalId);
  }

  /** All pending requests of one person, as front ends show them. Large parts are left out, as in events (EV-2). */
  async getPendingApprovals(userId: string) {
    const { store } = this.#parts;
    const ids = (await store.read((tx) => tx.pendingApprovals(userId))).map(({ id }) => id);
    const views: ReturnType<typeof listedApproval>[] = [];
    for (let from = 0; from < ids.length; from += approvalsAtOnce) {
      if (from > 0) await this.#turns.next();
      const some = ids.slice(from, from + approvalsAtOnce);
      for (const { approval, payload } of await store.read((tx) => tx.shownApprovals(some)))
        views.push(listedApproval(approval, payload, store.now()));
    }
    return views;
  }

  async approvalOf(caller: Caller, approvalId: string) {
    const { store } = this.#parts;
    return store.read(function* (tx) {
      const row = yield* tx.get('approvals', approvalId);
      if (!row || row.user_id !== caller.userId) throw notFound('approval');
      const whole = yield* tx.get('payloads', row.tool_id);
      return approvalView(row, whole ?? removedPayload, store.now());
    });
  }

  /** Approves a request as it was displayed. The approval and its consequences are one transaction. */
  async approveTool(caller: Caller, approvalId: string, input: RequestBody<'approve'>): Promise<Decided> {
    const { assignments, policies, decisions } = this.#parts;
    const { policy, workspace, toolId } = await this.#policyOfApproval(caller, approvalId);
    const outcome = await commit(this.#parts, 'approve', (tx) =>
      approve(tx, this.#parts, caller, approvalId, input, policy, workspace),
    );
    if (outcome === 'POLICY_CHANGED') {
      policies.forget(caller.userId);
      // An edit is judged by itself, so the parameters that it replaces need no review (RK-5).
      if (input.tool_params === undefined) await assignments.review(toolId);
      return this.approveTool(caller, approvalId, input);
    }
    if ('refusal' in outcome) {
      const refusal = this.#notDecided(outcome);
      if (!outcome.awaitsPreview) throw refusal;
      const digest = await this.#digestOfEdit(outcome.approval, refusal);
      return this.approveTool(caller, approvalId, { ...input, tool_params: undefined, digest });
    }
    if (outcome.ruleId !== undefined) policies.forget(caller.userId);
    for (const { approval, execution } of [outcome, ...outcome.released]) {
      decisions.decided(approval);
      assignments.watch(execution);
    }
    return { status: 'approved', grant_id: outcome.grant?.id, rule_id: outcome.ruleId };
  }

  /**
   * AP-6: waits for the preview of an edit and returns its digest. Throws if the preview goes beyond the parameters
   * that the person approved: another risk level, new network access, or a refusal.
   */
  async #digestOfEdit({ id, revision, risk_level, network }: ApprovalRow, tooLate: Refusal): Promise<string> {
    const row = await this.#parts.decisions.waitForPreview(id, EDIT_PREVIEW_MS);
    if (row && row.status !== 'pending') throw alreadyDecided(row);
    if (!row?.digest) throw tooLate;
    if (row.revision !== revision) throw new Refusal('PREVIEW_CHANGED');
    if (row.risk_level !== risk_level) throw new Refusal('RISK_ROSE', { risk: row.risk_level });
    if (row.network && !network) throw new Refusal('PREVIEW_CHANGED');
    return row.digest;
  }

  /** Rejects a request. The agent gets the reason and the message, and continues without the tool (AP-5). */
  async rejectTool(caller: Caller, approvalId: string, input: RequestBody<'reject'>): Promise<Decided> {
    const outcome = await commit(this.#parts, 'reject', (tx) =>
      reject(tx, this.#parts, caller, approvalId, input),
    );
    if ('refusal' in outcome) throw this.#notDecided(outcome);
    this.#parts.decisions.decided(outcome.approval);
    this.#parts.outcomes.settled(outcome.execution, { approval: outcome.approval });
    return { status: 'rejected' };
  }

  /** Asks the runner to try the call of a request, before anybody decides (RN-13). Returns the request as it is now. */
  async tryTool(
    caller: Caller,
    approvalId: string,
    { device = null }: { readonly device?: string | null },
  ): Promise<ReturnType<typeof listedApproval>> {
    const { store } = this.#parts;
    const { policy, workspace } = await this.#policyOfApproval(caller, approvalId);
    const asked = await store.write((tx) =>
      askForTrial(tx, this.#parts, caller, approvalId, { policy, workspace, device }),
    );
    if ('refusal' in asked) throw this.#notDecided(asked);
    return listedApproval(asked.approval, asked.payload, store.now());
  }

  /** Takes a runner's preview and verdict, which can only be stricter (AP-7, VA-8). Returns the id of the call. */
  async submitPreview(
    caller: Caller,
    approvalId: string,
    input: RequestBody<'submitPreview'>,
  ): Promise<string> {
    const { store, decisions, outcomes } = this.#parts;
    const { policy, workspace, toolId } = await this.#policyOfApproval(caller, approvalId);
    const changed = await commit(this.#parts, 'preview', (tx) =>
      previewApproval(tx, caller, approvalId, input, { policy, workspace, now: store.now() }),
    );
    if ('execution' in changed) {
      decisions.decided(changed.approval);
      outcomes.settled(changed.execution);
    } else decisions.previewed(changed.approval);
    return toolId;
  }

  /** After the commit of a decision that was refused: settles the request if it expired. */
  #notDecided({ refusal, approval, expired }: NotDecided): Refusal {
    if (expired) {
      this.#parts.decisions.decided(approval);
      this.#parts.outcomes.settled(expired, { approval });
    }
    return refusal;
  }

  async #policyOfApproval(
    caller: Caller,
    approvalId: string,
  ): Promise<{ policy: ToolCallPolicy; workspace: string; toolId: string }> {
    const { approval, workspace } = await this.#parts.store.read(function* (tx) {
      const row = yield* tx.get('approvals', approvalId);
      if (!row || row.user_id !== caller.userId) throw notFound('approval');
      const project = yield* tx.get('projects', row.project_id);
      return { approval: row, workspace: project?.workspace ?? null };
    });
    return {
      policy: await this.#parts.policies.policyFor(caller.userId, workspace, approval.tool_name),
      workspace: workspace ?? '',
      toolId: approval.tool_id,
    };
  }
}
