import { isFinal, type PolicyRule } from '@countersign/protocol';
import type { ApprovalRequester } from '../approve/approval-requester.ts';
import { Deadlines } from '../approve/deadlines.ts';
import { isJudgedByOlderPolicy, PolicyReview } from '../approve/policy-review.ts';
import type { StoredPolicies } from '../approve/stored-policies.ts';
import type { Caller } from '../caller.ts';
import { type ClaimInput, Claims, findStaleness } from '../claim/claims.ts';
import { hadRunner, requireGivenTo } from '../claim/given-calls.ts';
import { capabilityFor, pathRulesFor } from '../claim/path-rules.ts';
import type { Clock } from '../clock.ts';
import { commit, type FaultPoints } from '../fault-points.ts';
import type { RunnerPresence } from '../nodes/runner-presence.ts';
import { cancelEvent, progressEvent, resultEvent, signalEvent, statusEvent } from '../record/call-events.ts';
import { failure, passOn, transition } from '../record/execution-record.ts';
import { ownExecution } from '../record/own-execution.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, JsonObject } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import { type ResultInput, Settlements } from '../settle/settlements.ts';
import type { Bus, Reading, Store, Transaction, Unit } from '../store.ts';
import type { ConnectedRunner, RunnerRegistry } from './runner-registry.ts';
import { RunnerTurnover } from './runner-turnover.ts';
import { RunnerlessCalls, timeoutMs } from './runnerless-calls.ts';

export interface DispatcherDeps extends FaultPoints {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly runners: RunnerRegistry;
  readonly presence: RunnerPresence;
  readonly policies: StoredPolicies;
  readonly outcomes: Outcomes;
  readonly onError: (error: unknown) => void;
  /** Whether a plain listener (no runner) of this project has a stream open and may execute (EV-3). */
  readonly hasPlainListener: (userId: string, projectId: string) => boolean;
}

/** What could not be written when its time came is tried again after this long. */
const TRY_AGAIN_MS = 5_000;

