import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { newId, type StorageFull, type Store } from '@countersign/engine';
import { storageFull } from './storage-failure.ts';

/** How often to check by itself whether there is room again. */
const PROBE_EVERY_MS = 5_000;
/** Shortest time between two checks, however often `check` is called. */
const PROBE_AT_MOST_EVERY_MS = 500;
/** Size of the test write. */
const PROBE_BYTES = 64 * 1024;
/** On a disk with less than this, one small write may succeed and the next one fail. */
const ROOM_BYTES = 1024 * 1024;

export interface StorageHealthOptions {
  /** The database file; undefined on PostgreSQL and in memory. */
  readonly path: string | undefined;
  readonly onFull: (problem: StorageFull) => void;
  readonly onRoom: () => void;
}

/**
 * Whether the storage has room. It counts as full from the first write that fails, until our own test write succeeds:
 * other writes may be small enough to fit by luck. Each change is reported once.
 */
export class StorageHealth {
  readonly #store: Pick<Store, 'write' | 'now'>;
  readonly #options: StorageHealthOptions;
  #problem: StorageFull | undefined;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(store: Pick<Store, 'write' | 'now'>, options: StorageHealthOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** A write failed because the storage is full. */
  failed(problem: StorageFull): void {
    if (this.#stopped) return;
    const isNews = this.#problem === undefined;
    this.#problem = problem;
    if (!isNews) return;
    this.#probedAt = performance.now();
    this.#options.onFull(problem);
    this.#schedule();
  }

  /** Returns undefined if there is room. If the storage was full, checks it again. */
  async check(): Promise<StorageFull | undefined> {
    if (this.#problem === undefined) return undefined;
    const isDue = performance.now() - this.#probedAt >= PROBE_AT_MOST_EVERY_MS;
    if (isDue)
      this.#probing ??= this.#probe().finally(() => {
        this.#probing = undefined;
      });
    await this.#probing;
    return this.#problem;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #probe(): Promise<void> {
    this.#probedAt = performance.now();
    try {
      await this.#requireRoom();
      await writeProbe(this.#store);
    } catch (error) {
      // Another failure, such as an unreachable database, says nothing about its room.
      this.#problem = storageFull(error) ?? this.#problem;
      return;
    }
    this.#problem = undefined;
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#options.onRoom();
  }

  async #requireRoom(): Promise<void> {
    const { path } = this.#options;
    if (path === undefined) return;
    const { bavail, bsize } = await statfs(path);
    const left = bavail * bsize;
    if (left < ROOM_BYTES)
      throw Object.assign(new Error(`the disk has ${left} bytes left`), { code: 'ENOSPC' });
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      void this.check().then((problem) => {
        if (problem !== undefined && !this.#stopped) this.#schedule();
      });
    }, PROBE_EVERY_MS);
    this.#timer.unref();
  }
}

/** Writes the row of a node that never existed; the next sweep removes it. */
function writeProbe(store: Pick<Store, 'write' | 'now'>): Promise<void> {
  const name = randomBytes((PROBE_BYTES * 3) / 4).toString('base64'); // random, so that no database can compress it
  const row = { id: newId(), name, key_check: '', started_at: store.now(), ready: false, seen_at: 0 };
  return store.write((tx) => tx.insert('nodes', row));
}
