import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { CountersignError } from '@countersign/protocol';
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  ResponseError,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import type { RunnerClock } from '../clock.ts';
import type { ProcessStarter } from '../isolation/isolated-process.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { BoundedMessageReader } from './bounded-message-reader.ts';
import type { WaitTimes } from './server-definition.ts';

const EXIT_FOLLOWS_MS = 100;
const LAST_WORDS_BYTES = 2_048;
/** ContentModified and ServerCancelled: the server asks to be asked again. */
const askAgainCodes: readonly number[] = [-32_801, -32_802];
const MAX_ASKS = 4;

export interface ConnectionOptions {
  readonly language: string;
  readonly starter: ProcessStarter;
  readonly clock: RunnerClock;
  readonly waits: WaitTimes;
}

/** Gets what a server sends. The return value of `onRequest` is the response; it must not throw. */
export interface ServerListener {
  onRequest(method: string, params: unknown): unknown;
  onNotification(method: string, params: unknown): void;
  onProgress(token: unknown, value: unknown): void;
  onMessage(): void;
}

/**
 * One language server process and the JSON-RPC connection to it. Every request ends: with an answer, with the caller's
 * cancellation, or with a LanguageServerFailure because the server died, did not answer in time or violated the
 * protocol. After a failure the process is ended, and every further request fails the same way.
 */
export class ServerConnection {
  readonly #options: ConnectionOptions;
  readonly #child: ChildProcess;
  readonly #connection: MessageConnection;
  /** Reject the requests that wait for an answer. */
  readonly #waiting = new Set<(failure: LanguageServerFailure) => void>();
  #lastWords = '';
  /** It has answered a request other than `initialize`. */
  #hasAnswered = false;
  #failure: LanguageServerFailure | undefined;
  #ended: Promise<void> | undefined;

  constructor(child: ChildProcess, listener: ServerListener, options: ConnectionOptions) {
    this.#child = child;
    this.#options = options;
    const { stdin, stdout, stderr } = child as { stdin: Writable; stdout: Readable; stderr: Readable | null };
    this.#connection = createMessageConnection(
      new BoundedMessageReader(stdout, () => listener.onMessage()),
      new StreamMessageWriter(stdin),
      silentLogger,
    );
    this.#connection.onRequest((method, params) => listener.onRequest(method, params));
    this.#connection.onNotification((method, params) => listener.onNotification(method, params));
    this.#connection.onUnhandledProgress(({ token, value }) => listener.onProgress(token, value));
    this.#connection.onError(([error]) => this.#fail(error.message, { died: false, cause: error }));
    // Most often it has exited: wait a moment for its exit code, which tells more.
    this.#connection.onClose(() => {
      options.clock.after(EXIT_FOLLOWS_MS, () => this.#fail('it closed its output', { died: true }));
    });
    stdin.on('error', (cause) => this.#fail('it closed its input', { died: true, cause }));
    stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString()).slice(-LAST_WORDS_BYTES);
    });
    child.on('error', (cause) => this.#fail('it could not be started', { died: true, cause }));
    child.on('exit', (code, signal) => this.#fail(`it ended with ${code ?? signal}`, { died: true }));
    this.#connection.listen();
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** If `params` is undefined none are sent, which some servers insist on. */
  async request(method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
    for (let ask = 1; ; ask += 1) {
      try {
        return await this.#requestOnce(method, params, signal);
      } catch (error) {
        if (!(error instanceof ResponseError)) throw error;
        if (askAgainCodes.includes(error.code) && ask < MAX_ASKS) continue;
        const problem = `${method} was refused: ${String(error.message).slice(0, 500)}`;
        throw new LanguageServerFailure(this.#options.language, problem, { died: false, cause: error });
      }
    }
  }

  /** Sent in order with requests. If the server is gone, the next request fails. */
  notify(method: string, params?: object): void {
    if (this.#failure) return;
    const sent = params
      ? this.#connection.sendNotification(method, params)
      : this.#connection.sendNotification(method);
    sent.catch((cause) => this.#fail('it does not listen', { died: true, cause }));
  }

  /** It sent something invalid: it is ended, and nothing that it sends is used any more. */
  reject(problem: string): LanguageServerFailure {
    return this.#fail(problem, { died: false });
  }

  /** Asks it to shut down, then ends it. Resolves when no process of it is left. Harmless twice. */
  async stop(): Promise<void> {
    if (!this.#failure) await this.#shutDown();
    this.#fail('it was stopped', { died: true });
    await this.#ended;
  }

  async #shutDown(): Promise<void> {
    const enough = new AbortController();
    const cancelTimer = this.#options.clock.after(this.#options.waits.shutdownMs, () => enough.abort());
    try {
      const hasExited = new Promise<void>((resolve) => {
        this.#child.once('exit', () => resolve());
        enough.signal.addEventListener('abort', () => resolve());
      });
      await this.#requestOnce('shutdown', undefined, enough.signal);
      this.notify('exit');
      await hasExited;
    } catch {
      // The caller ends it in any case.
    } finally {
      cancelTimer();
    }
  }

  async #requestOnce(method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    if (signal.aborted) throw new ExecutionCancelled();
    const cancellation = new CancellationTokenSource();
    const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
    const onAbort = () => giveUp(new ExecutionCancelled());
    const { clock, waits } = this.#options;
    const limitMs = this.#hasAnswered ? waits.requestMs : waits.firstRequestMs;
    const cancelTimer = clock.after(limitMs, () => {
      this.#fail(`it did not answer ${method} within ${limitMs / 1000} s`, { died: false });
    });
    this.#waiting.add(giveUp);
    signal.addEventListener('abort', onAbort);
    try {
      const answer = params
        ? this.#connection.sendRequest<unknown>(method, params, cancellation.token)
        : this.#connection.sendRequest<unknown>(method, cancellation.token);
      answer.catch(() => {}); // it may still fail after we gave up
      const result = await Promise.race([answer, givenUp]);
      if (method !== 'initialize') this.#hasAnswered = true;
      return result;
    } catch (error) {
      if (signal.aborted) cancellation.cancel(); // sends $/cancelRequest
      // The library's own errors only say that the connection is gone; #fail knows the reason.
      if (error instanceof ResponseError || error instanceof ExecutionCancelled) throw error;
      throw this.#fail('the connection to it broke', { died: true, cause: error });
    } finally {
      cancelTimer();
      this.#waiting.delete(giveUp);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Only the first reason counts. */
  #fail(problem: string, why: { died: boolean; cause?: unknown }): LanguageServerFailure {
    if (this.#failure) return this.#failure;
    const cause = why.cause ?? (this.#lastWords === '' ? undefined : new Error(this.#lastWords));
    const failure = new LanguageServerFailure(this.#options.language, problem, { died: why.died, cause });
    this.#failure = failure;
    this.#ended = this.#options.starter.stop(this.#child);
    this.#ended.catch(() => {}); // stop() reports it
    for (const giveUp of this.#waiting) giveUp(failure);
    this.#connection.dispose();
    return failure;
  }
}

const silentLogger = { error() {}, warn() {}, info() {}, log() {} };

/** A language server failed. If it `died`, the same request may be sent to a new one. */
export class LanguageServerFailure extends CountersignError {
  readonly died: boolean;

  constructor(language: string, problem: string, { died, cause }: { died: boolean; cause?: unknown }) {
    super('LANGUAGE_SERVER_FAILED', { language, problem }, { cause });
    this.died = died;
  }
}