/**
 * Gives approved calls to runners and takes their reports: signal, claim, progress, result, cancel (EX-4 to EX-10).
 * What happens when runners come and go is in `RunnerTurnover`.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  #approvals: ApprovalRequester | undefined;
  readonly #claims: Claims;
  readonly #settlements: Settlements;
  readonly #runnerless: RunnerlessCalls;
  readonly #turnover: RunnerTurnover;
  readonly #review: PolicyReview;
  readonly #retries: Deadlines;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#claims = new Claims(deps.store, deps.runners, () => this.#asksAgain());
    this.#settlements = new Settlements(deps.store, deps.runners, () => this.#asksAgain());
    this.#runnerless = new RunnerlessCalls({
      ...deps,
      place: (execution) => this.#turnover.place(execution),
    });
    this.#turnover = new RunnerTurnover({
      ...deps,
      runnerless: this.#runnerless,
      signal: (tx, execution, params, grant) => this.signal(tx, execution, params, grant),
      review: (toolId) => this.review(toolId),
    });
    this.#review = new PolicyReview({
      ...deps,
      approvals: () => this.#asksAgain(),
      signalAgain: (tx, execution, rules) => this.#signalAsNew(tx, execution, rules),
      signalled: (execution) => this.signalled(execution),
    });
    this.#retries = new Deadlines(deps.clock, (id) => {
      this.#signalAgain(id).catch((error: unknown) => {
        deps.onError(error);
        this.#retries.set(id, TRY_AGAIN_MS);
      });
    });
  }

  useApprovals(approvals: ApprovalRequester): void {
    this.#approvals = approvals;
  }

  /** Inside a unit: the id of the runner that a call of this workspace goes to, which these rules on paths touch. */
  runnerFor(
    tx: Reading,
    userId: string,
    workspace: string,
    preferred: string | null,
    rules: readonly PolicyRule[],
  ): Unit<string | undefined> {
    return this.#deps.presence.pick(tx, userId, workspace, preferred, capabilityFor(rules));
  }

  /** Inside a unit: whether a runner that previews is connected for this workspace (AP-7). */
  previews(tx: Reading, userId: string, workspace: string): Unit<boolean> {
    return this.#deps.presence.previews(tx, userId, workspace);
  }

  /**
   * Inside the unit that approved a call: tells the chosen runner. Where there never was one, whoever listens and may
   * execute is told, and the signal is the claim; without anybody, the call waits (EV-3, EX-10). A harmless call is
   * executing from its signal on. `rules` are those of the
   * person's policy that the runner applies to the real disk; read here where the caller does not know them.
   */
  *signal(
    tx: Transaction,
    execution: ExecutionRow,
    params: JsonObject | null,
    grant: GrantRow | undefined,
    rules?: readonly PolicyRule[],
  ): Unit<ExecutionRow> {
    const now = this.#deps.store.now();
    const told = rules ?? (yield* pathRulesFor(tx, execution));
    let row = execution;
    const { runner_id } = row;
    const isBlind =
      runner_id !== null &&
      told.length > 0 &&
      !(yield* this.#deps.presence.knowsPathRules(tx, row.user_id, runner_id));
    if (isBlind) {
      yield* tx.update('tool_executions', row.id, { runner_id: null });
      row = { ...row, runner_id: null };
    }
    if (row.runner_id === null) {
      // A front end executes nothing: where runners are in use, it must not take the call while theirs reconnects. Nor
      // does a plain client look where links lead, which rules on paths need.
      const isForPlainClients =
        told.length === 0 &&
        this.#deps.hasPlainListener(row.user_id, row.project_id) &&
        !(yield* hadRunner(tx, row));
      const { limits } = this.#deps.policies;
      if (!isForPlainClients) {
        tx.announce(row.user_id, {
          events: [{ projectId: row.project_id, event: statusEvent(row, now) }],
        });
        return yield* due(tx, row, now + timeoutMs(row, limits));
      }
      const due_at = now + timeoutMs({ ...row, status: 'executing' }, limits);
      row = yield* transition(tx, row, 'executing', { due_at, started_at: now });
      if (row.grant_id !== null) yield* tx.countGrantUse(row.grant_id);
    } else if (row.status === 'approved' && row.risk_level === 'LOW')
      row = yield* transition(tx, row, 'executing', { due_at: null, started_at: now });
    else if (row.due_at !== null) row = yield* due(tx, row, null);
    const { status, attempt } = row;
    const events = [signalEvent(row, params, grant, told, now)];
    if (status === 'executing') events.push(statusEvent(row, now));
    tx.announce(row.user_id, {
      events: events.map((event) => ({ projectId: row.project_id, event })),
      audit: [
        { action: 'call.signalled', subject: row.id, data: { runner: row.runner_id, attempt, status } },
      ],
    });
    return row;
  }

  /** After that unit's commit. */
  signalled(execution: ExecutionRow): void {
    this.#runnerless.watch(execution);
  }

  /** Does what lets a call go on. Where the person's policy is newer than the call, the call is judged again first. */
  async #reviewed<T>(toolId: string, goOn: () => Promise<T | 'POLICY_CHANGED'>): Promise<T> {
    for (;;) {
      const done = await goOn();
      if (done !== 'POLICY_CHANGED') return done;
      await this.review(toolId);
    }
  }

  /** RK-5: a call whose policy has changed since it was judged is judged again; it may have ended afterwards. */
  review(toolId: string): Promise<void> {
    return this.#review.review(toolId);
  }

  /** EX-6: the runner may begin, or it is told why not. */
  async claim(caller: Caller, toolId: string, input: ClaimInput): Promise<ExecutionRow> {
    const claimed = await this.#reviewed(toolId, () =>
      commit(this.#deps, 'claim', (tx) => this.#claims.claim(tx, caller, toolId, input)),
    );
    this.#heard(caller, input);
    if ('refusal' in claimed) {
      if (claimed.asked) this.#approvals?.watch(claimed.asked);
      if (claimed.ended) this.#deps.outcomes.settled(claimed.ended, null, undefined);
      throw claimed.refusal;
    }
    return claimed.execution;
  }

  /** EX-7: the same result twice is fine, a different one is a conflict, a late one is kept without changing the state. */
  async submitResult(
    caller: Caller,
    toolId: string,
    input: ResultInput,
  ): Promise<{ execution: ExecutionRow; message: string }> {
    const done = await commit(this.#deps, 'result', (tx) =>
      this.#settlements.settle(tx, caller, toolId, input),
    );
    this.#heard(caller, input);
    if (done.asked) this.#approvals?.watch(done.asked);
    if (done.retryAfterMs !== undefined) this.#retries.set(toolId, done.retryAfterMs);
    if (done.news)
      this.#deps.outcomes.settled(done.execution, input.result ?? null, undefined, done.news.executedParams);
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
      instance?: string | undefined;
    },
  ): Promise<void> {
    const { store, runners } = this.#deps;
    const execution = await store.read(function* (tx) {
      const row = yield* ownExecution(tx, caller, toolId);
      yield* requireGivenTo(tx, row, input, runners);
      return row;
    });
    this.#heard(caller, input);
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

  /** What a runner may say is a sign of life of it; what it is refused is not. */
  #heard({ userId }: Caller, { runner_id }: { readonly runner_id?: string | undefined }): void {
    if (runner_id !== undefined) this.#deps.runners.alive(userId, runner_id);
  }

  /** EX-8: at once where nothing runs; while executing it is a request, and the runner's report decides. */
  async cancel(caller: Caller, toolId: string, reason: string): Promise<ExecutionRow> {
    const { outcomes } = this.#deps;
    const { execution, withdrawn } = await commit(this.#deps, 'cancel', (tx) =>
      this.#cancel(tx, caller, toolId, reason),
    );
    if (withdrawn) this.#approvals?.withdrawn(withdrawn);
    if (isFinal(execution.status)) {
      this.#runnerless.forget(toolId);
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
    const execution = yield* ownExecution(tx, caller, toolId);
    if (caller.scope === 'agent' && execution.requested_by !== caller.tokenId) throw notFound('tool call');
    if (isFinal(execution.status)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    const told = { projectId: execution.project_id, event: cancelEvent(execution, reason, now) };
    const audit = [
      { action: 'call.cancel_requested', subject: toolId, data: { token: caller.tokenId, reason } },
    ];
    if (execution.status === 'executing') {
      yield* tx.update('tool_executions', toolId, { cancel_requested: true });
      tx.announce(caller.userId, { events: [told], audit });
      return { execution: { ...execution, cancel_requested: true }, withdrawn: undefined };
    }
    const withdrawn = yield* this.#asksAgain().withdrawApproval(tx, execution, now);
    const ended = yield* transition(tx, execution, 'cancelled', failure('EXECUTION_CANCELLED', reason, now));
    tx.announce(caller.userId, {
      events: [
        ...(execution.runner_id === null ? [] : [told]),
        { projectId: ended.project_id, event: resultEvent(ended, null, now) },
      ],
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

  /** The longest overdue calls of everybody, whichever node was to look at them (EX-5, EX-10). */
  async sweepDue(until: number, limit: number): Promise<void> {
    const overdue = await this.#deps.store.read((tx) => tx.dueExecutions(until, limit));
    for (const { id } of overdue) await this.#lookAgain(id).catch(this.#deps.onError); // the others go on
  }

  /**
   * Calls of everybody that wait for a runner, where one is there after all: it seemed to be gone when they were made,
   * since its signs of life could not be stored or the database's clock jumped, and its stream never ended (EX-10).
   */
  async placeWaiting(limit: number): Promise<void> {
    const { store, onError } = this.#deps;
    for (const { id } of await store.read((tx) => tx.dueExecutions(Number.MAX_SAFE_INTEGER, limit))) {
      const execution = await store.read((tx) => tx.get('tool_executions', id));
      if (execution?.runner_id !== null || execution.status !== 'approved') continue;
      await this.#turnover.place(execution).catch(onError); // the others go on
    }
  }

  /** Takes calls from runners that are gone: of a node that died before it could (EX-7). */
  takeStranded(limit: number): Promise<void> {
    return this.#turnover.takeStranded(limit);
  }

  /** A call that nobody has: who listens here and may execute takes it, if it is still nobody's (EV-3). */
  async offer(toolId: string): Promise<void> {
    const { execution, asked } = await this.#reviewed(toolId, () =>
      commit(this.#deps, 'give', (tx) => this.#offer(tx, toolId)),
    );
    if (asked) this.#approvals?.watch(asked);
    if (execution?.status === 'executing') this.signalled(execution);
    else if (execution?.status === 'failed') this.#deps.outcomes.settled(execution, null, undefined);
  }

  /** The same for every call that waits, in case nobody was told. */
  async offerAll(userId: string, projectId: string | undefined): Promise<void> {
    for (const { id, status, project_id } of await this.#deps.store.read((tx) =>
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
    // Such a client makes no claim: what a claim would find is looked for here (EX-6).
    if (yield* isJudgedByOlderPolicy(tx, execution)) return 'POLICY_CHANGED';
    const isClaimed = execution.approved_by !== 'auto';
    const stale =
      isClaimed && (yield* findStaleness(tx, execution, execution.digest, this.#deps.store.now()));
    if (stale) {
      const asked = yield* this.#asksAgain().askAgain(tx, execution, stale.problem);
      return { asked, execution: yield* tx.get('tool_executions', toolId) };
    }
    const { params } = yield* tx.shownPayload(toolId);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    const { due_at } = execution;
    const offered = yield* this.signal(tx, execution, params, grant);
    // Nobody took it after all: its time goes on as it did.
    return { execution: offered.status === 'executing' ? offered : yield* due(tx, offered, due_at) };
  }

  /** Before it is told of its calls. */
  runnerConnects(runner: ConnectedRunner): Promise<void> {
    return this.#turnover.prepare(runner);
  }

  runnerConnected(runner: ConnectedRunner): Promise<void> {
    return this.#turnover.connected(runner);
  }

  runnerLost(runner: ConnectedRunner): Promise<void> {
    return this.#turnover.lost(runner);
  }

  /** At start: calls that were under way are waited for again. */
  resume(cameAt: number): Promise<void> {
    return this.#turnover.resume(cameAt);
  }

  close(): void {
    this.#runnerless.close();
    this.#retries.close();
  }

  /** A call whose time has come: nobody has it, or it is to be tried again. */
  async #lookAgain(toolId: string): Promise<void> {
    const execution = await this.#deps.store.read((tx) => tx.get('tool_executions', toolId));
    if (execution?.runner_id === null) await this.#runnerless.giveUp(toolId);
    else await this.#signalAgain(toolId);
  }

  /** The attempt before it may not begin any more: its runner was told of older rules. */
  *#signalAsNew(tx: Transaction, execution: ExecutionRow, rules: readonly PolicyRule[]): Unit<ExecutionRow> {
    const again = yield* passOn(tx, execution, execution.attempt + 1, execution.runner_id);
    const { params } = yield* tx.shownPayload(execution.id);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    return yield* this.signal(tx, again, params, grant, rules);
  }

  async #signalAgain(toolId: string): Promise<void> {
    await this.review(toolId);
    const changed = await commit(this.#deps, 'retry', (tx) => this.#resignal(tx, toolId));
    if (changed) this.signalled(changed);
  }

  /** Once for each attempt, whichever node does it: then it is not due any more. */
  *#resignal(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.due_at === null) return undefined;
    if (execution.status !== 'approved') {
      yield* due(tx, execution, null);
      return undefined;
    }
    const { params } = yield* tx.shownPayload(toolId);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    return yield* this.signal(tx, execution, params, grant);
  }

  #asksAgain(): ApprovalRequester {
    if (!this.#approvals) throw new Error('The dispatcher was used before its ApprovalManager was set');
    return this.#approvals;
  }
}

/** When somebody has to look at this call again. */
function* due(tx: Transaction, execution: ExecutionRow, due_at: number | null): Unit<ExecutionRow> {
  yield* tx.update('tool_executions', execution.id, { due_at });
  return { ...execution, due_at };
}
