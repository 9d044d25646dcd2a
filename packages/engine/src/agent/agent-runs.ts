import { commit } from '../fault-points.ts';
import { newId } from '../ids.ts';
import { announceCall } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { MessageRow, ProjectRow, RunRow, SessionRow } from '../rows.ts';
import { StorageFull, type Transaction, type Unit } from '../store.ts';
import {
  type AgentDeps,
  defaultBudget,
  driveRun,
  type LiveRun,
  type RunBudget,
  timeExceeded,
} from './agent-loop.ts';
import { type Held, HeldRun, RENEW_MS, RunLeases, RunLost } from './held-run.ts';
import { messageCreatedEvent, stateEvent } from './messages.ts';
import { cancelLeftoverCalls, cancelOpenCalls, endRun, type RunEnding } from './run-ending.ts';

export interface AgentRunsDeps extends Omit<AgentDeps, 'budget' | 'stallMs'> {
  /** Names this process among those that share the database. */
  readonly node: string;
  /** True where only this server can open the database: then every run of the past is an orphan at start. */
  readonly isOnlyNode: boolean;
  readonly budget?: Partial<RunBudget>;
  readonly stallMs?: number;
}

/** A chat message that starts a run (AG-1). */
export interface StartRun {
  readonly caller: Pick<Caller, 'userId'>;
  readonly project: Pick<ProjectRow, 'id'>;
  readonly session: Pick<SessionRow, 'id'>;
  readonly content: string;
  /** `provider:model` or `manual`; the configured default when left out. */
  readonly model?: string | undefined;
}

export interface StartedRun {
  readonly run_id: string;
  readonly message_id: string;
  readonly session_id: string;
}

const ORPHANS_AT_ONCE = 50;
/** How often to look for calls that a dead node left open after it had ended their run. */
const LEFTOVERS_EVERY_TICKS = 3;
const STALL_MS = 300_000;
/** After this many failures in one step the run ends. Otherwise it would go on paying for model calls until its time is over. */
const MAX_FAILURES = 5;

/**
 * The agent's runs: started by a message, driven on one node at a time, resumed after a crash at the step they were
 * in, stopped at any moment (AG-1 to AG-3).
 */
export class AgentRuns {
  readonly #deps: AgentDeps & AgentRunsDeps;
  readonly #leases: RunLeases;
  readonly #live = new Map<string, { run: LiveRun; abort: AbortController; ended: Promise<void> }>();
  /** Runs that were leased to us but not driven when leases were last renewed. */
  #idle = new Set<string>();
  /** How often the current step of a running run has failed in the background. */
  readonly #failures = new Map<string, { readonly step: number; readonly count: number }>();
  readonly #unsubscribe: () => void;
  #ticks = 0;
  #stopTick: (() => void) | undefined;
  #closed = false;

