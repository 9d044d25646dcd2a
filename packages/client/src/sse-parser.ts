import { maxEventBytes } from '@countersign/protocol';

/** One block of an event stream, up to its blank line. */
export interface SseFrame {
  /** "message" if the server gave no name. */
  readonly name: string;
  /** Undefined for a block that only has an id. */
  readonly data: string | undefined;
  /** Set only if this block has its own id. */
  readonly id: string | undefined;
}

/** Our events have at most `maxEventBytes`. A far larger block means a broken stream, which must not fill the memory. */
const maxBlockCharacters = 16 * maxEventBytes;

/**
 * Parses `text/event-stream` by the HTML standard. Chunks may be cut anywhere, even inside a character or between CR and
 * LF. Use one parser for each connection: an unfinished block at its end is dropped.
 */
export class SseParser {
  /** The reconnection delay that the server asked for. */
  retryMs: number | undefined;

  // We remove the byte order mark ourselves, because with Node it depends on where the chunks are cut.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #atStart = true;
  readonly #lineEnd = /\r\n|\r|\n/g;
  #unfinishedLine = '';
  #endedWithCr = false;

  #name = '';
  #data: string[] = [];
  #id: string | undefined;
  #size = 0;

  /** Returns the blocks that this chunk completes. Throws if a block grows too large. */
  push(chunk: Uint8Array): SseFrame[] {
    const text = this.#decode(chunk);
    if (text === '') return [];

    const frames: SseFrame[] = [];
    // A CR at the end of a chunk has ended its line, so that an event never waits for the next chunk. Skip its LF.
    let start = this.#endedWithCr && text.startsWith('\n') ? 1 : 0;
    this.#endedWithCr = text.endsWith('\r');
    this.#lineEnd.lastIndex = start;
    for (let end = this.#lineEnd.exec(text); end !== null; end = this.#lineEnd.exec(text)) {
      const line = this.#unfinishedLine + text.slice(start, end.index);
      this.#unfinishedLine = '';
      start = this.#lineEnd.lastIndex;
      if (line !== '') this.#takeLine(line);
      else frames.push(...this.#finishBlock());
    }
    this.#unfinishedLine += text.slice(start);
    this.#checkBlockSize();
    return frames;
  }

  #decode(chunk: Uint8Array): string {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (!this.#atStart || text === '') return text;
    this.#atStart = false;
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  }

  #takeLine(line: string): void {
    this.#size += line.length;
    this.#checkBlockSize();
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment: the heartbeat
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);

    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
  }

  #finishBlock(): SseFrame[] {
    const data = this.#data.length === 0 ? undefined : this.#data.join('\n');
    const frame = { name: this.#name || 'message', data, id: this.#id };
    this.#name = '';
    this.#data = [];
    this.#id = undefined;
    this.#size = 0;
    return frame.data === undefined && frame.id === undefined ? [] : [frame];
  }

  #checkBlockSize(): void {
    if (this.#size + this.#unfinishedLine.length <= maxBlockCharacters) return;
    throw new Error(`an event has more than ${maxBlockCharacters} characters`);
  }
}
