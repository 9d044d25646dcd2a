import { type RunnerCapability, runnerCapabilities, timing } from '@countersign/protocol';
import {
  type ConnectedRunner,
  type RunnerRegistry,
  runnerChangedEvents,
  runnerKey,
} from '../dispatch/runners.ts';
import type { Edges } from '../engine-parts.ts';
import { commit } from '../fault-points.ts';
import { Refusal } from '../refusal.ts';
import type { RunnerRow } from '../rows.ts';
import { getAll, type Reading, type RunnerChange, type Transaction, type Unit } from '../store.ts';
import { NODE_LEASE_MS } from './node-membership.ts';

const LEASE_MS = timing.runnerLeaseSeconds * 1000;
/** A live runner is heard within this time, whatever the database's clock does. */
const HEARTBEAT_MS = timing.runnerHeartbeatSeconds * 1000 + 1_000;
const SILENT_AT_ONCE = 500;

export interface RunnerPresenceDeps extends Edges {
  readonly runners: RunnerRegistry;
  readonly node: string;
}

/**
 * Runners as the database knows them, so that every node can give calls to a runner of any node (docs/decisions/0014).
 * Written when a stream opens or closes and every few seconds, never for a call.
 */
export class RunnerPresence {
  readonly #deps: RunnerPresenceDeps;
  /** Runners that were not heard for a while, and since when by our monotonic clock. */
  #silent = new Map<string, { readonly seenAt: number; readonly since: number }>();

  constructor(deps: RunnerPresenceDeps) {
    this.#deps = deps;
  }

  /**
   * Inside a unit: picks the runner for a call in a workspace. Reads the database only if this node does not know a
   * suitable one. The runner must have the capability `able`.
   */
  *pick(
    tx: Reading,
    userId: string,
    workspace: string,
    preferred: string | null,
    able?: RunnerCapability,
  ): Unit<string | undefined> {
    const { store, runners } = this.#deps;
    const known = runners.pick(userId, workspace, preferred, able)?.id;
    if (!store.isShared || (known !== undefined && (preferred === null || known === preferred))) return known;
    const present =
      able === undefined
        ? yield* tx.presentRunners(userId, workspace, store.now() - LEASE_MS)
        : (yield* this.#presentIn(tx, userId, workspace)).flatMap((row) =>
            row.capabilities.includes(able) ? row.runner_id : [],
          );
    if (preferred !== null && present.includes(preferred)) return preferred;
    return known ?? present[0];
  }

  /** Inside a unit: whether a runner that previews is connected for this workspace, to any node (AP-7). */
  *previews(tx: Reading, userId: string, workspace: string): Unit<boolean> {
    const { preview } = runnerCapabilities;
    if (this.#deps.runners.pick(userId, workspace, null, preview)) return true;
    const present = yield* this.#presentIn(tx, userId, workspace);
    return present.some(({ capabilities }) => capabilities.includes(preview));
  }

  /** Inside a unit: whether a runner applies the person's path rules to its disk (RK-5, VA-8). */
  *knowsPathRules(tx: Reading, userId: string, runnerId: string): Unit<boolean> {
    const known =
      this.#deps.runners.find(userId, runnerId) ??
      (yield* tx.runnersOf(userId)).find(({ runner_id }) => runner_id === runnerId);
    return known?.capabilities.includes(runnerCapabilities.pathRules) ?? false;
  }

  /** Inside a unit: whether all connected runners of this workspace are too old for path rules. */
  *isOutdated(tx: Reading, userId: string, workspace: string): Unit<boolean> {
    const present = yield* this.#presentIn(tx, userId, workspace);
    return (
      present.length > 0 &&
      present.every(({ capabilities }) => !capabilities.includes(runnerCapabilities.pathRules))
    );
  }

  *#presentIn(tx: Reading, userId: string, workspace: string): Unit<readonly RunnerRow[]> {
    const rows = yield* tx.runnersOf(userId);
    return rows.filter((row) => row.workspace === workspace && this.isPresent(row));
  }

  /** Whether a runner is connected: this node holds its lease, or another node heard it in time. */
  isPresent({ user_id, runner_id, connected, last_seen_at }: RunnerRow): boolean {
    const { runners, store } = this.#deps;
    if (runners.find(user_id, runner_id)) return true;
    return connected && last_seen_at > store.now() - LEASE_MS;
  }

  /** Refuses a program if another one with the same runner id has a stream on another node (0006). */
  async requireFree(runner: ConnectedRunner): Promise<void> {
    const { store } = this.#deps;
    if (store.isShared) await store.read((tx) => this.#refuseIfTaken(tx, runner));
  }

  *#refuseIfTaken(tx: Reading, { userId, id, instance }: ConnectedRunner): Unit<void> {
    const { store, node } = this.#deps;
    if (!store.isShared) return;
    const row = yield* tx.get('runners', runnerKey(userId, id));
    if (!row?.stream || row.node === node || row.instance === (instance ?? null)) return;
    // The streams of a dead node are gone.
    const live = yield* tx.liveNodes(store.now() - NODE_LEASE_MS);
    if (live.some((other) => other.id === row.node)) throw new Refusal('RUNNER_CONNECTED', { runner: id });
  }