  constructor(deps: AgentRunsDeps) {
    const { store, bus, onError, budget, stallMs = STALL_MS } = deps;
    this.#deps = { ...deps, budget: { ...defaultBudget, ...budget }, stallMs };
    this.#leases = new RunLeases(store, deps.node);
    this.#unsubscribe = bus.subscribe((hint) => {
      if (hint.kind === 'run') this.#look(hint.runId).catch(onError);
    });
  }

  /** Takes up the runs of an earlier process. Call it after `Engine.start`, before the first request. */
  async resume(): Promise<number> {
    await cancelLeftoverCalls(this.#deps);
    const taken = await this.#takeOrphans({ all: this.#deps.isOnlyNode });
    this.#scheduleTick();
    return taken;
  }

  /** Stores the message and sets the run going; resolves once that is committed. */
  async start({ caller, project, session, content, model }: StartRun): Promise<StartedRun> {
    const { store, models } = this.#deps;
    if (this.#closed) throw new Refusal('UNAVAILABLE', { problem: 'it is shutting down' });
    // Throws for a model that is not configured, before anything is stored.
    const name = models.find(model ?? models.defaultName).name;
    const lease = this.#leases.first(store.now());
    const place = { userId: caller.userId, projectId: project.id, sessionId: session.id };
    const { run, message } = await commit(this.#deps, 'run', (tx) =>
      storeNewRun(tx, { ...place, content, model: name, lease, now: store.now() }),
    );
    this.#drive(new HeldRun(store, run, 'thinking'));
    return { run_id: run.id, message_id: message.id, session_id: session.id };
  }

  /** Stops a run at any moment (AG-3). A run that has ended stays as it is. */
  async stop(caller: Caller, runId: string): Promise<RunRow> {
    const run = await this.get(caller, runId);
    if (run.status !== 'running') return run;
    return this.#end(runId, { status: 'stopped', by: caller.tokenId });
  }

  async get(caller: Pick<Caller, 'userId'>, runId: string): Promise<RunRow> {
    const run = await this.#deps.store.read((tx) => tx.get('runs', runId));
    if (run?.user_id !== caller.userId) throw notFound('run');
    return run;
  }

  /** The default model, and why it cannot be used, if so; front ends show both (AG-1). */
  model(): { readonly model: string; readonly problem: string | null } {
    const { models } = this.#deps;
    try {
      return { model: models.find(models.defaultName).name, problem: null };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { model: models.defaultName, problem: error.message };
    }
  }

  /** Resolves when no run of this node is under way: for tests, and for a shutdown that waits. */
  async whenIdle(): Promise<void> {
    while (this.#live.size > 0) await Promise.all([...this.#live.values()].map(({ ended }) => ended));
  }

  /** Releases every run without ending it: another node, or the next start, goes on with it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTick?.();
    this.#unsubscribe();
    const held = [...this.#live.values()];
    for (const { abort } of held) abort.abort(new RunLost('The server is shutting down.'));
    await Promise.all(held.map(({ ended }) => ended));
    await Promise.all(held.map(({ run }) => this.#leases.release(heldOf(run))));
    for (const { run } of held) this.#deps.bus.publish({ kind: 'run', runId: run.held.runId });
  }

  async #end(runId: string, ending: RunEnding): Promise<RunRow> {
    const { store } = this.#deps;
    const live = this.#live.get(runId);
    const known = await store.read((tx) => tx.get('runs', runId));
    if (!known) throw notFound('run');
    const { run, isNews } = await commit(this.#deps, 'stop', function* (tx) {
      const now = store.now();
      yield* tx.get('sessions', known.session_id); // sessions are locked before runs
      const seen = (yield* tx.get('runs', runId)) ?? known;
      return seen.status === 'running'
        ? { run: yield* endRun(tx, seen, ending, now, live?.run.draft), isNews: true }
        : { run: seen, isNews: false };
    });
    live?.abort.abort(new RunLost('The run has ended.'));
    if (isNews) {
      this.#deps.bus.publish({ kind: 'run', runId });
      const { message } = ending.status === 'stopped' ? new Refusal('RUN_STOPPED') : ending.error;
      await cancelOpenCalls(run, message, this.#deps);
    }
    return run;
  }

  /** Starts a held run in the background. */
  #drive(held: HeldRun): void {
    const { clock } = this.#deps;
    // If our own lease ended while the process was stalled, the old loop may store nothing any more.
    this.#live.get(held.runId)?.abort.abort(new RunLost());
    const abort = new AbortController();
    const run: LiveRun = { held, signal: abort.signal, draft: undefined, step: 0 };
    const timeLeft = held.createdAt + this.#deps.budget.milliseconds - this.#deps.store.now();
    const stopTimer = clock.after(Math.max(0, timeLeft), () => {
      const { code, message } = timeExceeded(this.#deps.budget);
      this.#end(held.runId, { status: 'failed', error: { code, message } }).catch(this.#deps.onError);
    });
    const ended = this.#run(run).finally(() => {
      stopTimer();
      if (this.#live.get(held.runId)?.run === run) this.#live.delete(held.runId);
    });
    this.#live.set(held.runId, { run, abort, ended });
  }

  async #run(live: LiveRun): Promise<void> {
    const left = this.#deps.observer?.drives(live.held);
    try {
      await this.#deps.reached?.('run.taken');
      await driveRun(live, this.#deps);
      this.#failures.delete(live.held.runId);
      left?.('ended');
    } catch (error) {
      // Not ours any more: the node that ended it, or has it now, does the rest.
      const isLost = error instanceof RunLost;
      left?.(isLost ? 'let_go' : { error });
      if (isLost) {
        this.#failures.delete(live.held.runId);
        return;
      }
      this.#deps.onError(error);
      await this.#restOrEnd(live, error).catch(this.#deps.onError); // else the next tick lets it rest
    }
  }

  /** After a failure in the background: parks the run, or ends it if it failed too often. */
  async #restOrEnd(live: LiveRun, cause: unknown): Promise<void> {
    const { onError } = this.#deps;
    const { step } = live;
    const { runId } = live.held;
    // Not this run's fault: it goes on when there is room.
    if (cause instanceof StorageFull) return this.#leases.park(heldOf(live));
    const before = this.#failures.get(runId);
    const count = before?.step === step ? before.count + 1 : 1;
    this.#failures.set(runId, { step, count });
    if (count < MAX_FAILURES) return this.#leases.park(heldOf(live));
    const error = new Refusal('INTERNAL', { request_id: runId });
    const run = await live.held.write(({ tx, run, now }) =>
      endRun(tx, run, { status: 'failed', error }, now, live.draft),
    );
    this.#failures.delete(runId);
    onError(new Error(`The run ${runId} has ended: it failed ${count} times.`, { cause }));
    await cancelOpenCalls(run, error.message, this.#deps);
  }

  /** Renews the leases of all runs that we drive, and stops driving those that are no longer ours. */
  async #keepLeases(): Promise<void> {
    const under = [...this.#live.values()];
    if (under.length === 0 && this.#idle.size === 0) return;
    const ours = new Map((await this.#leases.renewAll()).map((held) => [held.id, held]));
    for (const { run, abort } of under)
      if (ours.get(run.held.runId)?.epoch !== run.held.epoch) abort.abort(new RunLost());
    const idle = [...ours.values()].filter(({ id }) => !this.#live.has(id));
    // A run that was just stored is about to be driven. One that was idle at the last tick too has failed: park it.
    for (const held of idle) if (this.#idle.has(held.id)) await this.#leases.park(held);
    this.#idle = new Set(idle.map(({ id }) => id));
  }

  /** A hint: another node ended a run that we drive, or released one. */
  async #look(runId: string): Promise<void> {
    const { store } = this.#deps;
    if (this.#closed) return;
    const live = this.#live.get(runId);
    const run = await store.read((tx) => tx.get('runs', runId));
    if (live && (run?.status !== 'running' || run.epoch !== live.run.held.epoch))
      live.abort.abort(new RunLost());
    else if (!live && run?.status === 'running' && run.lease_owner === null)
      await this.#takeOrphans({ all: false });
  }

  async #takeOrphans({ all }: { all: boolean }): Promise<number> {
    // With `all`, the query would find the taken runs again, so take all of them at once.
    const limit = all ? Number.MAX_SAFE_INTEGER : ORPHANS_AT_ONCE;
    const taken = await this.#leases.takeOrphans({ all, limit });
    for (const run of taken) this.#drive(new HeldRun(this.#deps.store, run));
    return taken.length;
  }

  async #tick(): Promise<void> {
    const { store } = this.#deps;
    // Renew first: a process that was stalled must not take its own runs for orphans.
    await this.#keepLeases();
    await this.#takeOrphans({ all: false });
    this.#ticks += 1;
    if (store.isShared && this.#ticks % LEFTOVERS_EVERY_TICKS === 0) await cancelLeftoverCalls(this.#deps);
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    this.#stopTick = this.#deps.clock.after(RENEW_MS, () => {
      this.#tick()
        .catch(this.#deps.onError)
        .finally(() => this.#scheduleTick());
    });
  }
}

const heldOf = ({ held }: LiveRun): Held => ({ id: held.runId, epoch: held.epoch });

export interface NewRun {
  readonly userId: string;
  readonly projectId: string;
  readonly sessionId: string;
  readonly content: string;
  readonly model: string;
  readonly lease: Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'>;
  readonly now: number;
}

/** Inside a unit: the person's message and the run that it starts. One run at a time in a session. */
function* storeNewRun(
  tx: Transaction,
  { userId, projectId, sessionId, content, model, lease, now }: NewRun,
): Unit<{ readonly run: RunRow; readonly message: MessageRow }> {
  // The session's row is the lock: of two messages at once, one starts a run.
  const session = yield* tx.get('sessions', sessionId);
  if (session?.user_id !== userId || session.project_id !== projectId) throw notFound('session');
  if (yield* tx.activeRunOf(sessionId)) throw new Refusal('RUN_ACTIVE');
  const run: RunRow = {
    id: newId(now),
    user_id: userId,
    project_id: projectId,
    session_id: sessionId,
    model,
    status: 'running',
    step: 0,
    ...lease,
    input_tokens: 0,
    output_tokens: 0,
    error: null,
    created_at: now,
    ended_at: null,
  };
  const message: MessageRow = {
    id: newId(now),
    user_id: userId,
    session_id: sessionId,
    run_id: run.id,
    position: (yield* tx.lastPosition(sessionId)) + 1,
    role: 'user',
    content,
    tool_calls: null,
    tool_id: null,
    complete: true,
    created_at: now,
  };
  yield* tx.insert('runs', run);
  yield* tx.insert('messages', message);
  yield* tx.update('sessions', sessionId, {
    last_message_at: now,
    ...(session.title === '' && { title: titleOf(content) }),
  });
  const events = [
    messageCreatedEvent(message, run, now),
    stateEvent({ runId: run.id, projectId, sessionId }, 'thinking', now),
  ];
  announceCall(tx, run, events, 'run.started', { model, session_id: sessionId });
  return { run, message };
}

function titleOf(content: string): string {
  const line = content.trim().split('\n', 1)[0] ?? '';
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
