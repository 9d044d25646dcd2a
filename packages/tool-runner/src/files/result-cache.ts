import type { BigIntStats } from 'node:fs';
import { type RunnerClock, systemClock } from '../clock.ts';
import type { ToolResult } from '../executor.ts';

export interface ResultCacheOptions {
  readonly enableCaching?: boolean;
  readonly cacheTtlMs?: number;
  /** The most that all results together may hold in memory; the ones not used for longest go first. */
  readonly maxBytes?: number;
  readonly clock?: Pick<RunnerClock, 'now' | 'monotonic'>;
}

/** A file that was changed this short a time ago may change again without its ctime moving: clocks are coarse. */
const SETTLED_AFTER_MS = 2_000;
/** What an entry costs besides its content. */
const ENTRY_BYTES = 1_000;

/**
 * Results of read_file (EX-9). An entry belongs to one state of one file: device, inode, size and ctime, asked of
 * the opened descriptor each time. Whatever changes a file moves its ctime, which no program can set; so a
 * result that is found is never stale. (Only a program that writes through a memory map may be seen late, by as
 * long as the kernel takes to notice: hence the short TTL.)
 */
export class ResultCache {
  readonly #entries = new Map<string, { result: ToolResult; bytes: number; storedAt: number }>();
  readonly #options: Required<ResultCacheOptions>;
  #bytes = 0;

  constructor({
    enableCaching = true,
    cacheTtlMs = 60_000,
    maxBytes = 16 * 1024 * 1024,
    clock = systemClock,
  }: ResultCacheOptions = {}) {
    this.#options = { enableCaching, cacheTtlMs, maxBytes, clock };
  }

  /** `question` is everything besides the file that the answer depends on. */
  find(file: BigIntStats, question: string): ToolResult | undefined {
    const key = keyOf(file, question);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#remove(key);
    if (this.#options.clock.monotonic() - entry.storedAt >= this.#options.cacheTtlMs) return undefined;
    this.#insert(key, entry); // behind the others: it was used last
    return entry.result;
  }

  /** `file` as it was before it was read: a change during the read makes another key. */
  store(file: BigIntStats, question: string, result: ToolResult & { readonly content: string }): void {
    const { enableCaching, cacheTtlMs, maxBytes, clock } = this.#options;
    const age = clock.now() - Number(file.ctimeNs / 1_000_000n);
    if (!enableCaching || cacheTtlMs <= 0 || age < SETTLED_AFTER_MS) return;
    const bytes = ENTRY_BYTES + 2 * result.content.length;
    if (bytes > maxBytes) return;
    const key = keyOf(file, question);
    this.#remove(key);
    this.#insert(key, { result, bytes, storedAt: clock.monotonic() });
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= maxBytes) break;
      this.#remove(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  /** Never more than `maxBytes`. */
  get bytes(): number {
    return this.#bytes;
  }

  #insert(key: string, entry: { result: ToolResult; bytes: number; storedAt: number }): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

const keyOf = ({ dev, ino, size, ctimeNs }: BigIntStats, question: string): string =>
  `${dev}:${ino}:${size}:${ctimeNs}:${question}`;
