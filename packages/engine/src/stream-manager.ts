import type { CountersignEvent } from '@countersign/protocol';
import type { StoredEvent } from './rows.ts';
import type { Bus, Hint, Reading, Store, Unit } from './store.ts';

/** Where a stream's events go: an SSE response, or an array in a test. */
export interface StreamSink {
  /** False when the client is too slow: it is cut off, and resumes by id (EV-4). */
  send(event: CountersignEvent, id: number | undefined): boolean;
  /** Undefined when there is room; otherwise resolves once there is, with false when there will be none. */
  room?(): Promise<boolean> | undefined;
  end(): void;
}

export interface StreamOptions {
  readonly userId: string;
  /** Undefined: all of the person's projects. */
  readonly projectId: string | undefined;
  /** A client that executes (EV-3). */
  readonly runnerId: string | undefined;
  /** Which program of that runner it is, where it says so. */
  readonly instance?: string | undefined;
  /** Which of a runner's streams it is: its row names the newest, on whichever node. */
  readonly streamId?: string | undefined;
  /** Whether this client's token may execute: only such a plain listener is told to, while no runner is there. */
  readonly mayExecute: boolean;
  /** Where a client that was here before left off. */
  readonly lastEventId: number | undefined;
}

/** What a client is told before its first event, of the same moment that its events go on from. */
export type Snapshot = (
  tx: Reading,
  client: { readonly resumes: boolean },
) => Unit<readonly CountersignEvent[]>;

/** Events kept in memory for one slow replay before it reads from the store again. */
const PAGE = 500;
/** Of a page, before it is looked whether the client reads: even the largest events fit (EV-2, EV-4). */
const AT_ONCE = 10;
/** People whose newest event is looked up in one reading. */
const PEOPLE_AT_ONCE = 100;

/**
 * Sends each client the events of its person, in order, each once, from where it left off (EV-1 to EV-4). The
 * store is the truth: a hint only says that there is something to read; its events are used when they continue
 * what was sent, which they nearly always do.
 */
export class StreamManager {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #byUser = new Map<string, Set<OpenStream>>();
  readonly #unsubscribe: () => void;

  constructor(store: Store, bus: Bus, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
    this.#unsubscribe = bus.subscribe((hint) => this.#hinted(hint));
  }

