import { type CountersignEvent, parseEvent, parseJson, routes } from '@countersign/protocol';
import type { ApiError } from './api-error.ts';
import type { Client } from './client.ts';
import { type Clock, systemClock, wait } from './clock.ts';
import { type Connection, requestPath } from './connection.ts';
import { backoffMs } from './retries.ts';
import type { SseFrame } from './sse-parser.ts';
import { listenOnce } from './stream-connection.ts';

export type StreamState =
  | { readonly status: 'connecting' }
  | { readonly status: 'open' }
  /** The connection was lost or could not be opened; 0 ms means the next attempt is immediate. */
  | { readonly status: 'waiting'; readonly retryInMs: number; readonly error: ApiError }
  | ClosedState;

export type ClosedState =
  /** Closed by `close()` or the signal. */
  | { readonly status: 'closed'; readonly why: 'stopped' }
  /** The server refused the token and any newer one. Sign in, then open a new stream. */
  | { readonly status: 'closed'; readonly why: 'unauthenticated'; readonly error: ApiError }
  /** The server refused with an error that a retry cannot help. */
  | { readonly status: 'closed'; readonly why: 'refused'; readonly error: ApiError };

export interface UnknownEvent {
  readonly name: string;
  readonly data: string;
  readonly problem: string;
}

export type StreamOptions = ({ readonly client: Pick<Client, 'connection'> } | Connection) & {
  /** If omitted, the stream has the events of all of the person's projects. */
  readonly projectId?: string | undefined;
  /** Makes this client a runner (EV-3). */
  readonly runner?:
    | {
        readonly id: string;
        readonly workspace: string;
        readonly capabilities: readonly string[];
        /** Id of the runner's journal. While it is connected, another program with the same runner id gets 409. */
        readonly instance?: string | undefined;
      }
    | undefined;
  /** Id of the last event of an earlier stream. If omitted, the server begins with the pending approvals. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once for each event, in order; `id` is undefined for events that cannot be resumed from. After
   * `stream.reset`, reload all state by REST.
   */
  readonly onEvent: (event: CountersignEvent, id: string | undefined) => void;
  readonly onState?: (state: StreamState) => void;
  /** Called with an event that this client does not know, perhaps because the server is newer. */
  readonly onUnknown?: (unknown: UnknownEvent) => void;
  /** Called with an error that a listener threw; the stream continues. Logs to the console by default. */
  readonly onListenerError?: (error: unknown) => void;
  readonly clock?: Clock;
  /** 0…1, for jitter. */
  readonly random?: () => number;
};

/**
 * Opens the event stream and keeps it open until it is closed or refused. Listeners are never called before this
 * returns.
 */
export function openStream(options: StreamOptions): EventStream {
  return new EventStream(options);
}

/** Backoff after the immediate retry has failed too. With jitter, the longest pause is 30 s. */
const pause = { firstMs: 1_000, maxMs: 20_000 };
const noPause = { firstMs: 0, maxMs: 0 };
/** Upper bound for the waits that a server asks for (`retry:` and Retry-After). */
const maxHintMs = 20_000;
const maxRetryAfterMs = 300_000;
/** A shorter connection counts as failed, so that we do not reconnect to a failing server in a tight loop. */
const stableAfterMs = 5_000;

export class EventStream {
  /** Resolves with the reason when the stream is closed. Never rejects. */
  readonly closed: Promise<ClosedState>;

  readonly #options: StreamOptions;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #resume: ResumePoint;
  readonly #stop = new AbortController();
  #state: StreamState = { status: 'connecting' };
  #retryHintMs = 0;
  /** Failed attempts since the last stable connection. */
  #failures = 0;
  /** Aborted to end the current pause. */
  #pause = new AbortController();

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#connection = 'client' in options ? options.client.connection : options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#resume = new ResumePoint(options.lastEventId);
    this.closed = this.#run();
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Id of the last delivered event. A later stream with this `lastEventId` resumes after it. */
  get lastEventId(): string | undefined {
    return this.#resume.lastId;
  }

