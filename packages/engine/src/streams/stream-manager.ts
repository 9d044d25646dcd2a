import { signalsAtOnce, unsettledCalls, unsettledSignals } from '../dispatch/signals.ts';
import { EventLoopTurns } from '../event-loop-turns.ts';
import { isoTime, makeEvent, type ServerEvent } from '../record/announcements.ts';
import type { StoredEvent } from '../rows.ts';
import { approvalsAtOnce, type Bus, type Hint, type Reading, type Store, type Unit } from '../store.ts';
import {
  type EncodedRequest,
  eventOfRequest,
  type PendingRequest,
  PendingRequests,
} from './pending-requests.ts';

/** Where a stream's events go: an SSE response, or an array in a test. */
export interface StreamSink {
  /** Returns false if the client is too slow: it is cut off, and resumes by id (EV-4). */
  send(event: ServerEvent, id: number | undefined): boolean;
  /** Sends pending requests as bytes that streams share. Without it they are sent as events. */
  sendPending?(requests: readonly EncodedRequest[], now: number): boolean;
  /** Undefined if there is room; otherwise a promise: true once there is room, false if the client is gone. */
  room?(): Promise<boolean> | undefined;
  end(): void;
}

export interface StreamOptions {
  readonly userId: string;
  /** Undefined: all of the person's projects. */
  readonly projectId: string | undefined;
  /** The id of the runner that opened the stream; undefined for a plain listener (EV-3). */
  readonly runnerId: string | undefined;
  /** The workspace that the runner serves: it gets the requests that it can preview. */
  readonly workspace?: string | undefined;
  /** Tells two programs with the same runner id apart; undefined if the runner does not send it. */
  readonly instance?: string | undefined;
  /** The id of this stream. The runner's row has the id of its newest stream, on any node. */
  readonly streamId?: string | undefined;
  /** Whether this client's token may execute; only then a plain listener is signalled. */
  readonly mayExecute: boolean;
  /** The last event that the client has. */
  readonly lastEventId: number | undefined;
}

/** Events that a replay reads at once. */
const PAGE = 500;
/** Events sent before checking that the client reads; even the largest ones fit the buffer (EV-2, EV-4). */
const EVENTS_AT_ONCE = 10;
/** Bytes of pending requests that are sent at once, within a fraction of a millisecond. */
const PIECE_BYTES = 64 * 1024;
/** Number of people whose newest event ids are read at once. */
const PEOPLE_AT_ONCE = 100;

/**
 * Sends each client the events of its person, in order, each once, from where it left off (EV-1 to EV-4). The store is
 * the truth: a hint only says that there is something to read. If the events of a hint directly follow what was sent,
 * which is nearly always so, they are sent without a read.
 */
export class StreamManager {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #byUser = new Map<string, Set<OpenStream>>();
  readonly #turns: EventLoopTurns;
  readonly #pending: PendingRequests;
  readonly #unsubscribe: () => void;

  constructor(store: Store, bus: Bus, onError: (error: unknown) => void, turns = new EventLoopTurns()) {
    this.#store = store;
    this.#turns = turns;
    this.#pending = new PendingRequests(store, turns);
    this.#onError = onError;
    this.#unsubscribe = bus.subscribe((hint) => this.#hinted(hint));
  }

  /**
   * Opens a stream. A client without a last event id gets what is pending first (EV-2), and a runner its unsettled calls
   * (EX-7). An older stream of the same runner ends. Returns a function that closes the stream; closing twice is harmless.
   */
  async open(options: StreamOptions, sink: StreamSink): Promise<() => void> {
    try {
      const stream = await this.#begin(options, sink);
      return () => this.#remove(stream);
    } finally {
      if (!this.#byUser.has(options.userId)) this.#pending.forget(options.userId);
    }
  }

  async #begin(options: StreamOptions, sink: StreamSink): Promise<OpenStream> {
    const { userId, lastEventId } = options;
    const { oldest, newest } = await this.#store.read((tx) => tx.eventBounds(userId));
    const resumes = lastEventId !== undefined && lastEventId <= newest && lastEventId >= oldest - 1;
    const snapshot = resumes ? undefined : await this.#pending.current(userId);
    // Events after the snapshot have newer ids and follow, so nothing is missed or comes twice.
    const stream = new OpenStream(options, sink, snapshot?.at ?? lastEventId ?? newest, newest);
    this.#add(stream);
    if (snapshot && lastEventId !== undefined) stream.reset('the event id is unknown or no longer kept');
    const isSent =
      (await this.#sendUnsettled(stream)) && (await this.#sendPending(stream, snapshot?.requests ?? []));
    if (this.#removeUnlessKept(stream, isSent)) {
      stream.ready = true;
      await this.#catchUp(stream);
    }
    return stream;
  }

  /** Sent before the pending requests, because these calls wait only for this runner. */
  async #sendUnsettled(stream: OpenStream): Promise<boolean> {
    const { userId, runnerId } = stream.options;
    if (runnerId === undefined) return true;
    const { newest, calls } = await this.#store.read((tx) => unsettledCalls(tx, userId, runnerId));
    stream.openedAt = newest;
    for (let from = 0; from < calls.length; from += signalsAtOnce) {
      if (from > 0) await this.#turns.next();
      const some = calls.slice(from, from + signalsAtOnce);
      const now = this.#store.now();
      const events = await this.#store.read((tx) => unsettledSignals(tx, runnerId, some, now));
      if (!(await stream.sendPacedWithoutIds(events))) return false;
    }
    return true;
  }

