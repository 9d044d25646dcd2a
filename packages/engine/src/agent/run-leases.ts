import type { RunRow } from '../rows.ts';
import type { Store } from '../store.ts';

/** A run belongs to the node that last renewed its lease; after this it is an orphan. */
const LEASE_MS = 5_000;
/** How often leases are renewed and orphans looked for: a dead node's runs go on after at most the sum of both. */
export const RENEW_MS = 1_500;
/** A run that failed in the background is resumed after this long. */
const PARKED_MS = 30_000;
/** Whoever finds a lease that lasts longer looks at a clock that was set back. */
export const LONGEST_LEASE_MS = PARKED_MS;

/** A run as it is held: by whom is known. */
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

  /** What a new run's row starts with. */
  first(now: number): Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'> {
    return { epoch: 1, lease_owner: this.#node, lease_until: now + LEASE_MS };
  }

  /**
   * Takes over runs that nobody holds. `all` is for a store that only one server can open: at its start no other
   * node is alive, whatever the leases say.
   */
  async takeOrphans({ all, limit }: { all: boolean; limit: number }): Promise<readonly RunRow[]> {
    const node = this.#node;
    const store = this.#store;
    // Nearly always there is none: then nothing is locked.
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

  /** Renews the lease of every run that is ours, in one statement; answers which those are. */
  renewAll(): Promise<readonly Held[]> {
    const store = this.#store;
    return store.write((tx) => tx.renewLeases(this.#node, store.now() + LEASE_MS));
  }

  /** Gives a run back, so that another node need not wait for the lease to end. */
  async release({ id, epoch }: Held): Promise<void> {
    await this.#store.write(function* (tx) {
      const run = yield* tx.get('runs', id);
      if (run?.status === 'running' && run.epoch === epoch) {
        yield* tx.update('runs', id, { lease_owner: null, lease_until: null });
      }
    });
  }

  /** Lets a run rest that could not go on here: whoever is there takes it up again after a while. */
  async park({ id, epoch }: Held): Promise<void> {
    const store = this.#store;
    const lease_owner = `parked by ${this.#node}`;
    await store.write(function* (tx) {
      const run = yield* tx.get('runs', id);
      if (run?.status === 'running' && run.epoch === epoch)
        yield* tx.update('runs', id, { lease_owner, lease_until: store.now() + PARKED_MS });
    });
  }
}