  /** Ends the pause before the next attempt and resets the back-off. An attempt that is under way continues. */
  retryNow(): void {
    this.#failures = 0;
    this.#pause.abort();
  }

  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<ClosedState> {
    const { signal } = this.#options;
    const stop = () => this.close();
    // The server answers another request, so it is back. A person who has just sent a message watches for what comes of it.
    const reconnect = () => {
      if (this.#state.status === 'waiting' && this.#state.error.status === 0) this.#pause.abort();
    };
    signal?.addEventListener('abort', stop, { once: true });
    this.#connection.onSuccess?.add(reconnect);
    if (signal?.aborted) stop();
    await Promise.resolve(); // no listener may be called before openStream has returned
    const closed = await this.#keepOpen().catch((): ClosedState => ({ status: 'closed', why: 'stopped' }));
    signal?.removeEventListener('abort', stop);
    this.#connection.onSuccess?.delete(reconnect);
    this.#enter(closed);
    return closed;
  }

  /** Reconnects until the server refuses. Throws when the stream is closed from this side. */
  async #keepOpen(): Promise<ClosedState> {
    for (;;) {
      this.#stop.signal.throwIfAborted();
      this.#enter({ status: 'connecting' });
      const { error, openForMs } = await this.#connectOnce();
      if (error.status >= 400 && !error.isRetryable) {
        return { status: 'closed', why: error.status === 401 ? 'unauthenticated' : 'refused', error };
      }
      this.#failures = openForMs >= stableAfterMs ? 1 : this.#failures + 1;
      const retryInMs = this.#pauseMs(this.#failures, error);
      this.#enter({ status: 'waiting', retryInMs, error });
      if (retryInMs > 0) await this.#wait(retryInMs);
    }
  }

  /** Returns early after `retryNow`. */
  async #wait(ms: number): Promise<void> {
    this.#pause = new AbortController();
    const ended = AbortSignal.any([this.#pause.signal, this.#stop.signal]);
    await wait(this.#clock, ms, ended).catch(() => {});
  }

  async #connectOnce(): Promise<{ error: ApiError; openForMs: number }> {
    let openedAt: number | undefined;
    const error = await listenOnce({
      connection: this.#connection,
      path: () => pathOf(this.#options),
      lastEventId: this.#resume.lastId,
      clock: this.#clock,
      signal: this.#stop.signal,
      onOpen: () => {
        openedAt = this.#clock.monotonic();
        this.#enter({ status: 'open' });
      },
      onFrame: (frame) => this.#receive(frame),
      onRetryHint: (ms) => {
        this.#retryHintMs = Math.min(ms, maxHintMs);
      },
    });
    return { error, openForMs: openedAt === undefined ? 0 : this.#clock.monotonic() - openedAt };
  }

  #pauseMs(failures: number, { retryAfterMs = 0 }: ApiError): number {
    const atLeastMs = Math.max(this.#retryHintMs, Math.min(retryAfterMs, maxRetryAfterMs));
    return failures === 1
      ? backoffMs(noPause, 1, atLeastMs, this.#random())
      : backoffMs(pause, failures - 1, atLeastMs, this.#random());
  }

  #receive({ name, data, id }: SseFrame): void {
    if (name === 'stream.reset') this.#resume.lastId = undefined; // the numbering has restarted
    if (id !== undefined && !this.#resume.isNew(id)) return;
    if (data !== undefined) this.#deliver(name, data, id);
    if (id !== undefined) this.#resume.moveTo(id);
  }

  #deliver(name: string, data: string, id: string | undefined): void {
    // Invalid JSON is reported like an unknown event.
    const parsed = parseEvent(name, parseJson(data));
    if (parsed.ok) this.#notify(() => this.#options.onEvent(parsed.event, id));
    else this.#notify(() => this.#options.onUnknown?.({ name, data, problem: parsed.problem }));
  }

  #enter(state: StreamState): void {
    this.#state = state;
    this.#notify(() => this.#options.onState?.(state));
  }

  #notify(callListener: () => void): void {
    const { onListenerError = (error) => console.error(error) } = this.#options;
    try {
      callListener();
    } catch (error) {
      onListenerError(error);
    }
  }
}

function pathOf({ projectId, runner }: StreamOptions): string {
  const query = runner && {
    runner: runner.id,
    workspace: runner.workspace,
    capabilities: runner.capabilities.join(','),
    ...(runner.instance !== undefined && { instance: runner.instance }),
  };
  return projectId === undefined
    ? requestPath(routes.personStream.path, {}, query)
    : requestPath(routes.projectStream.path, { project_id: projectId }, query);
}

/** Tracks the last delivered event, so that each is delivered once and in order (EV-2). */
export class ResumePoint {
  lastId: string | undefined;

  constructor(lastId: string | undefined) {
    this.lastId = lastId;
  }

  /**
   * False for an event that was delivered already. Ids rise; an id that is not a number is old only if it equals the
   * last one.
   */
  isNew(id: string): boolean {
    const last = this.lastId;
    if (last === undefined) return true;
    return isNumber(id) && isNumber(last) ? BigInt(id) > BigInt(last) : id !== last;
  }

  /** By the standard, an empty id resets the last event id. */
  moveTo(id: string): void {
    this.lastId = id === '' ? undefined : id;
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,64}$/.test(id);
}
