import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { KeptOutput } from '../commands/command-output.ts';
import { plantedNotes } from '../commands/run-to-end.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';

const KEPT_ERROR_BYTES = 16 * 1024;
/** Some servers print a greeting to standard output. A server that prints more lines than this does not speak MCP. */
const MAX_OTHER_LINES = 1_000;
/** Limit for messages that the server has not read; the parameters of a call are far smaller. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/**
 * MCP over the pipes of an isolated process: each message is a line. When the transport closes or fails, the process and
 * all that it started are ended.
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

  /** The end of the server's standard error, with lines of its standard output that are not messages. */
  get outputTail(): string {
    return this.#standardError.text();
  }

  /** Why the server ended; undefined while it runs, or if we ended it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Sentences about the files that the server planted (VA-3); complete once `close` has resolved. */
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
    stdin.on('error', () => {}); // it closed its input: it exits, or its calls time out
    this.#lines = new BoundedLines(stdout, {
      onLine: (line) => this.#take(line),
      onError: (problem) => this.#fail(problem),
    });
    child.on('error', (error) => this.#fail(`it could not be started: ${error.message}`));
    child.on('exit', (code, signal) => this.#fail(`it ended with ${code ?? signal}`));
  }

  /** Resolves when the message is in the pipe's buffer; calls to a server that does not read it time out. */
  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable || this.#ended) throw new Error(this.#problem ?? 'it is not running');
    stdin.write(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#fail('it does not read what it is told');
  }

  /** Resolves when no process of the server is left. Harmless twice. */
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

  /** The library assumes some fields and throws if they are missing: then the server is at fault. */
  #handOver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.#fail(`it sent a message that makes no sense: ${(error as Error).message}`);
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

/** Far more than a result with the largest picture that we keep. */
const LINE_BYTES = 8 * 1024 * 1024;
/** If more lines than this arrive at once, reading pauses between batches. */
const LINES_AT_ONCE = 100;
/** This many lines may come at once, and then LINES_PER_SECOND. A server that writes more is ended. */
const BURST = 2_000;
const LINES_PER_SECOND = 500;

export interface LineListener {
  onLine(line: string): void;
  /** After the first error nothing more is read. */
  onError(problem: string): void;
}

/**
 * Splits a tool server's output into lines. The server is not trusted: at most one line of a bounded size is kept,
 * lines are read no faster than they are handled, and too many lines are an error.
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
    input.on('error', () => {}); // the exit code says more
  }

  /** Further output is read and discarded, so that the server never blocks. */
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
    this.#input.pause(); // so that no later line is handled before the rest
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
