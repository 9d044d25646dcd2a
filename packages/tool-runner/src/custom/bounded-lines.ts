import type { Readable } from 'node:stream';

/** A result with the largest picture that we keep is far smaller. */
const LINE_BYTES = 8 * 1024 * 1024;
/** More than this many in one turn of the loop, and the writer waits. */
const LINES_AT_ONCE = 100;
/** So many may come at once; then so many a second. Who says more than that has nothing to say. */
const BURST = 2_000;
const LINES_PER_SECOND = 500;

export interface LineListener {
  onLine(line: string): void;
  /** The first error is the last thing that is read. */
  onError(problem: string): void;
  onEnd(): void;
}

/**
 * Cuts what a tool server writes into lines. It never keeps more than one line of a bounded size, reads no faster than
 * lines are handled, and gives up on a server that floods: a server is not trusted.
 */
export class BoundedLines {
  readonly #input: Readable;
  readonly #listener: LineListener;
  #chunks: Buffer[] = [];
  #size = 0;
  #allowance = BURST;
  #countedAt = performance.now();
  #isStopped = false;

  constructor(input: Readable, listener: LineListener) {
    this.#input = input;
    this.#listener = listener;
    input.on('data', (chunk: Buffer) => this.#read(chunk));
    input.once('end', () => listener.onEnd());
    input.on('error', () => {}); // it ends as well then
  }

  /** What comes later is thrown away: its writer must not hang on that nobody reads it. */
  stop(): void {
    this.#isStopped = true;
    this.#chunks = [];
    this.#size = 0;
    this.#input.resume();
  }

  #read(chunk: Buffer): void {
    if (this.#isStopped) return;
    const lines: string[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      lines.push(this.#take(rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    this.#chunks.push(rest);
    this.#size += rest.length;
    if (this.#size > LINE_BYTES) this.#fail(`it wrote a line of more than ${LINE_BYTES} bytes`);
    else if (!this.#isWithinRate(lines.length)) this.#fail('it floods us with messages');
    else this.#handOver(lines);
  }

  #handOver(lines: readonly string[]): void {
    for (const line of lines.slice(0, LINES_AT_ONCE)) if (!this.#isStopped) this.#listener.onLine(line);
    const rest = lines.slice(LINES_AT_ONCE);
    if (rest.length === 0 || this.#isStopped) {
      this.#input.resume();
      return;
    }
    this.#input.pause(); // nothing overtakes the rest
    setImmediate(() => this.#handOver(rest));
  }

  #take(last: Buffer): string {
    const line = Buffer.concat([...this.#chunks, last]).toString('utf8');
    this.#chunks = [];
    this.#size = 0;
    return line;
  }

  #isWithinRate(lines: number): boolean {
    const now = performance.now();
    const gained = ((now - this.#countedAt) / 1_000) * LINES_PER_SECOND;
    this.#countedAt = now;
    this.#allowance = Math.min(BURST, this.#allowance + gained) - lines;
    return this.#allowance >= 0;
  }

  #fail(problem: string): void {
    this.stop();
    this.#listener.onError(problem);
  }
}
