import { characterStart, wholeCharacters } from './utf8-boundary.ts';

/**
 * What is kept of one stream (TL-3): all of it up to the limit, else its head and its tail, half each. However much a
 * program prints, no more memory than that is used.
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

  /** Whole chunks go as soon as the tail is full without them; small ones are joined so that they do not add up. */
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
