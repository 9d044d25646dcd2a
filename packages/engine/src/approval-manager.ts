import { isRefused, type ToolCallPolicy } from '@countersign/policy';
import {
  type ApprovalScope,
  approvalTimeoutSeconds,
  type ErrorCode,
  higherRisk,
  type Preview,
  type Reason,
  type RiskLevel,
  riskLevels,
  timing,
} from '@countersign/protocol';
import {
  approvalRequestEvent,
  approvalResolvedEvent,
  approvalUpdatedEvent,
  approvalView,
  callEvent,
  resultEvent,
} from './call-events.ts';
import type { CallContext } from './call-request.ts';
import type { Caller } from './caller.ts';
import type { Clock } from './clock.ts';
import { Deadlines } from './deadlines.ts';
import { describeCall } from './description.ts';
import type { Dispatcher } from './dispatcher.ts';
import { failure, transition } from './execution-record.ts';
import { newGrant, type OfferedScope, offeredScopes, ruleToSave } from './grant-book.ts';
import { newId } from './ids.ts';
import type { Outcomes } from './outcomes.ts';
import type { PolicyBook } from './policy-book.ts';
import { notFound, Refusal } from './refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, PayloadRow } from './rows.ts';
import type { Store, Transaction, Unit } from './store.ts';
import { Waiters } from './waiters.ts';

export interface ApprovalManagerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly policies: PolicyBook;
  readonly dispatcher: Dispatcher;
  readonly outcomes: Outcomes;
}

/** What a person sends with an approval. */
export interface ApproveInput {
  readonly digest?: string | undefined;
  readonly scope?: ApprovalScope | undefined;
  readonly pattern?: string | undefined;
  readonly include_high?: boolean | undefined;
  readonly tool_params?: JsonObject | undefined;
  readonly device?: string | undefined;
}

export interface RejectInput {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly device?: string | undefined;
}

/** What a runner found out about a request (AP-7, VA-8). */
export type PreviewInput =
  | {
      readonly runner_id: string;
      readonly revision: number;
      readonly preview: Preview;
      readonly digest: string;
      readonly risk_level: RiskLevel;
      readonly reasons: readonly Reason[];
      readonly network: boolean;
    }
  | {
      readonly runner_id: string;
      readonly revision: number;
      readonly reasons: readonly Reason[];
      readonly refused: { readonly code: ErrorCode; readonly message: string };
    };

export interface DecisionAnswer {
  readonly status: ApprovalRow['status'];
  readonly grantId: string | undefined;
  readonly ruleId: string | undefined;
}

/** After a restart, what had run out meanwhile still gets this long (AP-3). */
const GRACE_MS = 30_000;
/** How often a person is asked again because what they approved had changed (AP-8). */
const MAX_STALE = 3;

/**
 * Asks the person and keeps their decision: made once, first one wins, by a person or by the server's own timer
 * (AP-1 to AP-10). The row is the truth; what is in memory is only who waits and which deadline is next.
 */
export class ApprovalManager {
  readonly #deps: ApprovalManagerDeps;
  readonly #deadlines: Deadlines;
  readonly #decisions = new Waiters<ApprovalRow>();

