import { type CountersignEvent, parseEvent, routes } from '@countersign/protocol';
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
  /** The token was refused, and there was no newer one or it was refused too: sign in and open again. */
  | { readonly status: 'closed'; readonly why: 'unauthenticated'; readonly error: ApiError }
  /** The server refused for good: repeating would not help. */
  | { readonly status: 'closed'; readonly why: 'refused'; readonly error: ApiError };

export interface UnknownEvent {
  readonly name: string;
  readonly data: string;
  readonly problem: string;
}

export type StreamOptions = ({ readonly client: Pick<Client, 'connection'> } | Connection) & {
  /** If omitted, events of all the person's projects. */
  readonly projectId?: string | undefined;
  /** Makes this client a runner (EV-3). */
  readonly runner?:
    | {
        readonly id: string;
        readonly workspace: string;
        readonly capabilities: readonly string[];
        /** Id of its journal: while it is connected, another program with the same runner id is refused (409). */
        readonly instance?: string | undefined;
      }
    | undefined;
  /** The last event that an earlier stream delivered. If omitted, the server begins with the pending approvals. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once for each event, in order; `id` is undefined for events that cannot be resumed from. After
   * `stream.reset`, reload all state by REST.
   */
  readonly onEvent: (event: CountersignEvent, id: string | undefined) => void;
  readonly onState?: (state: StreamState) => void;
  /** An event that this client does not know, perhaps because it is older than the server. It is skipped. */
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

/** Backoff once the immediate retry has failed too; at most 30 s with jitter. */
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

  /** Keep it to resume from here with a later stream. */
  get lastEventId(): string | undefined {
    return this.#resume.lastId;
  }

  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<ClosedState> {
    const { signal } = this.#options;
    const stop = () => this.close();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    await Promise.resolve(); // so that listeners can use what openStream returned
    const closed = await this.#keepOpen().catch((): ClosedState => ({ status: 'closed', why: 'stopped' }));
    signal?.removeEventListener('abort', stop);
    this.#enter(closed);
    return closed;
  }

  /** Reconnects until the server refuses. Throws when the stream is closed from this side. */
  async #keepOpen(): Promise<ClosedState> {
    for (let failures = 1; ; failures += 1) {
      this.#stop.signal.throwIfAborted();
      this.#enter({ status: 'connecting' });
      const { error, openForMs } = await this.#connectOnce();
      if (error.status >= 400 && !error.isRetryable) {
        return { status: 'closed', why: error.status === 401 ? 'unauthenticated' : 'refused', error };
      }
      if (openForMs >= stableAfterMs) failures = 1;
      const retryInMs = this.#pauseMs(failures, error);
      this.#enter({ status: 'waiting', retryInMs, error });
      if (retryInMs > 0) await wait(this.#clock, retryInMs, this.#stop.signal);
    }
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
    if (name === 'stream.reset') this.#resume.forget(); // before comparing its id: numbering restarted
    if (id !== undefined && !this.#resume.isNew(id)) return;
    if (data !== undefined) this.#deliver(name, data, id);
    if (id !== undefined) this.#resume.moveTo(id);
  }

  #deliver(name: string, data: string, id: string | undefined): void {
    const parsed = parseEvent(name, parseJson(data));
    if (parsed.ok) this.#tell(() => this.#options.onEvent(parsed.event, id));
    else this.#tell(() => this.#options.onUnknown?.({ name, data, problem: parsed.problem }));
  }

  #enter(state: StreamState): void {
    this.#state = state;
    this.#tell(() => this.#options.onState?.(state));
  }

  #tell(callListener: () => void): void {
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

/** Invalid JSON matches no event's schema, so it is reported as an unknown event. */
function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Tracks the last delivered event, so that each is delivered once and in order (EV-2). */
export class ResumePoint {
  #lastId: string | undefined;

  constructor(lastId: string | undefined) {
    this.#lastId = lastId;
  }

  get lastId(): string | undefined {
    return this.#lastId;
  }

  /**
   * False for an event that was delivered already. Ids rise; an id that is not a number is old only if it equals the
   * last one.
   */
  isNew(id: string): boolean {
    const last = this.#lastId;
    if (last === undefined) return true;
    return isNumber(id) && isNumber(last) ? BigInt(id) > BigInt(last) : id !== last;
  }

  /** By the standard, an empty id resets the last event id. */
  moveTo(id: string): void {
    this.#lastId = id === '' ? undefined : id;
  }

  forget(): void {
    this.#lastId = undefined;
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,64}$/.test(id);
}
