import { commit } from '../fault-points.ts';
import { newId } from '../ids.ts';
import { announceCall } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ProjectRow, RunRow, SessionRow } from '../rows.ts';
import { StorageFull, type Transaction, type Unit } from '../store.ts';
import {
  type AgentDeps,
  defaultBudget,
  driveRun,
  type LiveRun,
  type RunBudget,
  timeExceeded,
} from './agent-loop.ts';
import { type Held, HeldRun, heldUnit, RENEW_MS, RunLeases, RunLost } from './held-run.ts';
import { announceQueue, enqueue, takeQueue, withQueued } from './message-queue.ts';
import { stateEvent } from './messages.ts';
import { cancelLeftoverCalls, cancelOpenCalls, endRun, type RunEnding } from './run-ending.ts';

export interface AgentRunsDeps extends Omit<AgentDeps, 'budget' | 'stallMs'> {
  /** Names this process among those that share the database. */
  readonly node: string;
  /** True if only this server can open the database: at start, no other node can be driving a run. */
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
  /** What to do with the message while a run is under way; `refuse` by default (AG-5). */
  readonly whenBusy?: 'refuse' | 'queue' | 'send_now';
}

export interface SentMessage {
  readonly run_id: string;
  readonly message_id: string;
  readonly session_id: string;
  readonly queued: boolean;
}

/** A stored message: it started this run, waits in its queue, or was sent to the agent earlier. */
interface Stored {
  readonly run: RunRow;
  readonly messageId: string;
  readonly state: 'started' | 'queued' | 'sent_before';
}

