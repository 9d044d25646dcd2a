import type { BigIntStats } from 'node:fs';
import type { ToolSuccess } from '@countersign/protocol';
import { type RunnerClock, systemClock } from '../clock.ts';

export interface ResultCacheOptions {
  readonly enableCaching?: boolean;
  readonly cacheTtlMs?: number;
  /** The most that all results together may hold in memory; the oldest go first. */
  readonly maxBytes?: number;
  readonly clock?: Pick<RunnerClock, 'now' | 'monotonic'>;
}

type CachedResult = ToolSuccess<'read_file'>;

/** A file that was changed this short a time ago may change again without its ctime moving: clocks are coarse. */
const SETTLED_AFTER_MS = 2_000;

/**
 * Results of read_file (EX-9). An entry belongs to one state of one file: device, inode, size and ctime, asked of
 * the opened descriptor each time. Whatever changes a file moves its ctime, which no program can set; so a
 * result that is found is never stale. (Only a program that writes through a memory map may be seen late, by as
 * long as the kernel takes to notice: hence the short TTL.)
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

  /** `question` is everything besides the file that the answer depends on. */
  find(file: BigIntStats, question: string): CachedResult | undefined {
    const key = keyOf(file, question);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#options.clock.monotonic() - entry.storedAt < this.#options.cacheTtlMs)
      return { ...entry.result, content: this.#contents.read(entry.place) };
    this.#entries.delete(key);
    return undefined;
  }

  /** `file` as it was before it was read: a change during the read makes another key. */
  store(file: BigIntStats, question: string, result: CachedResult): void {
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
    const key = keyOf(file, question);
    this.#entries.delete(key); // so that the oldest stay in front
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

/** What an entry costs besides its content, more or less. */
const ENTRY_BYTES = 1_000;

/**
 * Texts in one piece of memory, each written behind the one before it and over the oldest. As strings, which live for
 * a minute each, they would make the heap grow to a multiple of what is kept.
 */
class ContentRing {
  readonly #size: number;
  #bytes: Buffer | undefined;
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Undefined where it never fits. `forget` is called before others, the oldest first, are overwritten. */
  write(text: string, forget: (overwrites: (place: Place) => boolean) => void): Place | undefined {
    const length = Buffer.byteLength(text);
    const space = length + ENTRY_BYTES;
    if (space > this.#size) return undefined;
    const turnsRound = this.#next + space > this.#size;
    const end = this.#next;
    const start = turnsRound ? 0 : end;
    forget(
      (place) =>
        (turnsRound && place.start >= end) ||
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

const keyOf = ({ dev, ino, size, ctimeNs }: BigIntStats, question: string): string =>
  `${dev}:${ino}:${size}:${ctimeNs}:${question}`;
