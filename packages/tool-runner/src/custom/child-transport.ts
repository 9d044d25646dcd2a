import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { KeptOutput } from '../commands/command-output.ts';
import { plantedNotes } from '../commands/run-to-end.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';

const KEPT_ERROR_BYTES = 16 * 1024;
/** Some servers greet on standard output; one that only chats does not speak the protocol. */
const MAX_OTHER_LINES = 1_000;
/** Of what we say to it; the parameters of a call are far smaller. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/**
 * MCP over the pipes of an isolated process: each message is a line. However it ends, the process and all it started
 * are ended with it.
 */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  readonly #starter: IsolatingStarter;
  readonly #request: ProcessRequest;
  readonly #standardError = new KeptOutput(KEPT_ERROR_BYTES);
  #child: ChildProcess | undefined;
  #lines: BoundedLines | undefined;
  #otherLines = 0;
  #problem: string | undefined;
  #ended: Promise<void> | undefined;

  constructor(starter: IsolatingStarter, request: ProcessRequest) {
    this.#starter = starter;
    this.#request = request;
  }

  /** The end of what it wrote on standard error, and on standard output beside the protocol. */
  get lastWords(): string {
    return this.#standardError.text();
  }

  /** Why it is over; undefined while it is not, or when we ended it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What it left where it would execute later (VA-3); known once `close` has resolved. */
  get planted(): readonly string[] {
    return this.#child ? plantedNotes(this.#starter.planted(this.#child)) : [];
  }

  async start(): Promise<void> {
    const child = this.#starter.start(this.#request);
    this.#child = child;
    const { stdin, stdout, stderr } = child;
    if (!stdin || !stdout || !stderr) throw new TypeError('a tool server needs all three pipes');
    stderr.on('data', (chunk: Buffer) => this.#standardError.push(chunk));
    stderr.on('error', () => {});
    stdin.on('error', () => {}); // it closed its input: it has ended, or will not answer
    this.#lines = new BoundedLines(stdout, {
      onLine: (line) => this.#take(line),
      onError: (problem) => this.#fail(problem),
      onEnd: () => {}, // how it exits tells more
    });
    child.on('error', (error) => this.#fail(`it could not be started: ${error.message}`));
    child.on('exit', (code, signal) => this.#fail(`it ended with ${code ?? signal}`));
  }

  /** Resolves when the message is in the pipe's buffer: a server that does not read is noticed by its silence. */
  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable || this.#ended) throw new Error(this.#problem ?? 'it is not running');
    stdin.write(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#fail('it does not read what it is told');
  }

  /** Resolves when nothing of it is left. Harmless twice. */
  async close(): Promise<void> {
    this.#end();
    await this.#ended;
  }

  #take(line: string): void {
    const message = line.trim() === '' ? undefined : parseMessage(line);
    if (message) {
      this.#handOver(message);
      return;
    }
    this.#standardError.push(Buffer.from(`${line.slice(0, 1_000)}\n`));
    this.#otherLines += 1;
    if (this.#otherLines > MAX_OTHER_LINES) this.#fail('what it writes is not the Model Context Protocol');
  }

  /** The protocol believes in some shapes. What it throws must not reach the stream that this came from. */
  #handOver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.#fail(`a message of it makes no sense: ${(error as Error).message}`);
    }
  }

  #fail(problem: string): void {
    if (this.#ended) return;
    this.#problem = problem;
    this.onerror?.(new Error(problem));
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#lines?.stop();
    this.#ended = this.#child ? this.#starter.stop(this.#child) : Promise.resolve();
    this.#ended.catch(() => {}); // close() reports it
    this.onclose?.();
  }
}

function parseMessage(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isMessage = typeof value === 'object' && value !== null && 'jsonrpc' in value;
    return isMessage ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}

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