const ORPHANS_AT_ONCE = 50;
/** How often to look for calls that a dead node left open after it had ended their run. */
const LEFTOVERS_EVERY_TICKS = 3;
const STALL_MS = 300_000;
/** A run ends after this many failures in one step, so that it does not pay for model calls without end. */
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
  /** How often the current step of each run has failed. */
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
  async resume(): Promise<void> {
    await cancelLeftoverCalls(this.#deps);
    await this.#takeOrphans({ all: this.#deps.isOnlyNode });
    this.#scheduleTick();
  }

  /** Stores the message and starts a run, or queues the message for the run under way. Resolves after the commit. */
  async start({
    caller,
    project,
    session,
    content,
    model,
    whenBusy = 'refuse',
  }: StartRun): Promise<SentMessage> {
    const { store } = this.#deps;
    const name = this.#modelNamed(model);
    const lease = this.#leases.first(store.now());
    const stored = await commit(this.#deps, 'run', function* (tx): Unit<Stored> {
      const now = store.now();
      // Lock the session's row, so that only one of two concurrent messages starts a run.
      const row = yield* tx.get('sessions', session.id);
      if (row?.user_id !== caller.userId || row.project_id !== project.id || row.deleted_at !== null)
        throw notFound('session');
      const active = yield* tx.activeRunOf(row.id);
      if (active) {
        if (whenBusy === 'refuse') throw new Refusal('RUN_ACTIVE');
        const { id } = yield* enqueue(tx, row, { content, model: model ?? null, when_busy: whenBusy }, now);
        return { run: active, messageId: id, state: 'queued' };
      }
      const messageId = newId(now);
      // Messages that a stopped run left in the queue come before this one.
      const run = yield* storeNewRun(tx, row, {
        messageId,
        content,
        model: name,
        lease,
        now,
        takesQueue: true,
      });
      return { run, messageId, state: 'started' };
    });
    return this.#sent(stored);
  }

  /**
   * Sends a queued message to the agent now (AG-5): the current step ends after its running calls, or the message starts
   * a run. Other queued messages wait for the next step.
   */
  async sendQueued(caller: Caller, messageId: string): Promise<SentMessage> {
    const { store } = this.#deps;
    const row = await store.read((tx) => tx.get('queued_messages', messageId));
    const isOwn = row?.user_id === caller.userId; // the unit refuses another person's message
    const name = this.#modelNamed((isOwn && row.model) || undefined);
    const lease = this.#leases.first(store.now());
    const stored = await withQueued(
      this.#deps,
      caller,
      messageId,
      function* (tx, found, session): Unit<Stored> {
        const now = store.now();
        if ('sent' in found) {
          // The answer to an earlier request was lost: give it again.
          const run = yield* tx.get('runs', found.sent.runId);
          if (!run) throw new Refusal('MESSAGE_SENT');
          return { run, messageId, state: 'sent_before' };
        }
        const active = yield* tx.activeRunOf(session.id);
        if (active) {
          yield* tx.update('queued_messages', messageId, { when_busy: 'send_now' });
          announceQueue(tx, active, yield* tx.queuedMessagesOf(session.id), now);
          return { run: active, messageId, state: 'queued' };
        }
        yield* tx.remove('queued_messages', messageId);
        announceQueue(tx, found.queued, yield* tx.queuedMessagesOf(session.id), now);
        const { content } = found.queued;
        const run = yield* storeNewRun(tx, session, { messageId, content, model: name, lease, now });
        return { run, messageId, state: 'started' };
      },
    );
    return this.#sent(stored);
  }

  /** Throws for a model that is not configured, before anything is stored. */
  #modelNamed(name: string | undefined): string {
    const { models } = this.#deps;
    if (this.#closed) throw new Refusal('UNAVAILABLE', { problem: 'it is shutting down' });
    return models.find(name ?? models.defaultName).name;
  }

  #sent({ run, messageId, state }: Stored): SentMessage {
    if (state === 'started') this.#drive(new HeldRun(this.#deps.store, run, 'thinking'));
    const { id: run_id, session_id } = run;
    return { run_id, message_id: messageId, session_id, queued: state === 'queued' };
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

  /** The default model, and the reason if it cannot be used. Front ends show both (AG-1). */
  model(): { readonly model: string; readonly problem: string | null } {
    const { models } = this.#deps;
    try {
      return { model: models.find(models.defaultName).name, problem: null };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { model: models.defaultName, problem: error.message };
    }
  }

  /** For tests: resolves when this node drives no run. */
  async whenIdle(): Promise<void> {
    while (this.#live.size > 0) await Promise.all([...this.#live.values()].map(({ ended }) => ended));
  }

  /** Releases every run without ending it: another node, or the next start, continues it. */
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
    // If our own lease ended while the process was stalled, stop the old loop: it must not store anything more.
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
      // The run is no longer ours. The node that ended it or holds it now does the rest.
      const isLost = error instanceof RunLost;
      left?.(isLost ? 'let_go' : { error });
      if (isLost) {
        this.#failures.delete(live.held.runId);
        return;
      }
      this.#deps.onError(error);
      await this.#parkOrEnd(live, error).catch(this.#deps.onError); // if this fails, the next tick parks the run
    }
  }

  /** After a failure in the background: parks the run, or ends it if it failed too often. */
  async #parkOrEnd(live: LiveRun, cause: unknown): Promise<void> {
    const { onError } = this.#deps;
    const { step } = live;
    const { runId } = live.held;
    // Full storage is not the run's fault, so this failure does not count.
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
    // A run that was just stored is idle for a moment. A run that was also idle at the last tick has failed: park it.
    for (const held of idle) if (this.#idle.has(held.id)) await this.#leases.park(held);
    this.#idle = new Set(idle.map(({ id }) => id));
  }

  /** Handles the hint that another node ended or released a run. */
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

  async #takeOrphans({ all }: { all: boolean }): Promise<void> {
    // With `all`, the query would find the taken runs again, so take all of them at once.
    const limit = all ? Number.MAX_SAFE_INTEGER : ORPHANS_AT_ONCE;
    for (const run of await this.#leases.takeOrphans({ all, limit }))
      this.#drive(new HeldRun(this.#deps.store, run));
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

interface NewRun {
  readonly messageId: string;
  readonly content: string;
  readonly model: string;
  readonly lease: Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'>;
  readonly now: number;
  /** The queued messages come before the one that starts the run. */
  readonly takesQueue?: boolean;
}

/** Inside a unit that has locked the session, which has no run: the person's message and the run that it starts. */
function* storeNewRun(
  tx: Transaction,
  session: SessionRow,
  { messageId, content, model, lease, now, takesQueue = false }: NewRun,
): Unit<RunRow> {
  const { id: session_id, user_id, project_id } = session;
  const run: RunRow = {
    id: newId(now),
    user_id,
    project_id,
    session_id,
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
  yield* tx.insert('runs', run);
  const unit = heldUnit(tx, run, now);
  if (takesQueue) yield* takeQueue(unit);
  yield* unit.add({ id: messageId, role: 'user', content });
  yield* tx.update('sessions', session_id, {
    last_message_at: now,
    ...(session.title === '' && { title: titleOf(content) }),
  });
  announceCall(tx, run, [stateEvent(run, 'thinking', now)], 'run.started', { model, session_id });
  return run;
}

function titleOf(content: string): string {
  const line = content.trim().split('\n', 1)[0] ?? '';
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