  constructor(deps: ApprovalManagerDeps) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, (id) => void this.#expire(id));
  }

  /** Inside the unit that records the call: the request, announced at once; the preview follows (AP-7). */
  *requestToolApproval(
    tx: Transaction,
    execution: ExecutionRow,
    about: {
      params: JsonObject;
      agent: string;
      context: CallContext | Json;
      offered: readonly OfferedScope[];
      staleCount?: number;
    },
  ): Unit<ApprovalRow> {
    const now = this.#deps.store.now();
    const risk = execution.risk_level ?? 'MEDIUM';
    const seconds = approvalTimeoutSeconds[risk];
    const row: ApprovalRow = {
      id: execution.approval_id ?? newId(),
      user_id: execution.user_id,
      project_id: execution.project_id,
      session_id: execution.session_id,
      tool_id: execution.id,
      tool_call_id: execution.tool_call_id,
      tool_name: execution.tool_name,
      agent: about.agent,
      description: describeCall(about.agent, execution.tool_name, about.params),
      risk_level: risk,
      reasons: execution.reasons,
      network: execution.network,
      status: 'pending',
      revision: 1,
      timeout_seconds: seconds,
      deadline_at: now + seconds * 1000,
      preview: null,
      digest: null,
      previewed_by: null,
      context: about.context as Json,
      stale_count: about.staleCount ?? 0,
      decided_at: null,
      decided_device: null,
      decided_token: null,
      scope: null,
      reason: null,
      message: null,
      created_at: now,
    };
    yield* tx.insert('approvals', row);
    tx.announce(row.user_id, {
      events: [
        { projectId: row.project_id, event: approvalRequestEvent(row, about.params, about.offered, now) },
      ],
      audit: [
        { action: 'approval.requested', subject: row.id, data: { tool_id: row.tool_id, risk_level: risk } },
      ],
    });
    return row;
  }

  /** After the commit: the deadline counts, in monotonic time. */
  watch(approval: Pick<ApprovalRow, 'id' | 'deadline_at'>): void {
    this.#deadlines.set(approval.id, approval.deadline_at - this.#deps.store.now());
  }

  /** Every pending request of one person, as front ends draw it. */
  async getPendingApprovals(userId: string) {
    const { store, policies } = this.#deps;
    const found = await store.read(function* (tx) {
      const views: { row: ApprovalRow; params: JsonObject; workspace: string | null }[] = [];
      for (const row of yield* tx.pendingApprovals(userId)) {
        const payload = yield* tx.get('payloads', row.tool_id);
        const project = yield* tx.get('projects', row.project_id);
        views.push({ row, params: payload?.params ?? {}, workspace: project?.workspace ?? null });
      }
      return views;
    });
    const answers = [];
    for (const { row, params, workspace } of found) {
      const policy = await policies.policyFor(userId, workspace);
      answers.push(approvalView(row, params, scopesOffered(policy, row, params), store.now()));
    }
    return answers;
  }

  async approvalOf(caller: Caller, approvalId: string) {
    const { store, policies } = this.#deps;
    const found = await store.read(function* (tx) {
      const row = yield* tx.get('approvals', approvalId);
      if (!row || row.user_id !== caller.userId) throw notFound('approval');
      const payload = yield* tx.get('payloads', row.tool_id);
      const project = yield* tx.get('projects', row.project_id);
      return { row, params: payload?.params ?? {}, workspace: project?.workspace ?? null };
    });
    const policy = await policies.policyFor(caller.userId, found.workspace);
    return approvalView(found.row, found.params, scopesOffered(policy, found.row, found.params), store.now());
  }

  /** The person approves what was displayed. Everything that follows from it is in the same transaction. */
  async approveTool(caller: Caller, approvalId: string, input: ApproveInput): Promise<DecisionAnswer> {
    const { store, dispatcher } = this.#deps;
    const { policy, workspace } = await this.#policyOfApproval(caller, approvalId);
    const outcome = await store.write((tx) =>
      this.#approve(tx, caller, approvalId, input, policy, workspace),
    );
    if ('refusal' in outcome) throw this.#notDecided(outcome);
    if (outcome.saved) this.#deps.policies.forget(caller.userId);
    this.#decided(outcome.approval);
    dispatcher.signalled(outcome.execution);
    return { status: 'approved', grantId: outcome.grant?.id, ruleId: outcome.saved };
  }

  *#approve(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    input: ApproveInput,
    policy: ToolCallPolicy,
    workspace: string,
  ): Unit<
    | {
        approval: ApprovalRow;
        execution: ExecutionRow;
        grant: GrantRow | undefined;
        saved: string | undefined;
      }
    | NotDecided
  > {
    const now = this.#deps.store.now();
    const found = yield* this.#pendingForDecision(tx, caller, approvalId, now);
    if ('refusal' in found) return found;
    let { approval, execution, payload } = found;
    if (input.digest !== undefined ? input.digest !== approval.digest : approval.revision > 1) {
      throw new Refusal('PREVIEW_CHANGED');
    }
    if (input.tool_params !== undefined) {
      const edited = yield* this.#edit(tx, { approval, execution, payload }, input.tool_params, policy, now);
      if ('refusal' in edited) return edited;
      ({ approval, execution, payload } = edited);
    } else if (approval.risk_level === 'HIGH' && approval.preview === null) {
      throw new Refusal('PREVIEW_PENDING');
    }
    const { grant, saved } = yield* this.#widen(
      tx,
      caller,
      { approval, execution, payload },
      input,
      policy,
      workspace,
      now,
    );
    const decided: Partial<ApprovalRow> = {
      status: 'approved',
      decided_at: now,
      decided_device: input.device ?? null,
      decided_token: caller.tokenId,
      scope: input.scope ?? 'once',
    };
    yield* tx.update('approvals', approval.id, decided);
    approval = { ...approval, ...decided };
    const runner = this.#deps.dispatcher.runnerFor(caller.userId, workspace, approval.previewed_by);
    execution = yield* transition(tx, execution, 'approved', {
      approved_by: 'user',
      approved_at: now,
      digest: approval.digest,
      risk_level: approval.risk_level,
      reasons: approval.reasons,
      network: approval.network,
      attempt: execution.attempt + 1,
      runner_id: runner?.id ?? null,
    });
    tx.announce(caller.userId, {
      events: [
        {
          projectId: approval.project_id,
          event: approvalResolvedEvent(
            approval,
            { status: 'approved', device: input.device ?? null, grantId: grant?.id ?? null },
            now,
          ),
        },
      ],
      audit: [
        {
          action: 'approval.approved',
          subject: approval.id,
          data: {
            tool_id: execution.id,
            token: caller.tokenId,
            device: input.device ?? null,
            digest: approval.digest,
            scope: input.scope ?? 'once',
          },
        },
      ],
    });
    execution = yield* this.#deps.dispatcher.signal(tx, execution, payload.params, undefined);
    return { approval, execution, grant, saved };
  }

  /** AP-6: an edit is a new revision, validated, assessed and, where it matters, previewed again. */
  *#edit(
    tx: Transaction,
    current: { approval: ApprovalRow; execution: ExecutionRow; payload: PayloadRow },
    params: JsonObject,
    policy: ToolCallPolicy,
    now: number,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow; payload: PayloadRow } | NotDecided> {
    const { execution } = current;
    const decision = policy.decide(execution.tool_name, params);
    if (isRefused(decision.verdict) || !decision.assessed) {
      const { code, message } = decision.verdict as { code: ErrorCode; message: string };
      throw new Refusal('INVALID_PARAMS', { tool: execution.tool_name, problem: `${message} [${code}]` });
    }
    const risk = higherRisk(decision.assessed.decision, 'MEDIUM');
    const rose = riskLevels.indexOf(risk) > riskLevels.indexOf(current.approval.risk_level);
    const revised: Partial<ApprovalRow> = {
      revision: current.approval.revision + 1,
      risk_level: risk,
      reasons: decision.assessed.reasons,
      network: decision.assessed.network,
      description: describeCall(current.approval.agent, execution.tool_name, params),
      preview: null,
      digest: null,
    };
    const approval = { ...current.approval, ...revised };
    yield* tx.update('approvals', approval.id, revised);
    yield* tx.update('payloads', execution.id, { params });
    yield* tx.update('tool_executions', execution.id, { tool_params: this.#deps.policies.mask(params) });
    const offered = scopesOffered(policy, approval, params);
    tx.announce(approval.user_id, {
      events: [
        { projectId: approval.project_id, event: approvalUpdatedEvent(approval, params, offered, now) },
      ],
      audit: [
        {
          action: 'approval.edited',
          subject: approval.id,
          data: { revision: approval.revision, risk_level: risk },
        },
      ],
    });
    // Returned, not thrown: the revision stays, and the person decides on its preview.
    if (rose) return { refusal: new Refusal('RISK_ROSE', { risk }), approval };
    if (risk === 'HIGH') return { refusal: new Refusal('PREVIEW_PENDING'), approval };
    return {
      approval,
      execution: { ...execution, tool_params: params },
      payload: { ...current.payload, params },
    };
  }

  /** AP-4: a wider scope makes a grant, or a rule of the person's own policy. */
  *#widen(
    tx: Transaction,
    caller: Caller,
    { approval, execution, payload }: { approval: ApprovalRow; execution: ExecutionRow; payload: PayloadRow },
    input: ApproveInput,
    policy: ToolCallPolicy,
    workspace: string,
    now: number,
  ): Unit<{ grant: GrantRow | undefined; saved: string | undefined }> {
    const scope = input.scope ?? 'once';
    if (scope === 'once') return { grant: undefined, saved: undefined };
    const offered = scopesOffered(policy, approval, payload.params);
    const wanted = scope === 'session' ? null : (input.pattern ?? null);
    const chosen = offered.find((offer) => offer.scope === scope && offer.pattern === wanted);
    if (!chosen) throw new Refusal('GRANT_NOT_ALLOWED', { problem: 'it is not one of the offered scopes' });
    const grant = newGrant(chosen, {
      execution,
      risk: approval.risk_level,
      includeHigh: input.include_high === true,
      workspace,
      id: newId(),
      now,
    });
    if (scope === 'always') {
      const rule = ruleToSave(grant);
      yield* this.#deps.policies.addRule(tx, caller.userId, rule);
      tx.announce(caller.userId, {
        audit: [{ action: 'policy.rule_added', subject: rule.id, data: rule as unknown as Json }],
      });
      return { grant: undefined, saved: rule.id };
    }
    yield* tx.insert('grants', grant);
    tx.announce(caller.userId, {
      audit: [
        {
          action: 'grant.made',
          subject: grant.id,
          data: { tool: grant.tool, pattern: grant.pattern, max_risk: grant.max_risk },
        },
      ],
    });
    return { grant, saved: undefined };
  }

  /** The person rejects; the agent gets the reason and the message, and goes on without the tool (AP-5). */
  async rejectTool(caller: Caller, approvalId: string, input: RejectInput): Promise<DecisionAnswer> {
    const { store } = this.#deps;
    await this.#ownApproval(caller, approvalId);
    const outcome = await store.write((tx) => this.#reject(tx, caller, approvalId, input));
    if ('refusal' in outcome) throw this.#notDecided(outcome);
    this.#decided(outcome.approval);
    this.#deps.outcomes.settled(outcome.execution, null, outcome.approval);
    return { status: 'rejected', grantId: undefined, ruleId: undefined };
  }

  *#reject(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    input: RejectInput,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow } | NotDecided> {
    const now = this.#deps.store.now();
    const found = yield* this.#pendingForDecision(tx, caller, approvalId, now);
    if ('refusal' in found) return found;
    const decided: Partial<ApprovalRow> = {
      status: 'rejected',
      decided_at: now,
      decided_device: input.device ?? null,
      decided_token: caller.tokenId,
      reason: input.reason ?? null,
      message: input.message ?? null,
    };
    yield* tx.update('approvals', approvalId, decided);
    const approval = { ...found.approval, ...decided };
    const message = new Refusal('APPROVAL_REJECTED').message;
    const execution = yield* transition(
      tx,
      found.execution,
      'rejected',
      failure('APPROVAL_REJECTED', message, now),
    );
    tx.announce(caller.userId, {
      events: [
        {
          projectId: approval.project_id,
          event: approvalResolvedEvent(
            approval,
            { status: 'rejected', device: input.device ?? null, grantId: null },
            now,
          ),
        },
        { projectId: approval.project_id, event: resultEvent(execution, null, now) },
      ],
      audit: [
        {
          action: 'approval.rejected',
          subject: approval.id,
          data: { tool_id: execution.id, token: caller.tokenId, device: input.device ?? null },
        },
      ],
    });
    return { approval, execution };
  }

  /** The runner's preview and verdict, which can only be stricter (AP-7, VA-8). */
  async submitPreview(caller: Caller, approvalId: string, input: PreviewInput): Promise<void> {
    const { policy } = await this.#policyOfApproval(caller, approvalId);
    const changed = await this.#deps.store.write((tx) =>
      this.#preview(tx, caller, approvalId, input, policy),
    );
    if ('execution' in changed) {
      this.#decided(changed.approval);
      this.#deps.outcomes.settled(changed.execution, null, undefined);
    } else this.watch(changed.approval);
  }

  *#preview(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    input: PreviewInput,
    policy: ToolCallPolicy,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow } | { approval: ApprovalRow }> {
    const now = this.#deps.store.now();
    const { approval, execution, payload } = yield* this.#rowsOf(tx, caller, approvalId);
    if (approval.status !== 'pending') throw alreadyDecided(approval);
    if (approval.revision !== input.revision) throw new Refusal('PREVIEW_CHANGED');
    if ('refused' in input) {
      return yield* this.#withdraw(
        tx,
        { approval, execution },
        input.refused.code,
        input.refused.message,
        now,
      );
    }
    const risk = higherRisk(approval.risk_level, input.risk_level);
    const seconds = approvalTimeoutSeconds[risk];
    const revised: Partial<ApprovalRow> = {
      preview: input.preview,
      // A second preview of the same revision is a new thing to look at.
      revision:
        approval.digest === null || approval.digest === input.digest
          ? approval.revision
          : approval.revision + 1,
      digest: input.digest,
      previewed_by: input.runner_id,
      risk_level: risk,
      reasons: mergeReasons(approval.reasons, input.reasons),
      network: approval.network || input.network,
      timeout_seconds: seconds,
      deadline_at: approval.deadline_at + (seconds - approval.timeout_seconds) * 1000,
    };
    yield* tx.update('approvals', approval.id, revised);
    const row = { ...approval, ...revised };
    tx.announce(approval.user_id, {
      events: [
        {
          projectId: approval.project_id,
          event: approvalUpdatedEvent(row, payload.params, scopesOffered(policy, row, payload.params), now),
        },
      ],
      audit: [
        {
          action: 'approval.previewed',
          subject: approval.id,
          data: { digest: input.digest, runner: input.runner_id, risk_level: risk },
        },
      ],
    });
    return { approval: row };
  }

  /** What was approved has changed, or must be asked after all: the person is asked again, at most 3 times (AP-8). */
  *askAgain(
    tx: Transaction,
    execution: ExecutionRow,
    payload: PayloadRow,
    problem: string,
  ): Unit<ApprovalRow | undefined> {
    const now = this.#deps.store.now();
    const before =
      execution.approval_id === null ? undefined : yield* tx.get('approvals', execution.approval_id);
    const staleCount = (before?.stale_count ?? 0) + 1;
    if (staleCount > MAX_STALE) {
      const ended = yield* transition(
        tx,
        execution,
        'failed',
        failure('APPROVAL_STALE', new Refusal('APPROVAL_STALE', { problem }).message, now),
      );
      tx.announce(execution.user_id, {
        events: [{ projectId: execution.project_id, event: resultEvent(ended, null, now) }],
        audit: [{ action: 'call.failed', subject: execution.id, data: { code: 'APPROVAL_STALE' } }],
      });
      return undefined;
    }
    const risk = higherRisk(execution.risk_level ?? 'MEDIUM', 'MEDIUM');
    const asked = yield* transition(tx, execution, 'awaiting_approval', {
      approval_id: newId(),
      requires_approval: true,
      approved_by: null,
      approved_at: null,
      grant_id: null,
      digest: null,
      risk_level: risk,
      runner_id: null,
    });
    tx.announce(execution.user_id, {
      events: [
        {
          projectId: execution.project_id,
          event: callEvent(asked, payload.params, before?.context ?? emptyContext, now),
        },
      ],
      audit: [{ action: 'approval.stale', subject: execution.id, data: { problem } }],
    });
    return yield* this.requestToolApproval(tx, asked, {
      params: payload.params,
      agent: before?.agent ?? 'Agent',
      context: before?.context ?? emptyContext,
      offered: [],
      staleCount,
    });
  }

  /** Withdraws the request of a call that is being cancelled or refused, inside that unit. */
  *withdrawApproval(tx: Transaction, execution: ExecutionRow, now: number): Unit<ApprovalRow | undefined> {
    const approval =
      execution.approval_id === null ? undefined : yield* tx.get('approvals', execution.approval_id);
    if (approval?.status !== 'pending') return undefined;
    const withdrawn = { status: 'cancelled', decided_at: now } as const;
    yield* tx.update('approvals', approval.id, withdrawn);
    tx.announce(approval.user_id, {
      events: [
        {
          projectId: approval.project_id,
          event: approvalResolvedEvent(approval, { status: 'cancelled', device: null, grantId: null }, now),
        },
      ],
    });
    return { ...approval, ...withdrawn };
  }

  *#withdraw(
    tx: Transaction,
    { approval, execution }: { approval: ApprovalRow; execution: ExecutionRow },
    code: ErrorCode,
    message: string,
    now: number,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow }> {
    const withdrawn = (yield* this.withdrawApproval(tx, execution, now)) ?? approval;
    const ended = yield* transition(tx, execution, 'failed', failure(code, message, now));
    tx.announce(execution.user_id, {
      events: [{ projectId: execution.project_id, event: resultEvent(ended, null, now) }],
      audit: [{ action: 'call.refused', subject: execution.id, data: { code, by: 'runner' } }],
    });
    return { approval: withdrawn, execution: ended };
  }

  /** Resolves with the decided request, whoever decided it. */
  async waitForDecision(approvalId: string): Promise<ApprovalRow> {
    const decision = this.#decisions.wait(approvalId);
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (row && row.status !== 'pending') this.#decisions.settle(approvalId, row);
    return decision;
  }

  /** After the commit of whatever decided it, here or on another node. */
  #decided(approval: ApprovalRow): void {
    this.#deadlines.clear(approval.id);
    this.#decisions.settle(approval.id, approval);
  }

  /** For units of others that withdrew a request. */
  withdrawn(approval: ApprovalRow): void {
    this.#decided(approval);
  }

  /** A decision that was not made, after the commit of what changed all the same. */
  #notDecided({ refusal, approval, expired }: NotDecided): Refusal {
    if (expired) {
      this.#decided(approval);
      this.#deps.outcomes.settled(expired, null, approval);
    }
    return refusal;
  }

  /**
   * At start: every pending request counts again from its stored deadline. What ran out while nobody was there
   * gets a short grace; a clock that was set back gives nobody more than the full time (AP-3).
   */
  async resume(): Promise<number> {
    const { store } = this.#deps;
    const pending = await store.read((tx) => tx.soonestDeadlines(1_000_000));
    const now = store.now();
    for (const { id, deadline_at } of pending) {
      const row = await store.read((tx) => tx.get('approvals', id));
      if (!row) continue;
      const left = Math.min(deadline_at - now, row.timeout_seconds * 1000);
      if (left <= 0) {
        await store.write(function* (tx) {
          yield* tx.update('approvals', id, { deadline_at: now + GRACE_MS });
        });
        this.#deadlines.set(id, GRACE_MS);
      } else {
        if (left < deadline_at - now) {
          await store.write(function* (tx) {
            yield* tx.update('approvals', id, { deadline_at: now + left });
          });
        }
        this.#deadlines.set(id, left);
      }
    }
    return pending.length;
  }

  /** The slow tick: picks up what other nodes decided or asked, so that a lost hint costs a moment only. */
  async tick(): Promise<void> {
    const { store } = this.#deps;
    for (const id of this.#decisions.keys()) {
      const row = await store.read((tx) => tx.get('approvals', id));
      if (row && row.status !== 'pending') this.#decided(row);
    }
    for (const { id, deadline_at } of await store.read((tx) => tx.soonestDeadlines(100))) {
      if (!this.#deadlines.has(id)) this.#deadlines.set(id, deadline_at - store.now());
    }
  }

  close(): void {
    this.#deadlines.close();
  }

  async #expire(approvalId: string): Promise<void> {
    const { store } = this.#deps;
    const ended = await store.write((tx) => this.#expireIfDue(tx, approvalId));
    if (ended === undefined) return;
    if (typeof ended === 'number') {
      this.#deadlines.set(approvalId, ended);
      return;
    }
    this.#decided(ended.approval);
    this.#deps.outcomes.settled(ended.execution, null, ended.approval);
  }

  /** The transaction compares the deadline: a decision that committed first stands. Answers ms when it is early. */
  *#expireIfDue(
    tx: Transaction,
    approvalId: string,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow } | number | undefined> {
    const now = this.#deps.store.now();
    const seen = yield* tx.get('approvals', approvalId);
    if (seen?.status !== 'pending') return undefined;
    if (seen.deadline_at > now) return seen.deadline_at - now;
    const execution = yield* tx.get('tool_executions', seen.tool_id);
    if (!execution) return undefined;
    return yield* this.#expireNow(tx, seen, execution, now);
  }

  *#expireNow(
    tx: Transaction,
    approval: ApprovalRow,
    execution: ExecutionRow,
    now: number,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow }> {
    const expired = { status: 'timeout', decided_at: now } as const;
    yield* tx.update('approvals', approval.id, expired);
    const ended = yield* transition(
      tx,
      execution,
      'timeout',
      failure('APPROVAL_TIMEOUT', new Refusal('APPROVAL_TIMEOUT').message, now),
    );
    tx.announce(approval.user_id, {
      events: [
        {
          projectId: approval.project_id,
          event: approvalResolvedEvent(approval, { status: 'timeout', device: null, grantId: null }, now),
        },
        { projectId: approval.project_id, event: resultEvent(ended, null, now) },
      ],
      audit: [{ action: 'approval.expired', subject: approval.id, data: { tool_id: execution.id } }],
    });
    return { approval: { ...approval, ...expired }, execution: ended };
  }

  /** The rows of a request that this caller may decide now; an expired one expires here and now. */
  *#pendingForDecision(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    now: number,
  ): Unit<
    | { approval: ApprovalRow; execution: ExecutionRow; payload: PayloadRow }
    | { refusal: Refusal; approval: ApprovalRow; expired: ExecutionRow }
  > {
    const rows = yield* this.#rowsOf(tx, caller, approvalId);
    if (rows.approval.status !== 'pending') throw alreadyDecided(rows.approval);
    if (rows.approval.deadline_at <= now) {
      const { approval, execution } = yield* this.#expireNow(tx, rows.approval, rows.execution, now);
      return { refusal: alreadyDecided(approval), approval, expired: execution };
    }
    return rows;
  }

  *#rowsOf(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
  ): Unit<{ approval: ApprovalRow; execution: ExecutionRow; payload: PayloadRow }> {
    // The order of locks is execution, then approval (DESIGN.md); which execution it is never changes.
    const toolId = (yield* tx.peekApproval(approvalId))?.tool_id;
    const execution = toolId === undefined ? undefined : yield* tx.get('tool_executions', toolId);
    const approval = yield* tx.get('approvals', approvalId);
    const payload = toolId === undefined ? undefined : yield* tx.get('payloads', toolId);
    if (!approval || !execution || !payload || approval.user_id !== caller.userId) throw notFound('approval');
    return { approval, execution, payload };
  }

  async #ownApproval(caller: Caller, approvalId: string): Promise<ApprovalRow> {
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (!row || row.user_id !== caller.userId) throw notFound('approval');
    return row;
  }

  async #policyOfApproval(
    caller: Caller,
    approvalId: string,
  ): Promise<{ policy: ToolCallPolicy; workspace: string }> {
    const approval = await this.#ownApproval(caller, approvalId);
    const project = await this.#deps.store.read((tx) => tx.get('projects', approval.project_id));
    const workspace = project?.workspace ?? null;
    return {
      policy: await this.#deps.policies.policyFor(caller.userId, workspace),
      workspace: workspace ?? '',
    };
  }
}

/** A refusal that is committed: the request expired just now, or an edit waits for its preview. */
interface NotDecided {
  readonly refusal: Refusal;
  readonly approval: ApprovalRow;
  readonly expired?: ExecutionRow;
}

const emptyContext = { message_id: null, run_id: null, step: null, excerpt: '' };

const alreadyDecided = (approval: ApprovalRow): Refusal =>
  new Refusal(
    'ALREADY_DECIDED',
    { decision: approval.status },
    { status: approval.status, device: approval.decided_device },
  );

function scopesOffered(
  policy: ToolCallPolicy,
  approval: ApprovalRow,
  params: JsonObject,
): readonly OfferedScope[] {
  const { call, details } = policy.decide(approval.tool_name, params);
  return call && details ? offeredScopes(call, details) : [];
}

function mergeReasons(a: readonly Reason[], b: readonly Reason[]): Reason[] {
  const seen = new Set(a.map(({ rule, operand }) => `${rule}\u0000${operand ?? ''}`));
  return [...a, ...b.filter(({ rule, operand }) => !seen.has(`${rule}\u0000${operand ?? ''}`))];
}

export const approvalGoodForMs = timing.approvalGoodForSeconds * 1000;
