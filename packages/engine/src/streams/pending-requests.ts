import { rulesOnPaths } from '@countersign/policy';
import type { PolicyRule } from '@countersign/protocol';
import type { EventLoopTurns } from '../event-loop-turns.ts';
import { isoTime, makeEvent, type ServerEvent } from '../record/announcements.ts';
import { approvalRequestEvent } from '../record/call-events.ts';
import type { ApprovalRow, ShownPayload, StoredEvent } from '../rows.ts';
import { approvalsAtOnce, type Reading, type Store, type Unit } from '../store.ts';

/** A pending request, encoded once for all streams of its person, except for the time it has left. */
export interface PendingRequest {
  readonly approvalId: string;
  readonly projectId: string;
  readonly deadlineAt: number;
  /** The JSON of its event up to the remaining time, which `endOfRequest` adds. Undefined: not cached, read it again. */
  readonly json: Buffer | undefined;
}

/** A pending request with its bytes. */
export type EncodedRequest = PendingRequest & { readonly json: Buffer };

/** The pending requests of a person as of event `at`. Later changes arrive as events (EV-2). */
export interface PendingSnapshot {
  readonly at: number;
  /** The oldest first. */
  readonly requests: readonly PendingRequest[];
}

/** Events in one read. */
const EVENTS_AT_ONCE = 100;
/** If a snapshot is this many events behind, making a new one is cheaper. */
const FAR_BEHIND = 1_000;
/** Size of the cache, for all people together. Requests that do not fit are read when they are sent. */
const KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Keeps one snapshot of the pending requests of each person who has a stream here. The person's streams share it, and
 * events keep it current. It is read in pieces, so that other requests are served in between. It has the id of
 * the newest event that it includes, so that no change by another node is missed.
 */
export class PendingRequests {
  readonly #store: Store;
  readonly #turns: EventLoopTurns;
  readonly #keptBytes: number;
  readonly #people = new Map<string, PersonSnapshot>();

  constructor(store: Store, turns: EventLoopTurns, { keptBytes = KEPT_BYTES } = {}) {
    this.#store = store;
    this.#turns = turns;
    this.#keptBytes = keptBytes;
  }

  /** Returns a current snapshot. Concurrent callers share one read. */
  current(userId: string): Promise<PendingSnapshot> {
    const person = this.#people.get(userId) ?? new PersonSnapshot(userId);
    this.#people.set(userId, person);
    person.reading ??= this.#bringUpToDate(person).finally(() => {
      person.reading = undefined;
    });
    return person.reading;
  }

  /** Applies new events if they follow the known ones. Otherwise they are read at the next `current`. */
  note(userId: string, events: readonly StoredEvent[]): void {
    const person = this.#people.get(userId);
    if (person === undefined || person.reading !== undefined) return;
    if (events[0]?.id === person.at + 1) person.note(events);
  }

  /** Drops the snapshot of a person who has no stream any more. */
  forget(userId: string): void {
    this.#people.delete(userId);
  }

  /** The requests with their bytes, read again if not cached. A request that was decided meanwhile is left out. */
  async encoded(userId: string, requests: readonly PendingRequest[]): Promise<readonly EncodedRequest[]> {
    const missing = requests.filter(({ json }) => json === undefined).map(({ approvalId }) => approvalId);
    if (missing.length === 0) return requests as readonly EncodedRequest[];
    const read = await this.#store.read((tx) => readRequests(tx, userId, missing, this.#store.now()));
    const found = new Map(read.map((request) => [request.approvalId, request]));
    return requests.flatMap((request) =>
      request.json === undefined ? (found.get(request.approvalId) ?? []) : { ...request, json: request.json },
    );
  }

  async #bringUpToDate(person: PersonSnapshot): Promise<PendingSnapshot> {
    for (;;) {
      const piece = await this.#store.read((tx) => readPiece(tx, person, this.#store.now()));
      const kept = [...this.#people.values()].reduce((sum, { bytes }) => sum + bytes, 0);
      person.take(piece, this.#keptBytes - kept);
      if (piece.isNewest && person.stale.size === 0) return person.snapshot();
      await this.#turns.next();
    }
  }
}

/** The result of one read, consistent as of one event. */
interface SnapshotPiece {
  /** The newest event that is accounted for. */
  readonly at: number;
  readonly isNewest: boolean;
  readonly policyVersion: number;
  /** The ids of all pending requests, if a new snapshot is made. */
  readonly listed?: readonly string[];
  readonly events?: readonly StoredEvent[];
  /** The requests that were read, and those of them that are pending. */
  readonly ids?: readonly string[];
  readonly requests?: readonly EncodedRequest[];
}

/** Reads one piece. It must not change `person`, because the store may run it again. */
function* readPiece(tx: Reading, person: PersonSnapshot, now: number): Unit<SnapshotPiece> {
  const { userId, at: from } = person;
  const { oldest, newest } = yield* tx.eventBounds(userId);
  const policyVersion = yield* tx.policyVersion(userId);
  if (from < oldest - 1 || from > newest || newest - from > FAR_BEHIND || !person.isListed) {
    const listed = (yield* tx.pendingApprovals(userId)).map(({ id }) => id);
    return { at: newest, isNewest: true, policyVersion, listed };
  }
  const events = newest > from ? yield* tx.events(userId, from, EVENTS_AT_ONCE) : [];
  const at = events.at(-1)?.id ?? from;
  const { changed, resolved } = changesIn(events);
  const stale = new Set([...changed, ...person.stale].filter((id) => !resolved.has(id)));
  const ids = [...stale].slice(0, approvalsAtOnce);
  const requests = yield* readRequests(tx, userId, ids, now);
  return { at, isNewest: at === newest, policyVersion, events, ids, requests };
}

