import { isFinal, timing } from '@countersign/protocol';
import type { PolicyReview } from '../approve/policy-review.ts';
import { capabilityFor, pathRulesFor } from '../claim/path-rules.ts';
import { commit, type Edges } from '../fault-points.ts';
import type { RunnerPresence } from '../nodes/runner-presence.ts';
import { endCall, mayNotHaveBegun, passOn } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import type { Transaction, Unit } from '../store.ts';
import { runnerKey } from './runner-facts.ts';
import type { ConnectedRunner, RunnerRegistry } from './runner-registry.ts';
import type { RunnerlessCalls } from './runnerless-calls.ts';
import type { Signals } from './signals.ts';

export interface RunnerTurnoverDeps extends Edges {
  readonly runners: RunnerRegistry;
  readonly presence: RunnerPresence;
  readonly outcomes: Outcomes;
  readonly runnerless: RunnerlessCalls;
  readonly signals: Signals;
  /** Before a call is given out, which may need no claim: judges it again where the policy has changed (RK-5). */
  readonly review: PolicyReview;
}

/** Runners come and go: who gets the calls that nobody had, and what becomes of those that one leaves behind (EX-7). */
export class RunnerTurnover {
  readonly #deps: RunnerTurnoverDeps;

  constructor(deps: RunnerTurnoverDeps) {
    this.#deps = deps;
  }

