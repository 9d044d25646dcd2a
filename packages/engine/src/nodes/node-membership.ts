import { CountersignError } from '@countersign/protocol';
import { LONGEST_LEASE_MS } from '../agent/held-run.ts';
import type { Edges } from '../engine-parts.ts';
import type { NodeRow } from '../rows.ts';

/** How often a node says that it is there. */
const BEAT_MS = 2_000;
/** A node that was not heard for this long counts as dead: three beats. */
export const NODE_LEASE_MS = 6_000;

export interface NodeMembershipDeps extends Edges {
  /** Names this process among those that share the database. */
  readonly node: string;
  readonly name: string;
  /** What its secret gives for a known text. */
  readonly keyCheck: string;
}

/**
 * Which server processes share the database (docs/decisions/0014). Where only one can have it open, nothing is written
 * and it is alone.
 */
export class NodeMembership {
  readonly #deps: NodeMembershipDeps;
  /** By the database's clock. */
  #startedAt = 0;
  #stopBeating: (() => void) | undefined;
  #closed = false;

  constructor(deps: NodeMembershipDeps) {
    this.#deps = deps;
  }

  /** Joins. One that signs tokens with another secret than those who are there is refused. */
  async join(): Promise<void> {
    const { store, node, name, keyCheck } = this.#deps;
    const now = store.now();
    this.#startedAt = now;
    if (!store.isShared) return;
    // First said, then looked: of two that start at once, at least one sees the other.
    const row = { id: node, name, key_check: keyCheck, started_at: now, ready: false, seen_at: now };
    await store.write(function* (tx) {
      yield* tx.insert('nodes', row);
      // Whose clock was set back since: who is dead must not seem to live until it has caught up. Who lives says so again.
      yield* tx.hearNodes(now);
      yield* tx.shortenLeases(now + LONGEST_LEASE_MS);
    });
    if ((await this.#others()).some(({ key_check }) => key_check !== keyCheck)) {
      await this.leave();
      throw new CountersignError('USAGE', {
        problem:
          'Another server on this database signs tokens with another secret. Set authSecret (COUNTERSIGN_AUTH_SECRET) to the same text on every node',
        help: 'countersign serve --help',
      });
    }
    this.#scheduleBeat();
  }

  /** When we came. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /**
   * Whether nobody was there when we came: then all that was waited for is ours to wait for. Undefined: it is too early
   * to say. Those who seem to be there may be dead, and those who came just before us are not ready themselves; once one
   * that is ready has been heard since, it was there.
   */
  async wasAlone(): Promise<boolean | undefined> {
    if (!this.#deps.store.isShared) return true;
    const before = (await this.#others()).filter(
      ({ started_at, id }) =>
        started_at < this.#startedAt || (started_at === this.#startedAt && id < this.#deps.node),
    );
    if (before.some(({ ready, seen_at }) => ready && seen_at > this.#startedAt)) return false;
    return before.length === 0 ? true : undefined;
  }

  /** From now on, who comes later need not wait for anybody else. */
  async ready(): Promise<void> {
    const { store, node } = this.#deps;
    if (store.isShared && !this.#closed) await store.write((tx) => tx.update('nodes', node, { ready: true }));
  }

  /** Says that this node is gone, so that nobody waits for it. Leaving twice is harmless. */
  async leave(): Promise<void> {
    const { store, node } = this.#deps;
    if (this.#closed) return;
    this.#closed = true;
    this.#stopBeating?.();
    if (!store.isShared) return;
    await store.write((tx) => tx.update('nodes', node, { seen_at: 0 }));
  }

  /** As a process that dies does: nothing is said. */
  stop(): void {
    this.#closed = true;
    this.#stopBeating?.();
  }

  /** Those that were heard lately. */
  async #others(): Promise<readonly NodeRow[]> {
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
