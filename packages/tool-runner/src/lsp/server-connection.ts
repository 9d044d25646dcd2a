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

/** How long to wait for the exit code after the server has closed its output. */
const EXIT_CODE_WAIT_MS = 100;
const STDERR_TAIL_BYTES = 2_048;
/** ContentModified and ServerCancelled: the server wants the request to be sent again. */
const retryCodes: readonly number[] = [-32_801, -32_802];
const MAX_TRIES = 4;

export interface ConnectionOptions {
  readonly language: string;
  readonly starter: ProcessStarter;
  readonly clock: RunnerClock;
  readonly waits: WaitTimes;
}

/** Receives the messages of a server. `onRequest` returns the response and must not throw. */
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
  /** Functions that reject the requests that wait for an answer. */
  readonly #waiting = new Set<(failure: LanguageServerFailure) => void>();
  #stderrTail = '';
  /** True once the server has answered a request other than `initialize`. */
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
    // Usually the server has exited, and its exit code says more than the closed output.
    this.#connection.onClose(() => {
      options.clock.after(EXIT_CODE_WAIT_MS, () => this.#fail('it closed its output', { died: true }));
    });
    stdin.on('error', (cause) => this.#fail('it closed its input', { died: true, cause }));
    stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail = (this.#stderrTail + chunk.toString()).slice(-STDERR_TAIL_BYTES);
    });
    child.on('error', (cause) => this.#fail('it could not be started', { died: true, cause }));
    child.on('exit', (code, signal) => this.#fail(`it ended with ${code ?? signal}`, { died: true }));
    this.#connection.listen();
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Without `params`, the field is left out of the message, which some servers insist on. */
  async request(method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#requestOnce(method, params, signal);
      } catch (error) {
        if (!(error instanceof ResponseError)) throw error;
        if (retryCodes.includes(error.code) && tries < MAX_TRIES) continue;
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

  /** Ends a server that sent something invalid, and returns the failure to throw. */
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
    const timeout = new AbortController();
    const cancelTimer = this.#options.clock.after(this.#options.waits.shutdownMs, () => timeout.abort());
    try {
      const exited = new Promise<void>((resolve) => {
        this.#child.once('exit', () => resolve());
        timeout.signal.addEventListener('abort', () => resolve());
      });
      await this.#requestOnce('shutdown', undefined, timeout.signal);
      this.notify('exit');
      await exited;
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

  /** Ends the server and rejects all waiting requests. Only the first failure counts; later calls return it. */
  #fail(problem: string, why: { died: boolean; cause?: unknown }): LanguageServerFailure {
    if (this.#failure) return this.#failure;
    const cause = why.cause ?? (this.#stderrTail === '' ? undefined : new Error(this.#stderrTail));
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
