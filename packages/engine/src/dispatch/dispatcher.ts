import { type ExecutionStatus, isFinal, type RequestBody } from '@countersign/protocol';
import { askAgain, withdrawApproval } from '../approve/approval-requests.ts';
import { isJudgedByOlderPolicy } from '../approve/policy-review.ts';
import { claimCall, findStaleness } from '../claim/claims.ts';
import { type NamedRunner, requireGivenTo } from '../claim/runner-bindings.ts';
import type { EngineParts } from '../engine-parts.ts';
import { commit } from '../fault-points.ts';
import { announceCall } from '../record/announcements.ts';
import { cancelEvent, progressEvent } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { endCall, ownExecution } from '../record/execution-record.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import { type ResultBody, settleCall } from '../settle/settlements.ts';
import type { Transaction, Unit } from '../store.ts';
import { Deadlines } from '../waiting.ts';
import { TRY_AGAIN_MS } from './call-assignments.ts';
import { setDueAt } from './signals.ts';

/** Handles requests about approved calls: claim, progress, result, cancel, heartbeat (EX-4 to EX-10). */
export class Dispatcher {
  readonly #parts: EngineParts;
  readonly #retries: Deadlines;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#retries = new Deadlines(parts.clock, (id) => {
      this.#signalAgain(id).catch((error: unknown) => {
        parts.onError(error);
        this.#retries.set(id, TRY_AGAIN_MS);
      });
    });
  }

  /** Repeats a step while the person's policy changes during it. Reviews the call before each repetition (RK-5). */
  async #reviewed<T>(toolId: string, goOn: () => Promise<T | 'POLICY_CHANGED'>): Promise<T> {
    for (;;) {
      const done = await goOn();
      if (done !== 'POLICY_CHANGED') return done;
      await this.#parts.assignments.review(toolId);
    }
  }

  /** EX-6: lets the runner begin, or throws the reason why not. */
  async claim(caller: Caller, toolId: string, input: RequestBody<'startExecution'>): Promise<ExecutionRow> {
    const { store, runners, decisions } = this.#parts;
    const claimed = await this.#reviewed(toolId, () =>
      commit(this.#parts, 'claim', (tx) =>
        claimCall(tx, caller, toolId, input, { runners, now: store.now() }),
      ),
    );
    this.#heard(caller, input);
    if ('refusal' in claimed) {
      if (claimed.asked) decisions.watch(claimed.asked);
      if (claimed.ended) this.#parts.outcomes.settled(claimed.ended);
      throw claimed.refusal;
    }
    return claimed.execution;
  }

  /** EX-7: the same result twice is fine, a different one is a conflict, a late one is kept without changing the state. */
  async submitResult(
    caller: Caller,
    toolId: string,
    input: ResultBody,
  ): Promise<{ execution: ExecutionRow; message: string }> {
    const { store, runners, decisions, outcomes } = this.#parts;
    const done = await commit(this.#parts, 'result', (tx) =>
      settleCall(tx, caller, toolId, input, { runners, now: store.now() }),
    );
    this.#heard(caller, input);
    if (done.asked) decisions.watch(done.asked);
    if (done.retryAfterMs !== undefined) this.#retries.set(toolId, done.retryAfterMs);
    if (done.news) outcomes.settled(done.execution, { result: input.result ?? null, ...done.news });
    return { execution: done.execution, message: done.message };
  }

  async progress(
    caller: Caller,
    toolId: string,
    input: Parameters<typeof progressEvent>[1] & NamedRunner,
  ): Promise<void> {
    const { store, runners, bus } = this.#parts;
    const execution = await store.read(function* (tx) {
      const row = yield* ownExecution(tx, caller, toolId);
      yield* requireGivenTo(tx, row, input, runners);
      return row;
    });
    this.#heard(caller, input);
    if (isFinal(execution.status)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    const event = progressEvent(execution, input, store.now());
    bus.publish({ kind: 'transient', userId: caller.userId, projectId: execution.project_id, event });
  }

  /** An accepted report counts as a sign of life. */
  #heard({ userId }: Caller, { runner_id }: NamedRunner): void {
    if (runner_id !== undefined) this.#parts.runners.alive(userId, runner_id);
  }

  /** EX-8: cancels at once if nothing runs. While executing it is a request, and the runner's report decides. */
  async cancel(
    caller: Caller,
    toolId: string,
    reason: string,
    /** Cancels only a call that is in one of these states. */
    only?: readonly ExecutionStatus[],
  ): Promise<ExecutionRow> {
    const { decisions, outcomes, assignments } = this.#parts;
    const { execution, withdrawn } = await commit(this.#parts, 'cancel', (tx) =>
      this.#cancel(tx, caller, toolId, reason, only),
    );
    if (withdrawn) decisions.decided(withdrawn);
    if (isFinal(execution.status)) {
      assignments.forget(toolId);
      this.#retries.clear(toolId);
      outcomes.settled(execution);
    }
    return execution;
  }

  *#cancel(
    tx: Transaction,
    caller: Caller,
    toolId: string,
    reason: string,
    only: readonly ExecutionStatus[] | undefined,
  ): Unit<{ execution: ExecutionRow; withdrawn: ApprovalRow | undefined }> {
    const now = this.#parts.store.now();
    const execution = yield* ownExecution(tx, caller, toolId);
    if (caller.scope === 'agent' && execution.requested_by !== caller.tokenId) throw notFound('tool call');
    if (isFinal(execution.status)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    if (only && !only.includes(execution.status)) return { execution, withdrawn: undefined };
    const event = cancelEvent(execution, reason, now);
    const announce = (events: readonly (typeof event)[]) =>
      announceCall(tx, execution, events, 'call.cancel_requested', { token: caller.tokenId, reason });
    if (execution.status === 'executing') {
      yield* tx.update('tool_executions', toolId, { cancel_requested: true });
      announce([event]);
      return { execution: { ...execution, cancel_requested: true }, withdrawn: undefined };
    }
    const withdrawn = yield* withdrawApproval(tx, execution, now);
    announce(execution.runner_id === null ? [] : [event]);
    const error = { code: 'EXECUTION_CANCELLED', message: reason } as const;
    const ended = yield* endCall(tx, execution, 'cancelled', error, now, 'call.cancelled');
    return { execution: ended, withdrawn };
  }

  /** EX-7: tells the runner what to do with each call that it names. */
  async heartbeat(
    caller: Caller,
    runnerId: string,
    calls: readonly string[],
  ): Promise<Record<string, 'go_on' | 'cancel' | 'acknowledged'>> {
    const { store, runners } = this.#parts;
    runners.alive(caller.userId, runnerId);
    return store.read(function* (tx) {
      const answers: Record<string, 'go_on' | 'cancel' | 'acknowledged'> = {};
      for (const toolId of calls) {
        const row = yield* tx.get('tool_executions', toolId);
        if (!row || row.user_id !== caller.userId) answers[toolId] = 'cancel';
        else if (row.result_digest !== null) answers[toolId] = 'acknowledged';
        else if (row.cancel_requested || isFinal(row.status)) answers[toolId] = 'cancel';
        else answers[toolId] = 'go_on';
      }
      return answers;
    });
  }

  /** Handles overdue calls of all people and nodes, the longest overdue first (EX-5, EX-10). */
  async sweepDue(until: number, limit: number): Promise<void> {
    const { store, onError, assignments } = this.#parts;
    for (const { id } of await store.read((tx) => tx.dueExecutions(until, limit))) {
      const execution = await store.read((tx) => tx.get('tool_executions', id));
      const hasNoRunner = execution?.runner_id === null;
      await (hasNoRunner ? assignments.giveUp(id) : this.#signalAgain(id)).catch(onError); // continue with the others
    }
  }

  /**
   * Gives waiting calls of all people to runners that are connected after all. A runner may have seemed gone when the call
   * was made, because its signs of life could not be stored or the database's clock jumped (EX-10).
   */
  async placeWaiting(limit: number): Promise<void> {
    const { store, onError, assignments } = this.#parts;
    for (const { id } of await store.read((tx) => tx.dueExecutions(Number.MAX_SAFE_INTEGER, limit))) {
      const execution = await store.read((tx) => tx.get('tool_executions', id));
      if (execution?.runner_id !== null || execution.status !== 'approved') continue;
      await assignments.place(execution).catch(onError); // continue with the others
    }
  }

  /** Offers a call that no runner has to plain listeners of this node that may execute (EV-3). */
  async offer(toolId: string): Promise<void> {
    const { execution, asked } = await this.#reviewed(toolId, () =>
      commit(this.#parts, 'give', (tx) => this.#offer(tx, toolId)),
    );
    if (asked) this.#parts.decisions.watch(asked);
    if (execution?.status === 'executing') this.#parts.assignments.watch(execution);
    else if (execution?.status === 'failed') this.#parts.outcomes.settled(execution);
  }

  /** Offers every waiting call of a person, in case a hint was lost. */
  async offerAll(userId: string, projectId: string | undefined): Promise<void> {
    for (const { id, status, project_id } of await this.#parts.store.read((tx) =>
      tx.unassignedExecutions(userId),
    ))
      if (status === 'approved' && (projectId === undefined || projectId === project_id))
        await this.offer(id);
  }

  *#offer(
    tx: Transaction,
    toolId: string,
  ): Unit<{ execution?: ExecutionRow | undefined; asked?: ApprovalRow | undefined } | 'POLICY_CHANGED'> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (execution?.status !== 'approved' || execution.runner_id !== null || execution.cancel_requested)
      return {};
    // A plain listener makes no claim, so the checks of a claim happen here (EX-6).
    if (yield* isJudgedByOlderPolicy(tx, execution)) return 'POLICY_CHANGED';
    const now = this.#parts.store.now();
    const isClaimed = execution.approved_by !== 'auto';
    const stale = isClaimed && (yield* findStaleness(tx, execution, execution.digest, now));
    if (stale) {
      const asked = yield* askAgain(tx, execution, stale.problem, now);
      return { asked, execution: yield* tx.get('tool_executions', toolId) };
    }
    const offered = yield* this.#parts.signals.signalStored(tx, execution);
    // If no listener took the call, restore its deadline.
    const isTaken = offered.status === 'executing';
    return { execution: isTaken ? offered : yield* setDueAt(tx, offered, execution.due_at) };
  }

  close(): void {
    this.#retries.close();
  }

  async #signalAgain(toolId: string): Promise<void> {
    await this.#parts.assignments.review(toolId);
    const changed = await commit(this.#parts, 'retry', (tx) => this.#resignal(tx, toolId));
    if (changed) this.#parts.assignments.watch(changed);
  }

  /** Signals a retry. The signal clears `due_at`, so that no other node signals the same attempt. */
  *#resignal(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.due_at === null) return undefined;
    if (execution.status === 'approved') return yield* this.#parts.signals.signalStored(tx, execution);
    yield* setDueAt(tx, execution, null);
    return undefined;
  }
}
