import type { Progress } from '../executor.ts';
import { characterStart, wholeCharacters } from './utf8-boundary.ts';

type Stream = 'stdout' | 'stderr';

/** An event holds at most this many bytes of output (EV-2). */
const chunkBytes = 32 * 1024;
/** Output within this time is sent together. A command that ends sooner has only its result. */
const intervalMs = 100;

/**
 * Tells what a command prints while it runs: at most one chunk of each stream in an interval, no character split. When
 * more is printed than that, the older part is left out and the chunk says so; the result has its own bounds.
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

  /** The rest, if anybody has seen the beginning. */
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