/** The snapshot of one person. */
class PersonSnapshot {
  readonly userId: string;
  /** The newest event that is accounted for. */
  at = 0;
  isListed = false;
  /** Ids of requests that must be read, for the first time or again. */
  readonly stale = new Set<string>();
  bytes = 0;
  /** The read that is under way; until it ends, nothing else changes the snapshot. */
  reading: Promise<PendingSnapshot> | undefined;
  /** Oldest first; undefined: not read yet. */
  readonly #requests = new Map<string, PendingRequest | undefined>();
  /** Requests carry path rules, which come from the policy. */
  #policyVersion = 0;
  #snapshot: PendingSnapshot | undefined;

  constructor(userId: string) {
    this.userId = userId;
  }

  note(events: readonly StoredEvent[]): void {
    this.#snapshot = undefined;
    this.at = events.at(-1)?.id ?? this.at;
    const { changed, resolved } = changesIn(events);
    for (const id of changed) this.stale.add(id);
    for (const id of resolved) this.#put(id, undefined);
  }

  take(piece: SnapshotPiece, freeBytes: number): void {
    const { at, policyVersion, listed, events = [], ids = [], requests = [] } = piece;
    this.#snapshot = undefined;
    if (listed !== undefined) this.#list(listed);
    this.note(events);
    this.at = at;
    if (policyVersion !== this.#policyVersion) for (const id of this.#requests.keys()) this.stale.add(id);
    this.#policyVersion = policyVersion;
    const found = new Map(requests.map((request) => [request.approvalId, request]));
    let free = freeBytes;
    for (const id of ids) {
      const request = found.get(id);
      const isKept = (request?.json.length ?? 0) <= free;
      this.#put(id, request && (isKept ? request : { ...request, json: undefined }));
      if (isKept) free -= request?.json.length ?? 0;
    }
  }

  snapshot(): PendingSnapshot {
    this.#snapshot ??= {
      at: this.at,
      requests: [...this.#requests.values()].filter((request) => request !== undefined),
    };
    return this.#snapshot;
  }

  #list(ids: readonly string[]): void {
    this.#requests.clear();
    this.stale.clear();
    this.bytes = 0;
    for (const id of ids) {
      this.#requests.set(id, undefined);
      this.stale.add(id);
    }
    this.isListed = true;
  }

  /** Undefined: the request is not pending. */
  #put(id: string, request: PendingRequest | undefined): void {
    this.bytes += (request?.json?.length ?? 0) - (this.#requests.get(id)?.json?.length ?? 0);
    this.stale.delete(id);
    if (request) this.#requests.set(id, request);
    else this.#requests.delete(id);
  }
}

/** The requests that are new or changed, and those that were decided. */
function changesIn(events: readonly StoredEvent[]): { changed: Set<string>; resolved: Set<string> } {
  const changed = new Set<string>();
  const resolved = new Set<string>();
  for (const { event } of events) {
    if (event.event === 'tool.approval_request' || event.event === 'approval.updated')
      changed.add(event.data.approval_id);
    if (event.event === 'approval.resolved') resolved.add(event.data.approval_id);
  }
  for (const id of resolved) changed.delete(id);
  return { changed, resolved };
}

/** Reads the requests with these ids that are still pending. */
function* readRequests(
  tx: Reading,
  userId: string,
  ids: readonly string[],
  now: number,
): Unit<readonly EncodedRequest[]> {
  if (ids.length === 0) return [];
  const policy = (yield* tx.get('policies', userId))?.policy.rules ?? [];
  const rules = new Map<string, readonly PolicyRule[]>();
  const requests: EncodedRequest[] = [];
  for (const { approval, payload } of yield* tx.shownApprovals(ids)) {
    const { tool_name } = approval;
    if (!rules.has(tool_name)) rules.set(tool_name, rulesOnPaths(policy, tool_name));
    requests.push(encodeRequest(approval, payload, rules.get(tool_name) ?? [], now));
  }
  return requests;
}

function encodeRequest(
  row: ApprovalRow,
  payload: ShownPayload,
  rules: readonly PolicyRule[],
  now: number,
): EncodedRequest {
  const { data } = approvalRequestEvent(row, payload, rules, now);
  const { remaining_ms: _left, timestamp: _now, ...lasting } = data;
  const text = JSON.stringify(lasting);
  return {
    approvalId: row.id,
    projectId: row.project_id,
    deadlineAt: row.deadline_at,
    json: Buffer.from(`${text.slice(0, -1)},"remaining_ms":`),
  };
}

/** The rest of a request's JSON, for sending it now. */
export const endOfRequest = ({ deadlineAt }: PendingRequest, now: number): string =>
  `${Math.max(0, Math.round(deadlineAt - now))},"timestamp":"${isoTime(now)}"}`;

/** A pending request as an event, for sinks that take no bytes. */
export const eventOfRequest = (request: EncodedRequest, now: number): ServerEvent =>
  makeEvent('tool.approval_request', JSON.parse(`${request.json}${endOfRequest(request, now)}`));
