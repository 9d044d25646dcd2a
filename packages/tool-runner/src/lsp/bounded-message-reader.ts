import type { Readable } from 'node:stream';
import { AbstractMessageReader, type DataCallback, type Disposable, type Message } from 'vscode-jsonrpc/node';

const HEADER_BYTES = 4_096;
/** Maximum size of a message: far more than thousands of references need. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
/** If more messages than this arrive in one chunk, reading pauses until they have been handled. */
const MESSAGES_AT_ONCE = 50;

/**
 * Splits a language server's output into messages. The server is not trusted, so unlike the library's own reader this
 * one keeps at most one message of a bounded size, and reads no faster than messages are handled. After the first error
 * it reads nothing more.
 */
export class BoundedMessageReader extends AbstractMessageReader {
  readonly #input: Readable;
  readonly #onMessage: () => void;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Length of the body that is being read, once its header is known. */
  #expected: number | undefined;
  #stopped = false;

  /** `onMessage` is called for each message, before it is handled. */
  constructor(input: Readable, onMessage: () => void) {
    super();
    this.#input = input;
    this.#onMessage = onMessage;
  }

  listen(callback: DataCallback): Disposable {
    this.#input.on('data', (chunk: Buffer) => this.#read(chunk, callback));
    this.#input.once('end', () => this.fireClose());
    return { dispose: () => this.dispose() };
  }

  /** Further output is read and discarded, so that the server never blocks. */
  override dispose(): void {
    super.dispose();
    this.#stopped = true;
    this.#chunks = [];
    this.#input.resume();
  }

  #read(chunk: Buffer, callback: DataCallback): void {
    if (this.#stopped) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    let messages = 0;
    try {
      for (let message = this.#next(); message !== undefined; message = this.#next()) {
        messages += 1;
        this.#onMessage();
        handOver(message, callback);
      }
    } catch (error) {
      this.#stopped = true;
      this.#chunks = [];
      this.fireError(error);
      return;
    }
    if (messages > MESSAGES_AT_ONCE) this.#pauseFor(messages);
  }

  /** Pauses the input for that many turns of the event loop; the connection handles one message in each turn. */
  #pauseFor(turns: number): void {
    this.#input.pause();
    const countDown = (left: number) => {
      if (left === 0) this.#input.resume();
      else setImmediate(countDown, left - 1);
    };
    countDown(turns);
  }

  #next(): Message | undefined {
    this.#expected ??= this.#header();
    if (this.#expected === undefined || this.#size < this.#expected) return undefined;
    const body = this.#take(this.#expected);
    this.#expected = undefined;
    try {
      return JSON.parse(body.toString('utf8')) as Message;
    } catch (cause) {
      throw new Error('it sent a message that is not JSON', { cause });
    }
  }

  #header(): number | undefined {
    if (this.#size === 0) return undefined;
    const all = this.#join();
    const end = all.subarray(0, HEADER_BYTES).indexOf('\r\n\r\n');
    if (end === -1) {
      if (all.length >= HEADER_BYTES) throw new Error('its output is not the language server protocol');
      return undefined;
    }
    const length = /^content-length: *(\d{1,12})$/im.exec(
      all.toString('latin1', 0, end).replaceAll('\r\n', '\n'),
    )?.[1];
    if (length === undefined) throw new Error('it sent a message with no Content-Length');
    if (Number(length) > MESSAGE_BYTES) throw new Error(`it sent a message of ${length} bytes`);
    this.#take(end + 4);
    return Number(length);
  }

  #take(bytes: number): Buffer {
    const all = this.#join();
    const rest = all.subarray(bytes);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return all.subarray(0, bytes);
  }

  #join(): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

/** The library assumes some fields and throws if they are missing: then the server is at fault. */
function handOver(message: Message, callback: DataCallback): void {
  try {
    callback(message);
  } catch (cause) {
    throw new Error('it sent a message that makes no sense', { cause });
  }
}
