import { CountersignError } from '@countersign/protocol';
import { LONGEST_LEASE_MS } from '../agent/held-run.ts';
import type { Edges } from '../engine-parts.ts';
import type { NodeRow } from '../rows.ts';

/** How often a node updates its row. */
const BEAT_MS = 2_000;
/** After three missed beats a node counts as dead. */
export const NODE_LEASE_MS = 6_000;

export interface NodeMembershipDeps extends Edges {
  readonly node: string;
  readonly name: string;
  readonly keyCheck: string;
}

/** The server processes that share the database (docs/decisions/0014). Writes nothing if it is not shared. */
export class NodeMembership {
  readonly #deps: NodeMembershipDeps;
  /** When this node started, by the database's clock. */
  startedAt = 0;
  #stopBeating: (() => void) | undefined;
  #closed = false;

  constructor(deps: NodeMembershipDeps) {
    this.#deps = deps;
  }

  /** Joins. Throws if a running node signs tokens with another secret. */
  async join(): Promise<void> {
    const { store, node, name, keyCheck } = this.#deps;
    const now = store.now();
    this.startedAt = now;
    if (!store.isShared) return;
    // Write first, then read: of two nodes that start at once, at least one sees the other.
    const row = { id: node, name, key_check: keyCheck, started_at: now, ready: false, seen_at: now };
    await store.write(function* (tx) {
      yield* tx.insert('nodes', row);
      // If the clock was set back, dead nodes must not seem alive until it has caught up. Live nodes update their rows again.
      yield* tx.capNodesSeenAt(now);
      yield* tx.capRunLeases(now + LONGEST_LEASE_MS);
    });
    if ((await this.#otherLiveNodes()).some(({ key_check }) => key_check !== keyCheck)) {
      await this.leave();
      throw new CountersignError('USAGE', {
        problem:
          'Another server on this database signs tokens with another secret. Set authSecret (COUNTERSIGN_AUTH_SECRET) to the same text on every node',
        help: 'countersign serve --help',
      });
    }
    this.#scheduleBeat();
  }

  /**
   * Whether no other node was running when this one started, so that this one must watch all deadlines. Undefined while
   * that is unknown: nodes that seem alive may be dead, and nodes that started just before us may not be ready yet. A
   * ready node that was heard after our start was running.
   */
  async wasAlone(): Promise<boolean | undefined> {
    if (!this.#deps.store.isShared) return true;
    const before = (await this.#otherLiveNodes()).filter(
      ({ started_at, id }) =>
        started_at < this.startedAt || (started_at === this.startedAt && id < this.#deps.node),
    );
    if (before.some(({ ready, seen_at }) => ready && seen_at > this.startedAt)) return false;
    return before.length === 0 ? true : undefined;
  }

  /** Marks this node as ready: nodes that start later need not wait. */
  async ready(): Promise<void> {
    const { store, node } = this.#deps;
    if (store.isShared && !this.#closed) await store.write((tx) => tx.update('nodes', node, { ready: true }));
  }

  /** Marks this node as gone, so that others do not wait for it. Leaving twice is harmless. */
  async leave(): Promise<void> {
    const { store, node } = this.#deps;
    if (this.#closed) return;
    this.stop();
    if (!store.isShared) return;
    await store.write((tx) => tx.update('nodes', node, { seen_at: 0 }));
  }

  /** Stops without marking the node as gone, like a process that dies. */
  stop(): void {
    this.#closed = true;
    this.#stopBeating?.();
  }

  async #otherLiveNodes(): Promise<readonly NodeRow[]> {
    const { store, node } = this.#deps;
    const live = await store.read((tx) => tx.liveNodes(store.now() - NODE_LEASE_MS));
    return live.filter(({ id }) => id !== node);
  }

  #scheduleBeat(): void {
    if (this.#closed) return;
    const { store, clock, node, onError } = this.#deps;
    this.#stopBeating = clock.after(BEAT_MS, () => {
      store
        .write((tx) => tx.update('nodes', node, { seen_at: store.now() }))
        .catch(onError)
        .finally(() => this.#scheduleBeat());
    });
  }
}
