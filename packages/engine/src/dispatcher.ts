import { defaultLimits, isFinal, timing } from '@countersign/protocol';
import type { AsksAgain } from './asks-again.ts';
import { cancelEvent, progressEvent, resultEvent, signalEvent } from './call-events.ts';
import type { Caller } from './caller.ts';
import type { Clock } from './clock.ts';
import { Deadlines } from './deadlines.ts';
import { failure, transition } from './execution-record.ts';
import { executionRows } from './execution-rows.ts';
import { commit, type FaultPoints } from './fault-points.ts';
import type { Outcomes } from './outcomes.ts';
import { notFound, Refusal } from './refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, JsonObject } from './rows.ts';
import type { ConnectedRunner, RunnerRegistry } from './runner-registry.ts';
import { type ResultInput, Settlements } from './settlements.ts';
import type { Bus, Store, Transaction, Unit } from './store.ts';

export interface DispatcherDeps extends FaultPoints {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly runners: RunnerRegistry;
  readonly outcomes: Outcomes;
  readonly onError: (error: unknown) => void;
  /** Whether a plain listener (no runner) of this person has a stream open: it may execute then (EV-3). */
  readonly hasPlainListener: (userId: string) => boolean;
}

/** What could not be written when its time came is tried again after this long. */
const TRY_AGAIN_MS = 5_000;

export interface ClaimInput {
  readonly digest: string | null;
  readonly runner_id?: string | undefined;
  readonly attempt?: number | undefined;
}

