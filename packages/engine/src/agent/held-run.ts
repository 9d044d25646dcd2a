import { announceCall } from '../record/announcements.ts';
import type { MessageRow, RunRow } from '../rows.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';
import { type AgentState, messageCreatedEvent, type RunPlace, stateEvent } from './messages.ts';

/** Thrown when the run is no longer ours: it was stopped, has ended, or another node took it over. Nothing was stored. */
export class RunLost extends Error {
  override readonly name = 'RunLost';
}

type NewMessage = Pick<MessageRow, 'id' | 'role' | 'content'> &
  Partial<Pick<MessageRow, 'tool_calls' | 'tool_id' | 'complete'>>;

/** Passed to each unit that writes for a held run. */
export interface HeldUnit {
  readonly tx: Transaction;
  readonly run: RunRow;
  readonly now: number;
  /** Writes a message at the end of the conversation and announces it. It is complete unless the caller says otherwise. */
  add(message: NewMessage): Unit<void>;
  announce(message: MessageRow): void;
}

/**
 * A run that this node drives. All its writes go through here: each unit first checks that the run is still running and
 * the epoch still ours, so that a node that was thought dead stores nothing (AG-2).
 */
export class HeldRun implements RunPlace {
  readonly runId: string;
  readonly userId: string;
  readonly projectId: string;
  readonly sessionId: string;
  readonly epoch: number;
  readonly createdAt: number;
  readonly #store: Store;
  /** The state that this node announced last; undefined right after a run was taken over. */
  #state: AgentState | undefined;

  constructor(store: Store, run: RunRow, state?: AgentState) {
    this.#store = store;
    this.runId = run.id;
    this.userId = run.user_id;
    this.projectId = run.project_id;
    this.sessionId = run.session_id;
    this.epoch = run.epoch;
    this.createdAt = run.created_at;
    this.#state = state;
  }

  /**
   * Throws `RunLost` when the run is not ours any more. `state`, which may depend on what the unit returns, is announced
   * unless clients know it already.
   */
  async write<T>(
    unit: (held: HeldUnit) => Unit<T>,
    { state: stateAfter }: { state?: AgentState | ((done: T) => AgentState) } = {},
  ): Promise<T> {
    const place = this;
    const store = this.#store;
    const known = this.#state;
    const { done, state } = await store.write(function* (tx) {
      const now = store.now();
      // Lock order: session, run, everything else. The session lock also keeps message positions unique.
      yield* tx.get('sessions', place.sessionId);
      const run = yield* requireHeld(tx, place);
      const done = yield* unit(heldUnit(tx, run, now));
      const state = typeof stateAfter === 'function' ? stateAfter(done) : stateAfter;
      if (state !== undefined && state !== known) announceCall(tx, run, [stateEvent(run, state, now)]);
      return { done, state };
    });
    if (state !== undefined) this.#state = state;
    return done;
  }

  /** Announces what the agent is doing, unless clients know it already. */
  async announceState(state: AgentState): Promise<void> {
    if (state !== this.#state) await this.write(function* () {}, { state });
  }
}

/** A run's row, inside a unit. Throws `RunLost` when it has ended or belongs to a later epoch. */
export function* requireHeld(
  tx: Reading,
  { runId, epoch }: { readonly runId: string; readonly epoch: number },
): Unit<RunRow> {
  const run = yield* tx.get('runs', runId);
  if (run?.status !== 'running' || run.epoch !== epoch) throw new RunLost();
  return run;
}

/** The unit must have locked the run's row. */
export function heldUnit(tx: Transaction, run: RunRow, now: number): HeldUnit {
  const announce = (message: MessageRow) => announceCall(tx, run, [messageCreatedEvent(message, run, now)]);
  return {
    tx,
    run,
    now,
    announce,
    *add(message) {
      const row: MessageRow = {
        tool_calls: null,
        tool_id: null,
        complete: true,
        ...message,
        user_id: run.user_id,
        session_id: run.session_id,
        run_id: run.id,
        position: (yield* tx.lastPosition(run.session_id)) + 1,
        created_at: now,
        rewound_at: null,
      };
      yield* tx.insert('messages', row);
      announce(row);
    },
  };
}

/** A run whose lease was not renewed for this long is an orphan. */
const LEASE_MS = 5_000;
/** How often leases are renewed. A dead node's runs continue after at most LEASE_MS + RENEW_MS. */
export const RENEW_MS = 1_500;
/** A run that failed in the background is resumed after this long. */
const RETRY_FAILED_RUN_MS = 30_000;
/** A lease that lasts longer means that the clock went back. */
export const LONGEST_LEASE_MS = RETRY_FAILED_RUN_MS;

export interface Held {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Which node drives which run: a lease in the run's row, renewed while the node lives, and an epoch that is raised
 * whenever the run is taken over (AG-2).
 */
export class RunLeases {
  readonly #store: Store;
  readonly #node: string;

  constructor(store: Store, node: string) {
    this.#store = store;
    this.#node = node;
  }

  /** The lease columns of a new run. */
  first(now: number): Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'> {
    return { epoch: 1, lease_owner: this.#node, lease_until: now + LEASE_MS };
  }

  /**
   * Takes over runs that no node holds. `all` takes every running run, whatever its lease says: at the start of a
   * server that alone can open the database, no other node is alive.
   */
  async takeOrphans({ all, limit }: { all: boolean; limit: number }): Promise<readonly RunRow[]> {
    const node = this.#node;
    const store = this.#store;
    // First look without locks, because there is nearly never an orphan.
    const until = () => (all ? Number.MAX_SAFE_INTEGER : store.now());
    if ((await store.read((tx) => tx.orphanedRuns(until(), 1))).length === 0) return [];
    return store.write(function* (tx) {
      const now = store.now();
      const taken: RunRow[] = [];
      for (const run of yield* tx.orphanedRuns(until(), limit)) {
        const lease = { epoch: run.epoch + 1, lease_owner: node, lease_until: now + LEASE_MS };
        yield* tx.update('runs', run.id, lease);
        taken.push({ ...run, ...lease });
      }
      return taken;
    });
  }

  /** Renews the leases of all our runs in one statement, and returns those runs. */
  renewAll(): Promise<readonly Held[]> {
    const store = this.#store;
    return store.write((tx) => tx.renewLeases(this.#node, store.now() + LEASE_MS));
  }

  /** Releases a run, so that another node need not wait for its lease to end. */
  release(held: Held): Promise<void> {
    return this.#setLease(held, { lease_owner: null, lease_until: null });
  }

  /** Parks a run that failed here: any node takes it up again after a while. */
  park(held: Held): Promise<void> {
    const lease_until = this.#store.now() + RETRY_FAILED_RUN_MS;
    return this.#setLease(held, { lease_owner: `parked by ${this.#node}`, lease_until });
  }

  async #setLease({ id, epoch }: Held, lease: Pick<RunRow, 'lease_owner' | 'lease_until'>): Promise<void> {
    await this.#store.write(function* (tx) {
      const run = yield* tx.get('runs', id);
      if (run?.status === 'running' && run.epoch === epoch) yield* tx.update('runs', id, lease);
    });
  }
}
