import type { Progress } from '../executor.ts';

/**
 * Keeps the output of one stream (TL-3): all of it up to the limit, else its head and its tail, half each. It uses no
 * more memory than that, however much a program prints.
 */
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

  /** Drops whole chunks that the tail does not need any more; joins many small chunks into one. */
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

  /** The text so far, with a line in the middle that says what was cut. */
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

/** An event holds at most this many bytes of output (EV-2). */
const chunkBytes = 32 * 1024;
/** Output of one interval is reported together. A command that ends sooner is reported by its result alone. */
const intervalMs = 100;

/**
 * Reports what a command prints while it runs: at most one chunk of each stream in an interval, without splitting a
 * character. If more is printed, the older part is left out and the chunk says so; the result has its own limits.
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

  /** Reports the rest, if something was reported before. */
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

/** How many bytes are whole UTF-8 characters: excludes a character at the end that is not complete yet. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The first position from `start` on that begins a character. */
function characterStart(bytes: Uint8Array, start: number): number {
  let cut = start;
  while (cut < bytes.length && cut - start < 3 && isContinuation(bytes[cut])) cut += 1;
  return cut;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
