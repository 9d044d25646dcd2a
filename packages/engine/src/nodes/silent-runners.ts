import { timing } from '@countersign/protocol';
import type { Clock } from '../clock.ts';
import type { RunnerRow } from '../rows.ts';
import type { Store } from '../store.ts';

const LEASE_MS = timing.runnerLeaseSeconds * 1000;
/** One that lives gives a sign within this time, whatever the database's clock does meanwhile. */
const HEARTBEAT_MS = timing.runnerHeartbeatSeconds * 1000 + 1_000;
const LOOKED_AT = 500;

/**
 * Runners of everybody whose lease seems to be over. The database's clock may jump, so it is not believed alone: a row
 * must also have stood unchanged for longer than a heartbeat, by our own monotonic clock (docs/decisions/0014).
 */
export class SilentRunners {
  readonly #store: Store;
  readonly #clock: Clock;
  #watched = new Map<string, { readonly seenAt: number; readonly since: number }>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Looked for every few seconds; answers with those that may be given up. */
  async find(): Promise<readonly RunnerRow[]> {
    const now = this.#store.now();
    const monotonic = this.#clock.monotonic();
    // Watched long before their time, so that it need not be waited for then.
    const quiet = await this.#store.read((tx) => tx.silentRunners(now - LEASE_MS / 2, LOOKED_AT));
    const watched = new Map<string, { readonly seenAt: number; readonly since: number }>();
    for (const { id, last_seen_at: seenAt } of quiet) {
      const before = this.#watched.get(id);
      watched.set(id, before?.seenAt === seenAt ? before : { seenAt, since: monotonic });
    }
    this.#watched = watched;
    return quiet.filter(
      ({ id, last_seen_at }) =>
        last_seen_at <= now - LEASE_MS && monotonic - (watched.get(id)?.since ?? monotonic) >= HEARTBEAT_MS,
    );
  }
}