  /** Records that a runner opened a stream on this node. */
  async connected(runner: ConnectedRunner, stream: string): Promise<void> {
    const presence = this;
    const { node } = this.#deps;
    const isNew = await commit(this.#deps, 'runner', function* (tx): Unit<boolean> {
      yield* presence.#refuseIfTaken(tx, runner);
      const before = yield* tx.get('runners', runnerKey(runner.userId, runner.id));
      yield* presence.#storeRow(tx, runner, 'connected', { node, stream, instance: runner.instance ?? null });
      return !before?.connected || before.workspace !== runner.workspace;
    });
    this.#tellOthers(runner, isNew ? 'connected' : undefined);
  }

  /** Records that a runner's stream ended. The runner may reconnect within its lease, to any node. */
  async streamEnded({ userId, id }: ConnectedRunner, stream: string): Promise<void> {
    await this.#deps.store.write(function* (tx) {
      const row = yield* tx.get('runners', runnerKey(userId, id));
      if (row?.stream === stream) yield* tx.update('runners', row.id, { node: null, stream: null });
    });
  }

  /** Gives up a runner whose lease seems over. If another node heard it, returns the milliseconds left. */
  async giveUp(runner: ConnectedRunner): Promise<number | undefined> {
    const presence = this;
    const { store } = this.#deps;
    let isGivenUp = false;
    const left = await commit(this.#deps, 'runner', function* (tx): Unit<number | undefined> {
      const row = yield* tx.get('runners', runnerKey(runner.userId, runner.id));
      const leaseMs = LEASE_MS - (store.now() - (row?.last_seen_at ?? 0));
      if (row?.connected && leaseMs > 0) return leaseMs;
      isGivenUp = row?.connected === true;
      if (isGivenUp) yield* presence.#storeRow(tx, runner, 'disconnected', { node: null, stream: null });
      return undefined;
    });
    if (left === undefined) this.#tellOthers(runner, isGivenUp ? 'disconnected' : undefined);
    return left;
  }

  /**
   * Runners of all people whose lease is over. The database's clock may jump, so a row must also have been unchanged for
   * longer than a heartbeat by our own monotonic clock (docs/decisions/0014).
   */
  async findSilent(): Promise<readonly RunnerRow[]> {
    const { store, clock } = this.#deps;
    const now = store.now();
    const monotonic = clock.monotonic();
    // Start watching early, so that the lease can end in time.
    const rows = await store.read((tx) => tx.silentRunners(now - LEASE_MS / 2, SILENT_AT_ONCE));
    const quiet = new Map<string, { readonly seenAt: number; readonly since: number }>();
    for (const { id, last_seen_at: seenAt } of rows) {
      const before = this.#silent.get(id);
      quiet.set(id, before?.seenAt === seenAt ? before : { seenAt, since: monotonic });
    }
    this.#silent = quiet;
    return rows.filter(
      ({ id, last_seen_at }) =>
        last_seen_at <= now - LEASE_MS && monotonic - (quiet.get(id)?.since ?? monotonic) >= HEARTBEAT_MS,
    );
  }

  /** Stores when this node last heard its runners, for the other nodes. */
  async storeLastSeen(): Promise<void> {
    const { store, runners } = this.#deps;
    const signs = runners.takeUnstored();
    if (signs.length === 0) return;
    await store.write(function* (tx) {
      const now = store.now();
      for (const { userId, runnerId, ageMs } of signs) {
        const row = yield* tx.get('runners', runnerKey(userId, runnerId));
        const last_seen_at = Math.floor(now - ageMs);
        if (row && row.last_seen_at < last_seen_at) yield* tx.update('runners', row.id, { last_seen_at });
      }
    });
  }

  async rowsOf(
    runners: readonly { readonly userId: string; readonly runnerId: string }[],
  ): Promise<readonly RunnerRow[]> {
    if (runners.length === 0) return [];
    const keys = runners.map(({ userId, runnerId }) => runnerKey(userId, runnerId));
    return this.#deps.store.read((tx) => getAll(tx, 'runners', keys));
  }

  /** Writes the runner's row and announces the change in each project that it serves. */
  *#storeRow(
    tx: Transaction,
    { userId, id: runner_id, workspace, capabilities }: ConnectedRunner,
    state: 'connected' | 'disconnected',
    more: Partial<RunnerRow>,
  ): Unit<void> {
    const now = this.#deps.store.now();
    const row = {
      workspace,
      capabilities,
      connected: state === 'connected',
      ...(state === 'connected' && { last_seen_at: now }),
      ...more,
    };
    const key = runnerKey(userId, runner_id);
    if (!(yield* tx.update('runners', key, row)))
      yield* tx.insert('runners', {
        id: key,
        runner_id,
        user_id: userId,
        last_seen_at: now,
        instance: null,
        node: null,
        stream: null,
        ...row,
        custom_tools: [],
        limits: {},
        policy: {},
      });
    tx.announce(userId, {
      events: yield* runnerChangedEvents(tx, { ...row, user_id: userId, runner_id }, now),
      audit: [{ action: `runner.${state}`, subject: runner_id, data: { workspace } }],
    });
  }

  #tellOthers({ userId, id, workspace }: ConnectedRunner, state?: RunnerChange['state']): void {
    const change = state && { state, workspace };
    this.#deps.bus.publish({ kind: 'runner', userId, runnerId: id, ...(change && { change }) });
  }
}