  /**
   * Before a runner is told of the calls that it has from before: what the person's policy denies by now ends, and what
   * this program of it is not able to do is taken from it (RK-5).
   */
  async prepare(runner: ConnectedRunner): Promise<void> {
    const { store, runnerless, review } = this.#deps;
    const open = await store.read((tx) => tx.openExecutionsOf(runner.userId, runner.id));
    for (const { id, status } of open) {
      if (status !== 'approved' && status !== 'executing') continue;
      await review.review(id);
      const taken = await commit(this.#deps, 'give', (tx) => this.#takeIfUnable(tx, id, runner));
      if (taken) runnerless.watch(taken);
    }
  }

  *#takeIfUnable(tx: Transaction, toolId: string, runner: ConnectedRunner): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || !mayNotHaveBegun(execution) || execution.runner_id !== runner.id) return undefined;
    const able = capabilityFor(yield* pathRulesFor(tx, execution));
    if (able === undefined || runner.capabilities.includes(able)) return undefined;
    return yield* this.#deps.signals.signalStored(
      tx,
      yield* passOn(tx, execution, execution.attempt + 1, null),
    );
  }

  /** A runner connected: calls that nobody had are its own now, and those of another program in its place are lost. */
  async connected(runner: ConnectedRunner): Promise<void> {
    const { store, runnerless, outcomes, review } = this.#deps;
    const { userId, id: runnerId } = runner;
    for (const { id } of await store.read((tx) => tx.openExecutionsOf(userId, runnerId))) {
      const ended = await commit(this.#deps, 'lease', (tx) => this.#endOfAnother(tx, id, runner));
      if (ended) outcomes.settled(ended, null, undefined);
    }
    const waiting = await store.read((tx) => tx.unassignedExecutions(runner.userId));
    for (const { id } of waiting) {
      await review.review(id);
      const given = await commit(this.#deps, 'give', (tx) => this.#give(tx, id, runner));
      if (given) runnerless.forget(id);
    }
  }

  /**
   * A call was recorded for nobody. A runner may have connected to another node at that very moment, found nothing to
   * take and not been seen here: whoever commits second sees the first, so it is looked for once more.
   */
  async place({ id, user_id, project_id, tool_name }: ExecutionRow): Promise<void> {
    const { store, presence, runnerless, review } = this.#deps;
    if (!store.isShared) return;
    await review.review(id);
    const runner = await store.read(function* (tx) {
      const workspace = (yield* tx.get('projects', project_id))?.workspace ?? null;
      const able = capabilityFor(yield* pathRulesFor(tx, { user_id, tool_name }));
      const runnerId =
        workspace === null ? undefined : yield* presence.pick(tx, user_id, workspace, null, able);
      return runnerId === undefined || workspace === null ? undefined : { id: runnerId, workspace };
    });
    if (!runner) return;
    const given = await commit(this.#deps, 'give', (tx) => this.#give(tx, id, runner));
    if (given) runnerless.forget(id);
  }

  *#give(tx: Transaction, toolId: string, runner: Pick<ConnectedRunner, 'id' | 'workspace'>): Unit<boolean> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id !== null || execution.cancel_requested) return false;
    const project = yield* tx.get('projects', execution.project_id);
    if (project?.workspace !== runner.workspace) return false;
    const rules = yield* pathRulesFor(tx, execution);
    if (rules.length > 0 && !(yield* this.#deps.presence.knowsPathRules(tx, execution.user_id, runner.id)))
      return false;
    // A plain listener was told of it and may be at it. To repeat what is harmless is better than to wait for nobody.
    const isHarmlessRepeat = execution.status === 'executing' && execution.risk_level === 'LOW';
    if (execution.status !== 'approved' && !isHarmlessRepeat) return false;
    const given = yield* passOn(
      tx,
      execution,
      isHarmlessRepeat ? execution.attempt + 1 : execution.attempt,
      runner.id,
    );
    yield* this.#deps.signals.signalStored(tx, given);
    return true;
  }

  /**
   * What a program began that had this runner's id before, nobody will report while this one is there, and this one may
   * not begin it again: its journal does not know of it (0006). Should the other come back, its report is a late one.
   */
  *#endOfAnother(tx: Transaction, toolId: string, runner: ConnectedRunner): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (execution?.status !== 'executing' || execution.runner_id !== runner.id) return undefined;
    if (execution.claimed_by === null || execution.claimed_by === runner.instance) return undefined;
    return yield* this.#end(tx, execution, runner.id, 'RUNNER_LOST');
  }

  /** A lease ended. A harmless call is given to somebody else; the outcome of another one is unknown. */
  async lost(runner: ConnectedRunner): Promise<void> {
    const open = await this.#deps.store.read((tx) => tx.openExecutionsOf(runner.userId, runner.id));
    for (const { id } of open) await this.#take(id);
  }

  /** The same for calls that were left with a runner whose lease has ended, by whichever node. */
  async takeStranded(limit: number): Promise<void> {
    for (const { id } of await this.#deps.store.read((tx) => tx.strandedExecutions(limit)))
      await this.#take(id).catch(this.#deps.onError); // the others go on
  }

  async #take(toolId: string): Promise<void> {
    const { outcomes, runnerless } = this.#deps;
    await this.#deps.review.review(toolId);
    const changed = await commit(this.#deps, 'lease', (tx) => this.#takeAway(tx, toolId));
    if (!changed) return;
    if (isFinal(changed.status)) outcomes.settled(changed, null, undefined);
    else runnerless.watch(changed);
  }

  *#takeAway(tx: Transaction, toolId: string): Unit<ExecutionRow | undefined> {
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id === null) return undefined;
    if (isFinal(execution.status) || execution.status === 'awaiting_approval') return undefined;
    const { user_id, runner_id } = execution;
    // It may be back, on any node: then the call is still its own, and it is told of it there.
    const runner = yield* tx.get('runners', runnerKey(user_id, runner_id));
    if (runner?.connected) return undefined;
    if (execution.status === 'executing' && execution.risk_level !== 'LOW')
      return yield* this.#end(tx, execution, runner_id, 'RUNNER_LOST');
    if (execution.cancel_requested) return yield* this.#end(tx, execution, runner_id, 'EXECUTION_CANCELLED');
    const project = yield* tx.get('projects', execution.project_id);
    const workspace = project?.workspace ?? '';
    const able = capabilityFor(yield* pathRulesFor(tx, execution));
    const next = yield* this.#deps.presence.pick(tx, user_id, workspace, null, able);
    const other = next === runner_id ? null : (next ?? null);
    const from = other === null ? (runner?.instance ?? null) : null;
    return yield* this.#deps.signals.signalStored(
      tx,
      yield* passOn(tx, execution, execution.attempt + 1, other, from),
    );
  }

  *#end(
    tx: Transaction,
    execution: ExecutionRow,
    runnerId: string,
    code: 'RUNNER_LOST' | 'EXECUTION_CANCELLED',
  ): Unit<ExecutionRow> {
    const [status, action] =
      code === 'RUNNER_LOST' ? (['failed', 'runner_lost'] as const) : (['cancelled', 'cancelled'] as const);
    const now = this.#deps.store.now();
    const data = { runner: runnerId };
    return yield* endCall(tx, execution, status, new Refusal(code), now, `call.${action}`, data);
  }

  /**
   * At start, when no server was there: who waits for a runner counts anew, and a runner must come back within its
   * lease. When it does, it is told of its calls from the state, those that were being retried as well.
   */
  async resume(cameAt: number): Promise<void> {
    const { store, runners, runnerless } = this.#deps;
    const [connected] = await store.read((tx) => tx.silentRunners(Number.MAX_SAFE_INTEGER, 1));
    if (connected) await store.write((tx) => tx.hearRunners(cameAt, store.now()));
    const open = await store.read((tx) => tx.executionsIn(['approved', 'executing']));
    const awaited = new Set<string>();
    for (const execution of open) {
      if (execution.runner_id === null) await runnerless.resume(execution, cameAt);
      else awaited.add(runnerKey(execution.user_id, execution.runner_id));
    }
    for (const key of awaited) {
      const row = await store.read((tx) => tx.get('runners', key));
      if (!row) continue;
      const { runner_id: id, user_id: userId, workspace, capabilities } = row;
      const leaseMs = timing.runnerLeaseSeconds * 1000 - (store.now() - cameAt);
      runners.expect({ id, userId, workspace, capabilities }, leaseMs);
    }
  }
}