/**
 * Gives approved calls to runners and takes their reports: signal, claim, progress, result, cancel, and what
 * happens when a runner goes away (EX-4 to EX-10).
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  #approvals: AsksAgain | undefined;
  readonly #settlements: Settlements;
  /** Calls that no runner has, until NO_RUNNER. */
  readonly #runnerless: Deadlines;
  readonly #retries: Deadlines;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#settlements = new Settlements(deps.store, () => this.#asksAgain());
    const onDue = (deadlines: () => Deadlines, act: (id: string) => Promise<void>) => (id: string) =>
      void act(id).catch((error: unknown) => {
        deps.onError(error);
        deadlines().set(id, TRY_AGAIN_MS);
      });
    this.#runnerless = new Deadlines(
      deps.clock,
      onDue(
        () => this.#runnerless,
        (id) => this.#failWithoutRunner(id),
      ),
    );
    this.#retries = new Deadlines(
      deps.clock,
      onDue(
        () => this.#retries,
        (id) => this.#signalAgain(id),
      ),
    );
  }

  useApprovals(approvals: AsksAgain): void {
    this.#approvals = approvals;
  }

  runnerFor(userId: string, workspace: string, preferred: string | null): ConnectedRunner | undefined {
    return this.#deps.runners.pick(userId, workspace, preferred);
  }

  /**
   * Inside the unit that approved a call: tells the chosen runner. Where there never was one, whoever listens is told,
   * and the signal is the claim; without anybody, the call waits (EV-3, EX-10).
   */
  *signal(
    tx: Transaction,
    execution: ExecutionRow,
    params: JsonObject,
    grant: GrantRow | undefined,
  ): Unit<ExecutionRow> {
    const now = this.#deps.store.now();
    let row = execution;
    if (row.runner_id === null) {
      // A front end executes nothing: where runners are in use, it must not take the call while theirs reconnects.
      if (!this.#deps.hasPlainListener(row.user_id) || (yield* hadRunner(tx, row))) return row;
      row = yield* transition(tx, row, 'executing');
    }
    tx.announce(row.user_id, {
      events: [{ projectId: row.project_id, event: signalEvent(row, params, grant, now) }],
      audit: [
        { action: 'call.signalled', subject: row.id, data: { runner: row.runner_id, attempt: row.attempt } },
      ],
    });
    return row;
  }

  /** After that unit's commit. */
  signalled(execution: ExecutionRow): void {
    if (execution.runner_id !== null || isFinal(execution.status)) return;
    this.#runnerless.set(execution.id, patienceMs(execution));
    if (execution.status === 'approved') this.#tellThatNobodyIsThere(execution).catch(this.#deps.onError);
  }

  /** EX-6: one compare-and-set approved → executing, with everything that could have changed since. */
  async claim(caller: Caller, toolId: string, input: ClaimInput): Promise<ExecutionRow> {
    if (input.runner_id !== undefined) this.#deps.runners.alive(caller.userId, input.runner_id);
    const claimed = await commit(this.#deps, 'claim', (tx) => this.#claim(tx, caller, toolId, input));
    if ('refusal' in claimed) {
      if (claimed.asked) this.#approvals?.watch(claimed.asked);
      if (claimed.ended) this.#deps.outcomes.settled(claimed.ended, null, undefined);
      throw claimed.refusal;
    }
    return claimed.execution;
  }

  *#claim(
    tx: Transaction,
    caller: Caller,
    toolId: string,
    input: ClaimInput,
  ): Unit<
    | { execution: ExecutionRow }
    | { refusal: Refusal; asked: ApprovalRow | undefined; ended: ExecutionRow | undefined }
  > {
    const now = this.#deps.store.now();
    const { execution, payload } = yield* executionRows(tx, caller, toolId);
    const attempt = input.attempt ?? execution.attempt;
    // The same claim again: its answer was lost on the way.
    if (
      execution.status === 'executing' &&
      execution.attempt === attempt &&
      execution.runner_id === (input.runner_id ?? null)
    ) {
      return { execution };
    }
    if (execution.cancel_requested) throw new Refusal('CLAIM_REFUSED', { problem: 'it is being cancelled' });
    if (execution.status !== 'approved')
      throw new Refusal('CLAIM_REFUSED', { problem: `it is ${execution.status}` });
    if (attempt !== execution.attempt)
      throw new Refusal('CLAIM_REFUSED', { problem: 'this attempt is over' });
    if (execution.runner_id !== null && input.runner_id !== execution.runner_id) {
      throw new Refusal('CLAIM_REFUSED', { problem: 'it was given to another runner' });
    }
    const stale = yield* this.#findStaleness(tx, execution, input, now);
    if (stale) {
      const asked = yield* this.#asksAgain().askAgain(tx, execution, payload, stale.problem);
      const ended = asked ? undefined : yield* tx.get('tool_executions', toolId);
      return { refusal: new Refusal(stale.code, { problem: stale.problem }), asked, ended };
    }
    if (execution.grant_id !== null) yield* tx.countGrantUse(execution.grant_id);
    const claimed = yield* transition(tx, execution, 'executing', {
      runner_id: input.runner_id ?? execution.runner_id,
      digest: input.digest ?? execution.digest,
    });
    tx.announce(caller.userId, {
      audit: [
        {
          action: 'call.started',
          subject: toolId,
          data: { runner: claimed.runner_id, attempt, digest: claimed.digest },
        },
      ],
    });
    return { execution: claimed };
  }

  *#findStaleness(
    tx: Transaction,
    execution: ExecutionRow,
    input: ClaimInput,
    now: number,
  ): Unit<{ code: 'APPROVAL_STALE' | 'GRANT_REVOKED'; problem: string } | undefined> {
    const approvedAt = execution.approved_at ?? now;
    if (now - approvedAt > timing.approvalGoodForSeconds * 1000) {
      return { code: 'APPROVAL_STALE', problem: 'the approval is older than 10 minutes' };
    }
    if (execution.digest !== null && input.digest !== execution.digest) {
      return { code: 'APPROVAL_STALE', problem: 'the files or the command are not those that were shown' };
    }
    const rule = execution.allowed_by;
    if (rule !== null && !(yield* this.#isStillRule(tx, execution.user_id, rule.id)))
      return { code: 'GRANT_REVOKED', problem: 'the rule was taken out of your policy' };
    if (execution.grant_id === null) return undefined;
    const grant = yield* tx.get('grants', execution.grant_id);
    const live = grant && grant.revoked_at === null && (grant.expires_at === null || grant.expires_at > now);
    return live ? undefined : { code: 'GRANT_REVOKED', problem: 'the grant was revoked' };
  }

  *#isStillRule(tx: Transaction, userId: string, ruleId: string): Unit<boolean> {
    const row = yield* tx.get('policies', userId);
    return row?.policy.rules.some(({ id }) => id === ruleId) ?? false;
  }

  /** EX-7: the same result twice is fine, a different one is a conflict, a late one is kept without changing the state. */
  async submitResult(
    caller: Caller,
    toolId: string,
    input: ResultInput,
  ): Promise<{ execution: ExecutionRow; message: string }> {
    if (input.runner_id !== undefined) this.#deps.runners.alive(caller.userId, input.runner_id);
    const done = await commit(this.#deps, 'result', (tx) =>
      this.#settlements.settle(tx, caller, toolId, input),
    );
    if (done.asked) this.#approvals?.watch(done.asked);
    if (done.withdrawn) this.#approvals?.withdrawn(done.withdrawn);
    if (done.retryAfterMs !== undefined) this.#retries.set(toolId, done.retryAfterMs);
    if (done.news) this.#deps.outcomes.settled(done.execution, input.result ?? null, undefined, done.payload);
    return { execution: done.execution, message: done.message };
  }

  async progress(
    caller: Caller,
    toolId: string,
    input: {
      progress: number | null;
      message: string | null;
      output: { stream: 'stdout' | 'stderr'; chunk: string } | null;
      runner_id?: string | undefined;
    },
  ): Promise<void> {
    if (input.runner_id !== undefined) this.#deps.runners.alive(caller.userId, input.runner_id);
    const { execution } = await this.#deps.store.read((tx) => executionRows(tx, caller, toolId));
    if (isFinal(execution.status)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    const { progress, message, output } = input;
    const event = progressEvent(execution, { progress, message, output }, this.#deps.store.now());
    this.#deps.bus.publish({
      kind: 'passing',
      userId: caller.userId,
      projectId: execution.project_id,
      event,
    });
  }

  /** EX-8: at once where nothing runs; while executing it is a request, and the runner's report decides. */
  async cancel(caller: Caller, toolId: string, reason: string): Promise<ExecutionRow> {
    const { outcomes } = this.#deps;
    const { execution, withdrawn } = await commit(this.#deps, 'cancel', (tx) =>
      this.#cancel(tx, caller, toolId, reason),
    );
    if (withdrawn) this.#approvals?.withdrawn(withdrawn);
    if (isFinal(execution.status)) {
      this.#runnerless.clear(toolId);
      this.#retries.clear(toolId);
      outcomes.settled(execution, null, undefined);
    }
    return execution;
  }

  *#cancel(
    tx: Transaction,
    caller: Caller,
    toolId: string,
    reason: string,
  ): Unit<{ execution: ExecutionRow; withdrawn: ApprovalRow | undefined }> {
    const now = this.#deps.store.now();
    const { execution } = yield* executionRows(tx, caller, toolId);
    if (caller.scope === 'agent' && execution.requested_by !== caller.tokenId) throw notFound('tool call');
    if (isFinal(execution.status)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    const told =
      execution.runner_id !== null
        ? [{ projectId: execution.project_id, event: cancelEvent(execution, reason, now) }]
        : [];
    const audit = [
      { action: 'call.cancel_requested', subject: toolId, data: { token: caller.tokenId, reason } },
    ];
    if (execution.status === 'executing') {
      yield* tx.update('tool_executions', toolId, { cancel_requested: true });
      const events =
        told.length > 0
          ? told
          : [{ projectId: execution.project_id, event: cancelEvent(execution, reason, now) }];
      tx.announce(caller.userId, { events, audit });
      return { execution: { ...execution, cancel_requested: true }, withdrawn: undefined };
    }
    const withdrawn = yield* this.#asksAgain().withdrawApproval(tx, execution, now);
    const ended = yield* transition(tx, execution, 'cancelled', failure('EXECUTION_CANCELLED', reason, now));
    tx.announce(caller.userId, {
      events: [...told, { projectId: ended.project_id, event: resultEvent(ended, null, now) }],
      audit: [...audit, { action: 'call.cancelled', subject: toolId, data: {} }],
    });
    return { execution: ended, withdrawn };
  }

  /** EX-7: for each call the runner names, what it should do with it. */
  async heartbeat(
    caller: Caller,
    runnerId: string,
    calls: readonly string[],
  ): Promise<Record<string, 'go_on' | 'cancel' | 'acknowledged'>> {
    const { store, runners } = this.#deps;
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

  /** A runner connected: calls that nobody had are its own now. */
  async runnerConnected(runner: ConnectedRunner): Promise<void> {
    const { store } = this.#deps;
    const waiting = await store.read((tx) => tx.unassignedExecutions(runner.userId));
    for (const { id } of waiting) {
      const given = await commit(this.#deps, 'give', (tx) => this.#give(tx, id, runner));
      if (given) this.#runnerless.clear(id);
    }
  }

  *#give(tx: Transaction, toolId: string, runner: ConnectedRunner): Unit<boolean> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (execution?.status !== 'approved' || execution.runner_id !== null) return false;
    const project = yield* tx.get('projects', execution.project_id);
    if (project?.workspace !== runner.workspace) return false;
    const payload = yield* tx.get('payloads', toolId);
    yield* tx.update('tool_executions', toolId, { runner_id: runner.id });
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    yield* this.signal(tx, { ...execution, runner_id: runner.id }, payload?.params ?? {}, grant);
    return true;
  }

  /** EX-7: a lease ended. A harmless call is given to somebody else; the outcome of another one is unknown. */
  async runnerLost(runner: ConnectedRunner): Promise<void> {
    const { store, outcomes } = this.#deps;
    for (const { id } of await store.read((tx) => tx.openExecutionsOf(runner.id))) {
      const changed = await commit(this.#deps, 'lease', (tx) => this.#takeFrom(tx, id, runner));
      if (!changed) continue;
      if (isFinal(changed.status)) outcomes.settled(changed, null, undefined);
      else this.signalled(changed);
    }
  }

  *#takeFrom(tx: Transaction, toolId: string, runner: ConnectedRunner): Unit<ExecutionRow | undefined> {
    const now = this.#deps.store.now();
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.user_id !== runner.userId || execution.runner_id !== runner.id)
      return undefined;
    if (isFinal(execution.status)) return undefined;
    if (execution.status === 'executing' && execution.risk_level !== 'LOW') {
      const message = new Refusal('RUNNER_LOST').message;
      const lost = yield* transition(tx, execution, 'failed', failure('RUNNER_LOST', message, now));
      tx.announce(lost.user_id, {
        events: [{ projectId: lost.project_id, event: resultEvent(lost, null, now) }],
        audit: [{ action: 'call.runner_lost', subject: toolId, data: { runner: runner.id } }],
      });
      return lost;
    }
    if (execution.status === 'awaiting_approval') return undefined;
    const payload = yield* tx.get('payloads', toolId);
    if (execution.cancel_requested) {
      const reason = new Refusal('EXECUTION_CANCELLED').message;
      const ended = yield* transition(
        tx,
        execution,
        'cancelled',
        failure('EXECUTION_CANCELLED', reason, now),
      );
      tx.announce(ended.user_id, {
        events: [{ projectId: ended.project_id, event: resultEvent(ended, null, now) }],
        audit: [{ action: 'call.cancelled', subject: toolId, data: { runner: runner.id } }],
      });
      return ended;
    }
    const next = this.#deps.runners.pick(runner.userId, runner.workspace, null);
    const patch = { runner_id: next?.id ?? null, attempt: execution.attempt + 1 };
    const freed: ExecutionRow =
      execution.status === 'executing'
        ? yield* transition(tx, execution, 'approved', patch)
        : { ...execution, ...patch };
    if (execution.status === 'approved') yield* tx.update('tool_executions', toolId, patch);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    return yield* this.signal(tx, freed, payload?.params ?? {}, grant);
  }

  /**
   * At start: who waits for a runner counts anew, and a runner that has calls must come back within its lease. When it
   * does, it is told of them from the state, those that were being retried as well.
   */
  async resume(): Promise<void> {
    const { store, runners } = this.#deps;
    const open = await store.read((tx) => tx.executionsIn(['approved', 'executing']));
    const awaited = new Set<string>();
    for (const execution of open) {
      if (execution.runner_id === null) this.#runnerless.set(execution.id, patienceMs(execution));
      else awaited.add(execution.runner_id);
    }
    for (const id of awaited) {
      const row = await store.read((tx) => tx.get('runners', id));
      if (!row) continue;
      const { user_id: userId, workspace, capabilities } = row;
      runners.expect({ id, userId, workspace, capabilities }, timing.runnerLeaseSeconds * 1000);
    }
  }

  close(): void {
    this.#runnerless.close();
    this.#retries.close();
  }

  async #signalAgain(toolId: string): Promise<void> {
    const changed = await commit(this.#deps, 'retry', (tx) => this.#resignal(tx, toolId));
    if (changed) this.signalled(changed);
  }

  *#resignal(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (execution?.status !== 'approved') return undefined;
    const payload = yield* tx.get('payloads', toolId);
    return yield* this.signal(tx, execution, payload?.params ?? {}, undefined);
  }

  async #failWithoutRunner(toolId: string): Promise<void> {
    const ended = await commit(this.#deps, 'no_runner', (tx) => this.#noRunner(tx, toolId));
    if (ended) this.#deps.outcomes.settled(ended, null, undefined);
  }

  *#noRunner(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const now = this.#deps.store.now();
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id !== null || !isWithRunner(execution)) return undefined;
    const project = yield* tx.get('projects', execution.project_id);
    // A plain listener was told and said nothing: what is not harmless may have happened.
    const isUnknown = execution.status === 'executing' && execution.risk_level !== 'LOW';
    const { code, message } = isUnknown
      ? new Refusal('RUNNER_LOST')
      : new Refusal('NO_RUNNER', { workspace: project?.workspace ?? 'the workspace' });
    const ended = yield* transition(tx, execution, 'failed', failure(code, message, now));
    tx.announce(ended.user_id, {
      events: [{ projectId: ended.project_id, event: resultEvent(ended, null, now) }],
      audit: [{ action: 'call.no_runner', subject: toolId, data: { code } }],
    });
    return ended;
  }

  /** EX-10: the person is told which workspace to open. */
  async #tellThatNobodyIsThere(execution: ExecutionRow): Promise<void> {
    const { store, bus } = this.#deps;
    const project = await store.read((tx) => tx.get('projects', execution.project_id));
    const { message } = new Refusal('NO_RUNNER', { workspace: project?.workspace ?? 'the workspace' });
    const event = progressEvent(execution, { progress: null, message, output: null }, store.now());
    bus.publish({ kind: 'passing', userId: execution.user_id, projectId: execution.project_id, event });
  }

  #asksAgain(): AsksAgain {
    if (!this.#approvals) throw new Error('The dispatcher was used before its ApprovalManager was set');
    return this.#approvals;
  }
}

const isWithRunner = ({ status }: ExecutionRow): boolean => status === 'approved' || status === 'executing';

/** Whether the call's workspace is one that runners serve. */
function* hadRunner(tx: Transaction, execution: ExecutionRow): Unit<boolean> {
  const project = yield* tx.get('projects', execution.project_id);
  const runners = yield* tx.runnersOf(execution.user_id);
  return runners.some(({ workspace }) => workspace === project?.workspace);
}

/**
 * How long a call may be with nobody. A plain listener that was told sends no heartbeat: what is not harmless has the
 * time of the longest command as well (EX-10, TL-3).
 */
function patienceMs({ status, risk_level }: ExecutionRow): number {
  const seconds = timing.runnerWaitSeconds;
  return (
    (status === 'executing' && risk_level !== 'LOW'
      ? seconds + defaultLimits.commandTimeoutMaxSeconds
      : seconds) * 1000
  );
}
