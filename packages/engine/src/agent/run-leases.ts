import type { RunRow } from '../rows.ts';
import type { Store } from '../store.ts';

/** A run belongs to the node that last renewed its lease; after this it is an orphan. */
const LEASE_MS = 30_000;
/** How often a lease is renewed. */
export const RENEW_MS = 5_000;

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
    return store.write(function* (tx) {
      const now = store.now();
      const taken: RunRow[] = [];
      for (const run of yield* tx.orphanedRuns(all ? Number.MAX_SAFE_INTEGER : now, limit)) {
        const lease = { epoch: run.epoch + 1, lease_owner: node, lease_until: now + LEASE_MS };
        yield* tx.update('runs', run.id, lease);
        taken.push({ ...run, ...lease });
      }
      return taken;
    });
  }

  /** Answers whether the run is still ours; then it stays so. */
  async renew(runId: string, epoch: number): Promise<boolean> {
    const store = this.#store;
    return store.write(function* (tx) {
      const run = yield* tx.get('runs', runId);
      if (run?.status !== 'running' || run.epoch !== epoch) return false;
      yield* tx.update('runs', runId, { lease_until: store.now() + LEASE_MS });
      return true;
    });
  }

  /** Gives a run back, so that another node need not wait for the lease to end. */
  async release(runId: string, epoch: number): Promise<void> {
    await this.#store.write(function* (tx) {
      const run = yield* tx.get('runs', runId);
      if (run?.status === 'running' && run.epoch === epoch) {
        yield* tx.update('runs', runId, { lease_owner: null, lease_until: null });
      }
    });
  }
}
