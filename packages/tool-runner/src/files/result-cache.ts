import type { BigIntStats } from 'node:fs';
import type { ToolSuccess } from '@countersign/protocol';
import { type RunnerClock, systemClock } from '../clock.ts';

export interface ResultCacheOptions {
  readonly enableCaching?: boolean;
  readonly cacheTtlMs?: number;
  /** Memory limit for all results together. The oldest results are dropped first. */
  readonly maxBytes?: number;
  readonly clock?: Pick<RunnerClock, 'now' | 'monotonic'>;
}

type CachedResult = ToolSuccess<'read_file'>;

/** With coarse timestamps, a file that changed this recently may change again without a new ctime: do not cache it. */
const SETTLED_AFTER_MS = 2_000;

/**
 * Caches results of read_file (EX-9) by the file's device, inode, size and ctime. Every change of a file changes its
 * ctime, which programs cannot set, so a cached result is never stale. The one exception is a write through a memory
 * map, which the kernel may notice late; the short TTL limits that.
 */
export class ResultCache {
  readonly #entries = new Map<string, Entry>();
  readonly #contents: ContentRing;
  readonly #options: Required<Omit<ResultCacheOptions, 'maxBytes'>>;

  constructor({
    enableCaching = true,
    cacheTtlMs = 60_000,
    maxBytes = 16 * 1024 * 1024,
    clock = systemClock,
  }: ResultCacheOptions = {}) {
    this.#options = { enableCaching, cacheTtlMs, clock };
    this.#contents = new ContentRing(maxBytes);
  }

  /** `request` identifies the requested range and encoding. */
  find(file: BigIntStats, request: string): CachedResult | undefined {
    const key = keyOf(file, request);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#options.clock.monotonic() - entry.storedAt < this.#options.cacheTtlMs)
      return { ...entry.result, content: this.#contents.read(entry.place) };
    this.#entries.delete(key);
    return undefined;
  }

  /** `file` has the stats from before the read, so that a change during the read leads to another key. */
  store(file: BigIntStats, request: string, result: CachedResult): void {
    const { enableCaching, cacheTtlMs, clock } = this.#options;
    const age = clock.now() - Number(file.ctimeNs / 1_000_000n);
    if (!enableCaching || cacheTtlMs <= 0 || age < SETTLED_AFTER_MS) return;
    const place = this.#contents.write(result.content, (overwrites) => {
      for (const [key, entry] of this.#entries) {
        if (!overwrites(entry.place)) break;
        this.#entries.delete(key);
      }
    });
    if (!place) return;
    const key = keyOf(file, request);
    this.#entries.delete(key); // setting it again moves it to the end, so that the oldest entries come first
    this.#entries.set(key, { result: { ...result, content: '' }, place, storedAt: clock.monotonic() });
  }

  clear(): void {
    this.#entries.clear();
    this.#contents.clear();
  }
}

interface Entry {
  readonly result: CachedResult;
  readonly place: Place;
  readonly storedAt: number;
}

interface Place {
  readonly start: number;
  readonly length: number;
}

/** Approximate memory of an entry without its content. */
const ENTRY_BYTES = 1_000;

/**
 * A ring buffer of texts: each is written after the previous one and overwrites the oldest. Strings that live for a
 * minute each would make the heap grow to a multiple of their size.
 */
class ContentRing {
  readonly #size: number;
  #bytes: Buffer | undefined;
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Returns undefined if the text is too large. Calls `forget` before it overwrites older texts. */
  write(text: string, forget: (overwrites: (place: Place) => boolean) => void): Place | undefined {
    const length = Buffer.byteLength(text);
    const space = length + ENTRY_BYTES;
    if (space > this.#size) return undefined;
    const wraps = this.#next + space > this.#size;
    const end = this.#next;
    const start = wraps ? 0 : end;
    forget(
      (place) =>
        (wraps && place.start >= end) ||
        (place.start < start + space && place.start + place.length + ENTRY_BYTES > start),
    );
    this.#bytes ??= Buffer.allocUnsafeSlow(this.#size);
    this.#bytes.write(text, start, 'utf8');
    this.#next = start + space;
    return { start, length };
  }

  read({ start, length }: Place): string {
    return this.#bytes?.toString('utf8', start, start + length) ?? '';
  }

  clear(): void {
    this.#bytes = undefined;
    this.#next = 0;
  }
}

const keyOf = ({ dev, ino, size, ctimeNs }: BigIntStats, request: string): string =>
  `${dev}:${ino}:${size}:${ctimeNs}:${request}`;