  /**
   * Opens a stream. `snapshot` gives what is pending for a client that comes without an id (EV-2). An older stream of
   * the same runner ends: each call is told to one. The answer closes it; closing twice is harmless.
   */
  async open(options: StreamOptions, sink: StreamSink, snapshot: Snapshot): Promise<() => void> {
    const { userId, lastEventId } = options;
    // One reading: what is committed after it has a newer id and follows, so that nothing comes twice.
    const { newest, resumes, pending } = await this.#store.read(function* (tx) {
      const { oldest, newest } = yield* tx.eventBounds(userId);
      const resumes = lastEventId !== undefined && lastEventId <= newest && lastEventId >= oldest - 1;
      return { newest, resumes, pending: yield* snapshot(tx, { resumes }) };
    });
    const stream = new OpenStream(options, sink, resumes ? (lastEventId ?? newest) : newest, newest);
    this.#add(stream);
    if (!resumes && lastEventId !== undefined) stream.reset('the event id is unknown or no longer kept');
    for (const event of pending) stream.pass(event);
    stream.ready = true;
    await this.#catchUp(stream);
    return () => this.#remove(stream);
  }

  /** Whether somebody listens who is no runner, and who may execute a call of this project (EV-3). */
  hasPlainListener(userId: string, projectId: string): boolean {
    for (const { options } of this.#byUser.get(userId) ?? []) {
      const hears = options.projectId === undefined || options.projectId === projectId;
      if (options.runnerId === undefined && options.mayExecute && hears) return true;
    }
    return false;
  }

  /** Whose calls somebody here could execute who is no runner, and of which project: undefined is all of them. */
  plainListeners(): (readonly [userId: string, projectId: string | undefined])[] {
    return [...this.#byUser].flatMap(([userId, streams]) =>
      [...streams]
        .filter(({ options }) => options.runnerId === undefined && options.mayExecute)
        .map(({ options }) => [userId, options.projectId] as const),
    );
  }

  /** The runners that have a stream open here. */
  runners(): { readonly userId: string; readonly runnerId: string }[] {
    return [...this.#byUser].flatMap(([userId, streams]) =>
      [...streams].flatMap(({ options: { runnerId } }) =>
        runnerId === undefined ? [] : { userId, runnerId },
      ),
    );
  }

  hasRunner(userId: string, runnerId: string): boolean {
    for (const { options } of this.#byUser.get(userId) ?? []) if (options.runnerId === runnerId) return true;
    return false;
  }

  /** Whether another program has a stream open as this runner. */
  isTaken(userId: string, runnerId: string, instance: string | undefined): boolean {
    for (const { options } of this.#byUser.get(userId) ?? [])
      if (options.runnerId === runnerId && options.instance !== instance) return true;
    return false;
  }

  get size(): number {
    let count = 0;
    for (const streams of this.#byUser.values()) count += streams.size;
    return count;
  }

  /** The slow tick: whoever missed a hint catches up. Of the others only the newest number is read, once a person. */
  async tick(): Promise<void> {
    const userIds = [...this.#byUser.keys()];
    for (let from = 0; from < userIds.length; from += PEOPLE_AT_ONCE) {
      const some = userIds.slice(from, from + PEOPLE_AT_ONCE);
      const newest = await this.#store.read(function* (tx) {
        const found = new Map<string, number>();
        for (const userId of some) found.set(userId, (yield* tx.eventBounds(userId)).newest);
        return found;
      });
      for (const [userId, id] of newest)
        for (const stream of this.#byUser.get(userId) ?? [])
          if (stream.ready && stream.sentUpTo < id) this.#catchUp(stream).catch(this.#onError);
    }
  }

  /** Ends what a runner has open: if it is there after all, it comes back and is told of its calls anew (EX-7). */
  endRunner(userId: string, runnerId: string, { except }: { except?: string | null } = {}): void {
    for (const stream of this.#byUser.get(userId) ?? [])
      if (stream.options.runnerId === runnerId && (!except || stream.options.streamId !== except))
        this.#remove(stream);
  }

  /** Ends every stream; clients reconnect elsewhere or later, from where they are. */
  close(): void {
    this.#unsubscribe();
    for (const streams of this.#byUser.values()) for (const stream of streams) stream.end();
    this.#byUser.clear();
  }

  #hinted(hint: Hint): void {
    if (hint.kind === 'passing') {
      for (const stream of this.#byUser.get(hint.userId) ?? []) {
        if (stream.concerns(hint.projectId, hint.event)) this.#check(stream, stream.pass(hint.event));
      }
    } else if (hint.kind === 'events') {
      for (const stream of this.#byUser.get(hint.userId) ?? []) {
        if (stream.ready && hint.events && hint.events[0]?.id === stream.sentUpTo + 1 && !stream.catchingUp) {
          this.#check(stream, stream.sendAll(hint.events));
        } else if (stream.ready) this.#catchUp(stream).catch(this.#onError);
      }
    }
  }

  /** Reads what the stream has not sent yet. One reader at a time for each stream. */
  async #catchUp(stream: OpenStream): Promise<void> {
    if (stream.catchingUp) {
      stream.askedAgain = true;
      return;
    }
    stream.catchingUp = true;
    try {
      do {
        stream.askedAgain = false;
        for (;;) {
          const { events, settled } = await this.#store.read((tx) => unsent(tx, stream));
          if (events.length === 0 || !this.#check(stream, await stream.sendAsRead(events, settled))) break;
        }
      } while (stream.askedAgain);
    } finally {
      stream.catchingUp = false;
    }
  }

  #check(stream: OpenStream, kept: boolean): boolean {
    if (!kept) this.#remove(stream);
    return kept;
  }

  #add(stream: OpenStream): void {
    const { userId, runnerId } = stream.options;
    for (const older of this.#byUser.get(userId) ?? [])
      if (runnerId !== undefined && older.options.runnerId === runnerId) this.#remove(older);
    const streams = this.#byUser.get(userId) ?? new Set();
    streams.add(stream);
    this.#byUser.set(userId, streams);
  }

  #remove(stream: OpenStream): void {
    const streams = this.#byUser.get(stream.options.userId);
    streams?.delete(stream);
    if (streams?.size === 0) this.#byUser.delete(stream.options.userId);
    stream.end();
  }
}

/** The next page of a stream, and which of its signals are over: a plain client must not execute those (EV-3). */
function* unsent(
  tx: Reading,
  stream: OpenStream,
): Unit<{ events: readonly StoredEvent[]; settled: ReadonlySet<number> }> {
  const events = yield* tx.events(stream.options.userId, stream.sentUpTo, PAGE);
  const settled = new Set<number>();
  for (const { id, event } of events) {
    if (event.event !== 'tool.execution_signal' || !stream.isOld(id)) continue;
    const { tool_id, attempt } = event.data;
    const row = yield* tx.get('tool_executions', tool_id);
    const isOpen = row?.status === 'executing' && row.runner_id === null && row.attempt === attempt;
    if (!isOpen) settled.add(id);
  }
  return { events, settled };
}

class OpenStream {
  readonly options: StreamOptions;
  readonly #sink: StreamSink;
  /** What was stored when the stream was opened: a runner's signals up to here are part of the snapshot. */
  readonly #openedAt: number;
  sentUpTo: number;
  ready = false;
  catchingUp = false;
  askedAgain = false;
  #ended = false;

  constructor(options: StreamOptions, sink: StreamSink, sentUpTo: number, openedAt: number) {
    this.options = options;
    this.#sink = sink;
    this.sentUpTo = sentUpTo;
    this.#openedAt = openedAt;
  }

  /** Whether an event was stored before this stream was opened. */
  isOld(id: number): boolean {
    return id <= this.#openedAt;
  }

  /** `settled` are old signals that no longer count. */
  sendAll(events: readonly StoredEvent[], settled?: ReadonlySet<number>): boolean {
    for (const { id, project_id, event } of events) {
      if (id <= this.sentUpTo) continue;
      this.sentUpTo = id;
      if (!this.concerns(project_id, event)) continue;
      if (settled?.has(id)) continue;
      if (this.options.runnerId !== undefined && this.isOld(id) && event.event === 'tool.execution_signal')
        continue;
      if (this.#ended || !this.#sink.send(event, id)) return false;
    }
    return true;
  }

  /** The same for many events, as quickly as the client reads: who was away long is not cut off for that. */
  async sendAsRead(events: readonly StoredEvent[], settled: ReadonlySet<number>): Promise<boolean> {
    for (let from = 0; from < events.length; from += AT_ONCE) {
      if (!this.sendAll(events.slice(from, from + AT_ONCE), settled)) return false;
      const room = this.#sink.room?.();
      if (room && !(await room)) return false;
    }
    return true;
  }

  /** An event without an id of its own. */
  pass(event: CountersignEvent): boolean {
    return !this.#ended && this.#sink.send(event, undefined);
  }

  reset(reason: string): void {
    this.pass({ event: 'stream.reset', data: { reason, timestamp: new Date().toISOString() } });
  }

  /** Signals go to the chosen runner only; to others who may execute only while no runner was there (EV-3). */
  concerns(projectId: string | null, event: CountersignEvent): boolean {
    const { projectId: wanted, runnerId, mayExecute } = this.options;
    if (wanted !== undefined && projectId !== null && projectId !== wanted) return false;
    if (event.event !== 'tool.execution_signal' && event.event !== 'tool.undo') return true;
    const chosen = event.data.runner_id;
    return chosen === null ? runnerId === undefined && mayExecute : chosen === runnerId;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sink.end();
  }
}
