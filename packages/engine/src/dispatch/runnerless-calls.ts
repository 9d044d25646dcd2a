import { isFinal, type Limits, timing, waitsForCommand } from '@countersign/protocol';
import { Deadlines } from '../approve/deadlines.ts';
import type { StoredPolicies } from '../approve/stored-policies.ts';
import { pathRulesFor } from '../claim/path-rules.ts';
import { commit, type Edges } from '../fault-points.ts';
import type { RunnerPresence } from '../nodes/runner-presence.ts';
import { progressEvent } from '../record/call-events.ts';
import { endCall } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import type { Reading, Transaction, Unit } from '../store.ts';

export interface RunnerlessCallsDeps extends Edges {
  readonly presence: RunnerPresence;
  readonly policies: StoredPolicies;
  readonly outcomes: Outcomes;
  /** Gives a call that nobody has to a runner that has come meanwhile, on whichever node. */
  readonly place: (execution: ExecutionRow) => Promise<void>;
}

/** What could not be written when its time came is tried again after this long. */
const TRY_AGAIN_MS = 5_000;

/** Calls that no runner has: the person is told which workspace to open, and after a while they end (EX-10). */
export class RunnerlessCalls {
  readonly #deps: RunnerlessCallsDeps;
  readonly #deadlines: Deadlines;

  constructor(deps: RunnerlessCallsDeps) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, (id) => {
      this.giveUp(id).catch((error: unknown) => {
        deps.onError(error);
        this.#deadlines.set(id, TRY_AGAIN_MS);
      });
    });
  }

  /** After the commit that left a call without a runner; any other call is none of ours. */
  watch(execution: ExecutionRow): void {
    if (execution.runner_id !== null || execution.due_at === null || isFinal(execution.status)) return;
    this.#deadlines.set(execution.id, execution.due_at - this.#deps.store.now());
    if (execution.status !== 'approved') return;
    this.#deps.place(execution).catch(this.#deps.onError);
    const { user_id: userId, project_id: projectId, id: toolId } = execution;
    this.#deps.bus.publish({ kind: 'unassigned', userId, projectId, toolId });
    this.#tellThatNobodyIsThere(execution).catch(this.#deps.onError);
  }

  /** When no server was there before we came: its time counts from then, and nobody is told again. */
  async resume({ id }: ExecutionRow, cameAt: number): Promise<void> {
    const { store, policies } = this.#deps;
    const due = await store.write(function* (tx): Unit<number | undefined> {
      const execution = yield* tx.get('tool_executions', id);
      if (!execution || execution.runner_id !== null || !isWithRunner(execution)) return undefined;
      const patience = timeoutMs(execution, policies.limits);
      // A clock that was set back gives nobody more than the full time.
      const due = Math.min(Math.max(execution.due_at ?? 0, cameAt + patience), store.now() + patience);
      yield* tx.update('tool_executions', id, { due_at: due });
      return due;
    });
    if (due !== undefined) this.#deadlines.set(id, due - store.now());
  }

  forget(toolId: string): void {
    this.#deadlines.clear(toolId);
  }

  close(): void {
    this.#deadlines.close();
  }

  /** Ends a call that nobody had for too long; the row says whether its time has come, whoever looks first. */
  async giveUp(toolId: string): Promise<void> {
    const ended = await commit(this.#deps, 'no_runner', (tx) => this.#end(tx, toolId));
    if (typeof ended === 'number') this.#deadlines.set(toolId, ended);
    else if (ended) this.#deps.outcomes.settled(ended, null, undefined);
  }

  *#end(tx: Transaction, toolId: string): Unit<ExecutionRow | number | undefined> {
    const now = this.#deps.store.now();
    const execution = yield* tx.get('tool_executions', toolId);
    if (!execution || execution.runner_id !== null || execution.due_at === null) return undefined;
    if (!isWithRunner(execution)) {
      yield* tx.update('tool_executions', toolId, { due_at: null });
      return undefined;
    }
    if (execution.due_at > now) return execution.due_at - now;
    const project = yield* tx.get('projects', execution.project_id);
    const error = endOfTold(execution) ?? (yield* this.#whyNobodyHasIt(tx, execution, project?.workspace));
    const status = error.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
    return yield* endCall(tx, execution, status, error, now, 'call.no_runner', { code: error.code });
  }

  /** No runner is connected; or those that are would not apply the person's rules on paths (RK-5). */
  *#whyNobodyHasIt(
    tx: Reading,
    execution: ExecutionRow,
    workspace: string | null | undefined,
  ): Unit<Refusal> {
    const values = { workspace: workspace ?? 'the workspace' };
    const isTouched = workspace && (yield* pathRulesFor(tx, execution)).length > 0;
    const isOutdated = isTouched && (yield* this.#deps.presence.isOutdated(tx, execution.user_id, workspace));
    return new Refusal(isOutdated ? 'RUNNER_OUTDATED' : 'NO_RUNNER', values);
  }

  async #tellThatNobodyIsThere(execution: ExecutionRow): Promise<void> {
    const { store, bus } = this.#deps;
    const calls = this;
    const { message } = await store.read(function* (tx) {
      const project = yield* tx.get('projects', execution.project_id);
      return yield* calls.#whyNobodyHasIt(tx, execution, project?.workspace);
    });
    const event = progressEvent(execution, { progress: null, message, output: null }, store.now());
    bus.publish({ kind: 'passing', userId: execution.user_id, projectId: execution.project_id, event });
  }
}

const isWithRunner = ({ status }: ExecutionRow): boolean => status === 'approved' || status === 'executing';

/** A plain listener that was told and said nothing: what is not harmless may have happened. */
function endOfTold({ status, risk_level, cancel_requested }: ExecutionRow): Refusal | undefined {
  if (status === 'executing' && risk_level !== 'LOW') return new Refusal('RUNNER_LOST');
  return cancel_requested ? new Refusal('EXECUTION_CANCELLED') : undefined;
}

/**
 * How long a call may be with nobody. A plain listener that was told sends no heartbeat: a command, and whatever is not
 * harmless, has the time of the longest command as well (EX-10, TL-3).
 */
export function timeoutMs({ status, risk_level, tool_name }: ExecutionRow, limits: Limits): number {
  const mayTakeLong = status === 'executing' && (risk_level !== 'LOW' || waitsForCommand(tool_name));
  const seconds = timing.runnerWaitSeconds + (mayTakeLong ? limits.commandTimeoutMaxSeconds : 0);
  return seconds * 1000;
}
