import type { Progress } from '../executor.ts';
import { cutOffLength } from '../files/utf8-check.ts';

/** Keeps the output of one stream (TL-3). Output beyond the limit is reduced to its head and its tail, half each. */
export class KeptOutput {
  readonly #half: number;
  readonly #limit: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
    this.#half = Math.floor(limitBytes / 2);
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#half - this.#headBytes;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    this.#dropOld();
  }

  /** Drops chunks that the tail does not need any more, and joins many small chunks into one. */
  #dropOld(): void {
    const wanted = this.#limit - this.#half;
    let oldest = this.#tail[0];
    while (oldest && this.#tailBytes - oldest.length >= wanted) {
      this.#tail.shift();
      this.#tailBytes -= oldest.length;
      oldest = this.#tail[0];
    }
    if (this.#tail.length > 1_024) this.#tail = [Buffer.concat(this.#tail)];
  }

  get isCut(): boolean {
    return this.#total > this.#limit;
  }

  /** Returns the output so far. If it was cut, a line in the middle tells how much. */
  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (!this.isCut) return Buffer.concat([head, tail]).toString('utf8');
    const headEnd = wholeCharacters(head);
    const tailStart = characterStart(tail, tail.length - (this.#limit - this.#half));
    const cut = this.#total - headEnd - (tail.length - tailStart);
    return `${head.toString('utf8', 0, headEnd)}\n[${cut} bytes of output were cut here]\n${tail.toString('utf8', tailStart)}`;
  }
}

type Stream = 'stdout' | 'stderr';

/** Maximum output in one event (EV-2). */
const chunkBytes = 32 * 1024;
/** Output is collected for this long before it is reported. A command that ends sooner reports only its result. */
const intervalMs = 100;

/**
 * Reports a command's output while it runs: at most one chunk of each stream per interval, without splitting a character.
 * If there is more output, the older part is left out and the chunk says so. The result has its own limits.
 */
export class OutputProgress {
  readonly #report: (progress: Progress) => void;
  readonly #waiting: Record<Stream, { bytes: Buffer; dropped: number }> = {
    stdout: { bytes: Buffer.alloc(0), dropped: 0 },
    stderr: { bytes: Buffer.alloc(0), dropped: 0 },
  };
  #timer: NodeJS.Timeout | undefined;
  #hasReported = false;

  constructor(report: (progress: Progress) => void) {
    this.#report = report;
  }

  push(stream: Stream, chunk: Buffer): void {
    const waiting = this.#waiting[stream];
    const all = Buffer.concat([waiting.bytes, chunk]);
    const start = all.length > chunkBytes ? characterStart(all, all.length - chunkBytes + noteBytes) : 0;
    waiting.dropped += start;
    waiting.bytes = all.subarray(start);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tell(wholeCharacters);
    }, intervalMs);
  }

  /** Reports the rest, but only if output was reported before. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#hasReported) this.#tell((bytes) => bytes.length);
  }

  #tell(endOf: (bytes: Uint8Array) => number): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const waiting = this.#waiting[stream];
      const end = endOf(waiting.bytes);
      if (end === 0) continue;
      const note = waiting.dropped > 0 ? `[${waiting.dropped} bytes left out here]\n` : '';
      const chunk = note + waiting.bytes.toString('utf8', 0, end);
      this.#waiting[stream] = { bytes: waiting.bytes.subarray(end), dropped: 0 };
      this.#hasReported = true;
      this.#report({ output: { stream, chunk } });
    }
  }
}

/** Room for the line that says how much was left out. */
const noteBytes = 64;

/** Returns the length without an incomplete UTF-8 character at the end. */
const wholeCharacters = (bytes: Uint8Array): number => bytes.length - cutOffLength(bytes);

/** Returns the first position at or after `start` that begins a UTF-8 character. */
function characterStart(bytes: Uint8Array, start: number): number {
  let cut = start;
  while (cut < bytes.length && cut - start < 3 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut += 1;
  return cut;
}
