import { rulesOnPaths } from '@countersign/policy';
import type { PolicyRule } from '@countersign/protocol';
import type { EventLoopTurns } from '../event-loop-turns.ts';
import { isoTime, makeEvent, type ServerEvent } from '../record/announcements.ts';
import { approvalRequestEvent } from '../record/call-events.ts';
import type { ApprovalRow, ShownPayload, StoredEvent } from '../rows.ts';
import { approvalsAtOnce, type Reading, type Store, type Unit } from '../store.ts';

/** A pending request as it is shown to every stream of its person: encoded once, but for the time it has left. */
export interface PendingRequest {
  readonly approvalId: string;
  readonly projectId: string;
  readonly deadlineAt: number;
  /** The data of its event up to the time that is left, which `endOfRequest` adds. Undefined: not kept, read again. */
  readonly json: Buffer | undefined;
}

/** A pending request with its bytes. */
export type EncodedRequest = PendingRequest & { readonly json: Buffer };

/** What is pending for a person, at one event: what comes after it is told by the events that follow (EV-2). */
export interface PendingSnapshot {
  readonly at: number;
  /** The oldest first. */
  readonly requests: readonly PendingRequest[];
}

/** Events that are looked through in one reading. */
const EVENTS_AT_ONCE = 100;
/** A snapshot that is further behind is made anew: listing what is pending costs less than so many events. */
const FAR_BEHIND = 1_000;
/** Bytes of requests that are kept, of everybody together. What does not fit is read when it is sent. */
const KEPT_BYTES = 64 * 1024 * 1024;

/**
 * One snapshot of what is pending for each person who listens here, shared by their streams and kept current by their
 * events. It is read in pieces: between two of them everybody else is served. The person's counter in the database says
 * which event it stands at, so that no other node's change is missed.
 */
export class PendingRequests {
  readonly #store: Store;
  readonly #turns: EventLoopTurns;
  readonly #keptBytes: number;
  readonly #people = new Map<string, PersonsRequests>();

  constructor(store: Store, turns: EventLoopTurns, { keptBytes = KEPT_BYTES } = {}) {
    this.#store = store;
    this.#turns = turns;
    this.#keptBytes = keptBytes;
  }

  /** Those who ask while it is being read get the same one. */
  current(userId: string): Promise<PendingSnapshot> {
    const person = this.#people.get(userId) ?? new PersonsRequests(userId);
    this.#people.set(userId, person);
    person.reading ??= this.#bringUpToDate(person).finally(() => {
      person.reading = undefined;
    });
    return person.reading;
  }

  /** New events of a person, if they continue what is known. Otherwise they are read when somebody asks. */
  note(userId: string, events: readonly StoredEvent[]): void {
    const person = this.#people.get(userId);
    if (person === undefined || person.reading !== undefined) return;
    if (events[0]?.id === person.at + 1) person.note(events);
  }

  /** Nobody listens for this person any more. */
  forget(userId: string): void {
    this.#people.delete(userId);
  }

  /** The bytes of requests, also of those that were not kept. One that was decided meanwhile is left out. */
  async encoded(userId: string, requests: readonly PendingRequest[]): Promise<readonly EncodedRequest[]> {
    const missing = requests.filter(({ json }) => json === undefined).map(({ approvalId }) => approvalId);
    if (missing.length === 0) return requests as readonly EncodedRequest[];
    const read = await this.#store.read((tx) => readRequests(tx, userId, missing, this.#store.now()));
    const found = new Map(read.map((request) => [request.approvalId, request]));
    return requests.flatMap((request) =>
      request.json === undefined ? (found.get(request.approvalId) ?? []) : { ...request, json: request.json },
    );
  }

  async #bringUpToDate(person: PersonsRequests): Promise<PendingSnapshot> {
    for (;;) {
      const look = await this.#store.read((tx) => lookAt(tx, person, this.#store.now()));
      const kept = [...this.#people.values()].reduce((sum, { bytes }) => sum + bytes, 0);
      person.take(look, this.#keptBytes - kept);
      if (look.isNewest && person.stale.size === 0) return person.snapshot();
      await this.#turns.next();
    }
  }
}

/** What one reading found, all of one moment. */
interface Look {
  /** The newest event that is accounted for. */
  readonly at: number;
  readonly isNewest: boolean;
  readonly policyVersion: number;
  /** What is pending, where it was not known or too long ago. */
  readonly listed?: readonly string[];
  readonly events?: readonly StoredEvent[];
  /** Which requests were read, and those of them that are pending. */
  readonly ids?: readonly string[];
  readonly requests?: readonly EncodedRequest[];
}

/** One piece. It changes nothing here: the store may run it again. */
function* lookAt(tx: Reading, person: PersonsRequests, now: number): Unit<Look> {
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

/** What is known of one person's requests. */
class PersonsRequests {
  readonly userId: string;
  /** The newest event that is accounted for. */
  at = 0;
  isListed = false;
  /** To be read, or to be read again. */
  readonly stale = new Set<string>();
  bytes = 0;
  /** Under way; meanwhile nothing else changes what is known. */
  reading: Promise<PendingSnapshot> | undefined;
  /** The oldest first; undefined for one that was not read yet. */
  readonly #requests = new Map<string, PendingRequest | undefined>();
  /** The rules on paths go along with a request, and come from the policy. */
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

  take({ at, policyVersion, listed, events = [], ids = [], requests = [] }: Look, freeBytes: number): void {
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

  /** Undefined: it is not pending. */
  #put(id: string, request: PendingRequest | undefined): void {
    this.bytes += (request?.json?.length ?? 0) - (this.#requests.get(id)?.json?.length ?? 0);
    this.stale.delete(id);
    if (request) this.#requests.set(id, request);
    else this.#requests.delete(id);
  }
}

/** Which requests came or changed, and which were decided: that is final. */
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

/** Those of them that are pending, as they are now. */
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

/** What follows the bytes of a request that is sent now. */
export const endOfRequest = ({ deadlineAt }: PendingRequest, now: number): string =>
  `${Math.max(0, Math.round(deadlineAt - now))},"timestamp":"${isoTime(now)}"}`;

/** The event of a request that is sent now, for those who take no bytes. */
export const eventOfRequest = (request: EncodedRequest, now: number): ServerEvent =>
  makeEvent('tool.approval_request', JSON.parse(`${request.json}${endOfRequest(request, now)}`));