  async #sendPending(stream: OpenStream, all: readonly PendingRequest[]): Promise<boolean> {
    const { userId, projectId, workspace } = stream.options;
    const projects =
      workspace === undefined ? undefined : await this.#store.read((tx) => tx.projectsOf(userId));
    const served = projects?.filter((project) => project.workspace === workspace).map(({ id }) => id);
    const requests = all.filter(
      (request) =>
        (projectId === undefined || request.projectId === projectId) &&
        (served === undefined || served.includes(request.projectId)),
    );
    const pieces = piecesOf(requests);
    for (const piece of pieces) {
      if (pieces.length > 1) await this.#turns.next();
      const encoded = await this.#pending.encoded(userId, piece);
      if (!stream.sendPending(encoded, this.#store.now()) || !(await stream.hasRoom())) return false;
    }
    return true;
  }

  /** Whether a plain listener (not a runner) may execute a call of this project (EV-3). */
  hasPlainListener(userId: string, projectId: string): boolean {
    for (const { options } of this.#byUser.get(userId) ?? []) {
      const hears = options.projectId === undefined || options.projectId === projectId;
      if (options.runnerId === undefined && options.mayExecute && hears) return true;
    }
    return false;
  }

  /** The plain listeners here that may execute, by person and project; undefined is all projects. */
  plainListeners(): (readonly [userId: string, projectId: string | undefined])[] {
    return [...this.#byUser].flatMap(([userId, streams]) =>
      [...streams]
        .filter(({ options }) => options.runnerId === undefined && options.mayExecute)
        .map(({ options }) => [userId, options.projectId] as const),
    );
  }

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
    return [...this.#byUser.values()].reduce((sum, streams) => sum + streams.size, 0);
  }

  /** The slow tick: streams that missed a hint catch up. Reads only the newest event id of each person. */
  async tick(): Promise<void> {
    const userIds = [...this.#byUser.keys()];
    for (let from = 0; from < userIds.length; from += PEOPLE_AT_ONCE) {
      const some = userIds.slice(from, from + PEOPLE_AT_ONCE);
      const newest = await this.#store.read(function* (tx) {
        const found = new Map<string, number>();
        for (const userId of some) found.set(userId, (yield* tx.eventBounds(userId)).newest);
        return found;
      });
      for (const [userId, id] of newest) {
        const pages = this.#pagesOf(userId);
        for (const stream of this.#byUser.get(userId) ?? [])
          if (stream.ready && stream.sentUpTo < id) this.#catchUp(stream, pages).catch(this.#onError);
      }
    }
  }

  /** Ends a runner's streams. If the runner is still alive, it reconnects and gets its calls again (EX-7). */
  endRunner(userId: string, runnerId: string, { except }: { except?: string | null } = {}): void {
    for (const stream of this.#byUser.get(userId) ?? [])
      if (stream.options.runnerId === runnerId && (!except || stream.options.streamId !== except))
        this.#remove(stream);
  }

  /** Ends every stream; clients reconnect elsewhere or later, and resume. */
  close(): void {
    this.#unsubscribe();
    for (const streams of this.#byUser.values()) for (const stream of streams) stream.end();
    this.#byUser.clear();
  }

  #hinted(hint: Hint): void {
    if (hint.kind === 'transient') {
      for (const stream of this.#byUser.get(hint.userId) ?? []) {
        if (stream.ready && stream.concerns(hint.projectId, hint.event))
          this.#removeUnlessKept(stream, stream.sendWithoutId(hint.event));
      }
    } else if (hint.kind === 'events') {
      if (hint.events) this.#pending.note(hint.userId, hint.events);
      const pages = this.#pagesOf(hint.userId);
      for (const stream of this.#byUser.get(hint.userId) ?? []) {
        if (stream.ready && hint.events && hint.events[0]?.id === stream.sentUpTo + 1 && !stream.catchingUp) {
          this.#removeUnlessKept(stream, stream.sendAll(hint.events));
        } else if (stream.ready) this.#catchUp(stream, pages).catch(this.#onError);
      }
    }
  }

  /** Reads the page after an event once for all streams of a person that one hint wakes. */
  #pagesOf(userId: string): (after: number) => Promise<Page> {
    const pages = new Map<number, Promise<Page>>();
    return (after) => {
      const page =
        pages.get(after) ??
        this.#store
          .read((tx) => tx.events(userId, after, PAGE))
          .then((events) => ({ events, settled: new Set<number>() }));
      pages.set(after, page);
      return page;
    };
  }

  /** Reads what the stream has not sent yet. One reader at a time for each stream. */
  async #catchUp(stream: OpenStream, shared?: (after: number) => Promise<Page>): Promise<void> {
    if (stream.catchingUp) {
      stream.mustReadAgain = true;
      return;
    }
    stream.catchingUp = true;
    let first = shared;
    try {
      do {
        stream.mustReadAgain = false;
        for (;;) {
          // Whether an old signal still counts depends on when the stream was opened, so such pages are not shared.
          const isShared = first !== undefined && !stream.isOld(stream.sentUpTo + 1);
          const page = isShared ? first?.(stream.sentUpTo) : undefined;
          first = undefined;
          const { events, settled } = await (page ?? this.#store.read((tx) => unsent(tx, stream)));
          this.#pending.note(stream.options.userId, events);
          if (!this.#removeUnlessKept(stream, await stream.sendPaced(events, settled))) return;
          if (events.length < PAGE) break; // later commits have hints of their own
        }
      } while (stream.mustReadAgain);
    } finally {
      stream.catchingUp = false;
    }
  }

  #removeUnlessKept(stream: OpenStream, kept: boolean): boolean {
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
    if (streams?.size === 0) {
      this.#byUser.delete(stream.options.userId);
      this.#pending.forget(stream.options.userId);
    }
    stream.end();
  }
}

/** Splits requests into pieces: by bytes, and by the number that can be read at once. */
function piecesOf(requests: readonly PendingRequest[]): readonly (readonly PendingRequest[])[] {
  const pieces: PendingRequest[][] = [];
  let last: PendingRequest[] = [];
  let bytes = 0;
  for (const request of requests) {
    const size = request.json?.length ?? PIECE_BYTES / approvalsAtOnce;
    bytes += size;
    if (last.length === 0 || last.length === approvalsAtOnce || bytes > PIECE_BYTES) {
      last = [];
      pieces.push(last);
      bytes = size;
    }
    last.push(request);
  }
  return pieces;
}

interface Page {
  readonly events: readonly StoredEvent[];
  /** Ids of old signals that a plain client must no longer execute. */
  readonly settled: ReadonlySet<number>;
}

/** The next page of a stream, and the old signals in it that a plain client must not execute any more (EV-3). */
function* unsent(tx: Reading, stream: OpenStream): Unit<Page> {
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
  /** The newest event id at opening. A runner got signals up to this event from the state of its calls. */
  openedAt: number;
  sentUpTo: number;
  ready = false;
  catchingUp = false;
  mustReadAgain = false;
  #ended = false;

  constructor(options: StreamOptions, sink: StreamSink, sentUpTo: number, openedAt: number) {
    this.options = options;
    this.#sink = sink;
    this.sentUpTo = sentUpTo;
    this.openedAt = openedAt;
  }

  /** Whether an event was stored before this stream was opened. */
  isOld(id: number): boolean {
    return id <= this.openedAt;
  }

  /** Sends stored events. `settled` are the ids of old signals that no longer count. */
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

  /** Sends events only as fast as the client reads, so that a client that was away for long is not cut off. */
  async sendPaced(events: readonly StoredEvent[], settled: ReadonlySet<number>): Promise<boolean> {
    for (let from = 0; from < events.length; from += EVENTS_AT_ONCE) {
      if (!this.sendAll(events.slice(from, from + EVENTS_AT_ONCE), settled) || !(await this.hasRoom()))
        return false;
    }
    return true;
  }

  /** Sends events without ids, only as fast as the client reads. */
  async sendPacedWithoutIds(events: readonly ServerEvent[]): Promise<boolean> {
    for (const [place, event] of events.entries())
      if (
        !this.sendWithoutId(event) ||
        (place % EVENTS_AT_ONCE === EVENTS_AT_ONCE - 1 && !(await this.hasRoom()))
      )
        return false;
    return this.hasRoom();
  }

  sendPending(requests: readonly EncodedRequest[], now: number): boolean {
    if (this.#ended) return false;
    if (this.#sink.sendPending) return this.#sink.sendPending(requests, now);
    return requests.every((request) => this.sendWithoutId(eventOfRequest(request, now)));
  }

  /** Waits for room in the client's buffer; false if the client is gone. */
  async hasRoom(): Promise<boolean> {
    const room = this.#sink.room?.();
    return room === undefined || (await room);
  }

  sendWithoutId(event: ServerEvent): boolean {
    return !this.#ended && this.#sink.send(event, undefined);
  }

  reset(reason: string): void {
    this.sendWithoutId(makeEvent('stream.reset', { reason, timestamp: isoTime(Date.now()) }));
  }

  /** A signal goes only to its runner or, without one, to plain listeners that may execute (EV-3). */
  concerns(projectId: string | null, event: ServerEvent): boolean {
    const { projectId: wanted, runnerId, mayExecute } = this.options;
    if (wanted !== undefined && projectId !== null && projectId !== wanted) return false;
    if (event.event === 'tool.try') return event.data.runner_id === runnerId;
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
