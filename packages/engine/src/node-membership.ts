import { CountersignError } from '@countersign/protocol';
import type { Clock } from './clock.ts';
import type { NodeRow } from './rows.ts';
import type { Store } from './store.ts';

/** How often a node says that it is there. */
const BEAT_MS = 2_000;
/** A node that was not heard for this long counts as dead: three beats. */
export const NODE_LEASE_MS = 6_000;

export interface NodeMembershipDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that share the database. */
  readonly node: string;
  readonly name: string;
  /** What its secret gives for a known text. */
  readonly keyCheck: string;
  readonly onError: (error: unknown) => void;
}

/**
 * Which server processes share the database (docs/decisions/0014). Where only one can have it open, nothing is written
 * and it is alone.
 */
export class NodeMembership {
  readonly #deps: NodeMembershipDeps;
  #startedAt = 0;
  #stopBeating: (() => void) | undefined;
  #closed = false;

  constructor(deps: NodeMembershipDeps) {
    this.#deps = deps;
  }

  /** Joins; answers whether another node seems to be there. One that signs tokens with another secret is refused. */
  async join(): Promise<{ readonly seemsAlone: boolean }> {
    const { store, node, name, keyCheck } = this.#deps;
    if (!store.isShared) return { seemsAlone: true };
    const now = store.now();
    this.#startedAt = now;
    // First said, then looked: of two that start at once, at least one sees the other.
    const row = { id: node, name, key_check: keyCheck, started_at: now, seen_at: now };
    await store.write((tx) => tx.insert('nodes', row));
    const others = await this.#others(now - NODE_LEASE_MS);
    if (others.some(({ key_check }) => key_check !== keyCheck)) {
      await this.leave();
      throw new CountersignError('USAGE', {
        problem:
          'Another server on this database signs tokens with another secret. Set authSecret (COUNTERSIGN_AUTH_SECRET) to the same text on every node',
        help: 'countersign serve --help',
      });
    }
    this.#scheduleBeat();
    return { seemsAlone: others.length === 0 };
  }

  /**
   * Whether those who seemed to be there were only not known to be dead yet. Undefined: it is too early to say; once
   * anybody has been heard since we came, somebody was there before us.
   */
  async wasAlone(): Promise<boolean | undefined> {
    const { store } = this.#deps;
    const others = await this.#others(store.now() - NODE_LEASE_MS);
    if (others.some(({ started_at, seen_at }) => started_at < this.#startedAt && seen_at > this.#startedAt))
      return false;
    return others.some(({ started_at }) => started_at < this.#startedAt) ? undefined : true;
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

  async #others(since: number): Promise<readonly NodeRow[]> {
    const { store, node } = this.#deps;
    return (await store.read((tx) => tx.liveNodes(since))).filter(({ id }) => id !== node);
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
