import { isFinal, timing } from '@countersign/protocol';
import { reviewCall } from '../approve/policy-review.ts';
import { capabilityFor, pathRulesFor } from '../approve/stored-policies.ts';
import { endTrials } from '../approve/trials.ts';
import type { EngineParts } from '../engine-parts.ts';
import { commit } from '../fault-points.ts';
import { progressEvent } from '../record/call-events.ts';
import { endCall, mayNotHaveBegun, reassign } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Transaction, Unit } from '../store.ts';
import { Deadlines } from '../waiting.ts';
import { type ConnectedRunner, runnerKey } from './runners.ts';
import { runnerWaitMs } from './signals.ts';

/** Delay before retrying a timed task that could not be written. */
export const TRY_AGAIN_MS = 5_000;

/**
 * Which runner has which call, as runners come and go (EX-7). A call that no runner has waits for one: the person is told
 * which workspace to open, and after a while the call ends (EX-10).
 */
export class CallAssignments {
  readonly #parts: Omit<EngineParts, 'assignments'>;
  /** When calls that no runner has are given up. */
  readonly #deadlines: Deadlines;

  constructor(parts: Omit<EngineParts, 'assignments'>) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock, (id) => {
      this.giveUp(id).catch((error: unknown) => {
        parts.onError(error);
        this.#deadlines.set(id, TRY_AGAIN_MS);
      });
    });
  }

  /** Call after the commit of a signal. Starts the waiting time if no runner has the call. */
  watch(execution: ExecutionRow): void {
    const { store, bus, onError } = this.#parts;
    if (execution.runner_id !== null || execution.due_at === null || isFinal(execution.status)) return;
    this.#deadlines.set(execution.id, execution.due_at - store.now());
    if (execution.status !== 'approved') return;
    this.place(execution).catch(onError);
    const { user_id: userId, project_id: projectId, id: toolId } = execution;
    bus.publish({ kind: 'unassigned', userId, projectId, toolId });
    this.#announceNoRunner(execution).catch(onError);
  }

  forget(toolId: string): void {
    this.#deadlines.clear(toolId);
  }

  close(): void {
    this.#deadlines.close();
  }

  /** RK-5: judges a call again if the person's policy has changed since. This may end the call. */
  async review(toolId: string): Promise<void> {
    const reviewed = await reviewCall(this.#parts, toolId);
    if (reviewed) this.watch(reviewed);
  }

  /**
   * Reviews the open calls of a runner before they are sent to it again (RK-5). Ends the calls that the person's policy
   * denies by now, and takes away those that this version of the runner cannot execute.
   */
  async prepare(runner: ConnectedRunner): Promise<void> {
    const { store } = this.#parts;
    await endTrials(store, runner, runner.instance ?? null);
    const open = await store.read((tx) => tx.openExecutionsOf(runner.userId, runner.id));
    for (const { id, status } of open) {
      if (status !== 'approved' && status !== 'executing') continue;
      await this.review(id);
      const taken = await commit(this.#parts, 'give', (tx) => this.#takeIfUnable(tx, id, runner));
      if (taken) this.watch(taken);
    }
  }

  *#takeIfUnable(tx: Transaction, toolId: string, runner: ConnectedRunner): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || !mayNotHaveBegun(execution) || execution.runner_id !== runner.id) return undefined;
    const able = capabilityFor(yield* pathRulesFor(tx, execution));
    if (able === undefined || runner.capabilities.includes(able)) return undefined;
    const unassigned = yield* reassign(tx, execution, execution.attempt + 1, null);
    return yield* this.#parts.signals.signalStored(tx, unassigned);
  }

  /** Gives a newly connected runner the calls that no runner has. Ends the calls that another program began under its id. */
  async connected(runner: ConnectedRunner): Promise<void> {
    const { store, outcomes } = this.#parts;
    const { userId, id: runnerId } = runner;
    for (const { id } of await store.read((tx) => tx.openExecutionsOf(userId, runnerId))) {
      const ended = await commit(this.#parts, 'lease', (tx) => this.#endIfBegunByAnother(tx, id, runner));
      if (ended) outcomes.settled(ended);
    }
    for (const { id } of await store.read((tx) => tx.unassignedExecutions(userId))) {
      await this.review(id);
      await this.#giveTo(runner, id);
    }
  }

  /**
   * Looks once more for a runner after a call was recorded without one. A runner may have connected to another node at
   * the same moment: that node did not see the call, and this one did not see the runner. Whichever commits second sees
   * the other.
   */
  async place({ id, user_id, project_id, tool_name }: ExecutionRow): Promise<void> {
    const { store, presence } = this.#parts;
    if (!store.isShared) return;
    await this.review(id);
    const runner = await store.read(function* (tx) {
      const workspace = (yield* tx.get('projects', project_id))?.workspace ?? null;
      if (workspace === null) return undefined;
      const able = capabilityFor(yield* pathRulesFor(tx, { user_id, tool_name }));
      const runnerId = yield* presence.pick(tx, user_id, workspace, null, able);
      return runnerId === undefined ? undefined : { id: runnerId, workspace };
    });
    if (runner) await this.#giveTo(runner, id);
  }

  async #giveTo(runner: Pick<ConnectedRunner, 'id' | 'workspace'>, toolId: string): Promise<void> {
    const isGiven = await commit(this.#parts, 'give', (tx) => this.#give(tx, toolId, runner));
    if (isGiven) this.forget(toolId);
  }

  *#give(tx: Transaction, toolId: string, runner: Pick<ConnectedRunner, 'id' | 'workspace'>): Unit<boolean> {
    const { presence, signals } = this.#parts;
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id !== null || execution.cancel_requested) return false;
    const project = yield* tx.get('projects', execution.project_id);
    if (project?.workspace !== runner.workspace) return false;
    const rules = yield* pathRulesFor(tx, execution);
    if (rules.length > 0 && !(yield* presence.knowsPathRules(tx, execution.user_id, runner.id))) return false;
    // A plain listener was told of it and may be executing it. Repeating a harmless call is better than waiting.
    const isHarmlessRepeat = execution.status === 'executing' && execution.risk_level === 'LOW';
    if (execution.status !== 'approved' && !isHarmlessRepeat) return false;
    const attempt = isHarmlessRepeat ? execution.attempt + 1 : execution.attempt;
    yield* signals.signalStored(tx, yield* reassign(tx, execution, attempt, runner.id));
    return true;
  }

  /**
   * Ends a call that another program began under this runner's id. The other program does not report it while this one is
   * connected, and this one may not begin it again: its journal does not know the call (0006). If the other program comes
   * back, its report is a late one.
   */
  *#endIfBegunByAnother(
    tx: Transaction,
    toolId: string,
    runner: ConnectedRunner,
  ): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (execution?.status !== 'executing' || execution.runner_id !== runner.id) return undefined;
    if (execution.claimed_by === null || execution.claimed_by === runner.instance) return undefined;
    return yield* this.#end(tx, execution, runner.id, 'RUNNER_LOST');
  }

  /** After a runner's lease ended: passes its calls on, or ends those whose outcome is unknown. */
  async lost(runner: ConnectedRunner): Promise<void> {
    await endTrials(this.#parts.store, runner);
    const open = await this.#parts.store.read((tx) => tx.openExecutionsOf(runner.userId, runner.id));
    for (const { id } of open) await this.#take(id);
  }

  /** Takes calls away from runners whose lease has ended, as `lost` does, no matter which node they were connected to. */
  async takeStranded(limit: number): Promise<void> {
    for (const { id } of await this.#parts.store.read((tx) => tx.strandedExecutions(limit)))
      await this.#take(id).catch(this.#parts.onError); // continue with the other calls
  }

  async #take(toolId: string): Promise<void> {
    await this.review(toolId);
    const changed = await commit(this.#parts, 'lease', (tx) => this.#takeAway(tx, toolId));
    if (!changed) return;
    if (isFinal(changed.status)) this.#parts.outcomes.settled(changed);
    else this.watch(changed);
  }

  *#takeAway(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const { presence, signals } = this.#parts;
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id === null) return undefined;
    if (isFinal(execution.status) || execution.status === 'awaiting_approval') return undefined;
    const { user_id, runner_id } = execution;
    // If the runner has reconnected, to any node, it keeps the call, and that node signals it.
    const runner = yield* tx.get('runners', runnerKey(user_id, runner_id));
    if (runner?.connected) return undefined;
    if (execution.status === 'executing' && execution.risk_level !== 'LOW')
      return yield* this.#end(tx, execution, runner_id, 'RUNNER_LOST');
    if (execution.cancel_requested) return yield* this.#end(tx, execution, runner_id, 'EXECUTION_CANCELLED');
    const project = yield* tx.get('projects', execution.project_id);
    const able = capabilityFor(yield* pathRulesFor(tx, execution));
    const next = yield* presence.pick(tx, user_id, project?.workspace ?? '', null, able);
    const other = next === runner_id ? null : (next ?? null);
    const from = other === null ? (runner?.instance ?? null) : null;
    const passed = yield* reassign(tx, execution, execution.attempt + 1, other, from);
    return yield* signals.signalStored(tx, passed);
  }

  *#end(
    tx: Transaction,
    execution: ExecutionRow,
    runnerId: string,
    code: 'RUNNER_LOST' | 'EXECUTION_CANCELLED',
  ): Unit<ExecutionRow> {
    const [status, action] =
      code === 'RUNNER_LOST' ? (['failed', 'runner_lost'] as const) : (['cancelled', 'cancelled'] as const);
    const now = this.#parts.store.now();
    const data = { runner: runnerId };
    return yield* endCall(tx, execution, status, new Refusal(code), now, `call.${action}`, data);
  }

  /**
   * Call at start if no other server is running. Restarts the wait of calls without a runner. Each runner that has
   * calls gets the time of its lease to reconnect, and is then signalled its calls again, including retries.
   */
  async resume(startedAt: number): Promise<void> {
    const { store, runners } = this.#parts;
    const [connected] = await store.read((tx) => tx.silentRunners(Number.MAX_SAFE_INTEGER, 1));
    if (connected) await store.write((tx) => tx.markRunnersSeen(startedAt, store.now()));
    const open = await store.read((tx) => tx.allowedExecutions());
    const awaited = new Set<string>();
    for (const { id, user_id, runner_id } of open) {
      if (runner_id === null) await this.#restartWait(id, startedAt);
      else awaited.add(runnerKey(user_id, runner_id));
    }
    for (const key of awaited) {
      const row = await store.read((tx) => tx.get('runners', key));
      if (!row) continue;
      const { runner_id: id, user_id: userId, workspace, capabilities } = row;
      const leaseMs = timing.runnerLeaseSeconds * 1000 - (store.now() - startedAt);
      runners.expect({ id, userId, workspace, capabilities }, leaseMs);
    }
  }

  /** Gives a call without a runner its full waiting time again. Does not tell the person again. */
  async #restartWait(toolId: string, startedAt: number): Promise<void> {
    const { store, policies } = this.#parts;
    const dueAt = await store.write(function* (tx): Unit<number | undefined> {
      const execution = yield* tx.get('tool_executions', toolId);
      if (!execution || execution.runner_id !== null || !isWithRunner(execution)) return undefined;
      const waitMs = runnerWaitMs(execution, policies.limits);
      // A clock that was set back must not give more than the full time.
      const due_at = Math.min(Math.max(execution.due_at ?? 0, startedAt + waitMs), store.now() + waitMs);
      yield* tx.update('tool_executions', toolId, { due_at });
      return due_at;
    });
    if (dueAt !== undefined) this.#deadlines.set(toolId, dueAt - store.now());
  }

  /** Ends a call that had no runner for too long. Any node may do it: the row has the deadline. */
  async giveUp(toolId: string): Promise<void> {
    const ended = await commit(this.#parts, 'no_runner', (tx) => this.#endIfDue(tx, toolId));
    if (typeof ended === 'number') this.#deadlines.set(toolId, ended);
    else if (ended) this.#parts.outcomes.settled(ended);
  }

  *#endIfDue(tx: Transaction, toolId: string): Unit<ExecutionRow | number | undefined> {
    const now = this.#parts.store.now();
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id !== null || execution.due_at === null) return undefined;
    if (!isWithRunner(execution)) {
      yield* tx.update('tool_executions', toolId, { due_at: null });
      return undefined;
    }
    if (execution.due_at > now) return execution.due_at - now;
    const error = plainListenerFailure(execution) ?? (yield* this.#whyNoRunner(tx, execution));
    const status = error.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
    return yield* endCall(tx, execution, status, error, now, 'call.no_runner', { code: error.code });
  }

  /** Says that no runner is connected, or that the connected ones cannot apply the person's path rules (RK-5). */
  *#whyNoRunner(tx: Reading, execution: ExecutionRow): Unit<Refusal> {
    const { user_id, project_id } = execution;
    const workspace = (yield* tx.get('projects', project_id))?.workspace;
    const isTouched = workspace && (yield* pathRulesFor(tx, execution)).length > 0;
    const isOutdated = isTouched && (yield* this.#parts.presence.isOutdated(tx, user_id, workspace));
    const values = { workspace: workspace ?? 'the workspace' };
    return new Refusal(isOutdated ? 'RUNNER_OUTDATED' : 'NO_RUNNER', values);
  }

  async #announceNoRunner(execution: ExecutionRow): Promise<void> {
    const { store, bus } = this.#parts;
    const { message } = await store.read((tx) => this.#whyNoRunner(tx, execution));
    const event = progressEvent(execution, { progress: null, message, output: null }, store.now());
    bus.publish({ kind: 'transient', userId: execution.user_id, projectId: execution.project_id, event });
  }
}

const isWithRunner = ({ status }: ExecutionRow): boolean => status === 'approved' || status === 'executing';

/** The error of a call that a plain listener got and never reported. Unless the call is harmless, it may have run. */
function plainListenerFailure({ status, risk_level, cancel_requested }: ExecutionRow): Refusal | undefined {
  if (status === 'executing' && risk_level !== 'LOW') return new Refusal('RUNNER_LOST');
  return cancel_requested ? new Refusal('EXECUTION_CANCELLED') : undefined;
}
