import { hash } from 'node:crypto';
import { canonicalJson, type EventName, type EventPayload, maxEventBytes } from '@countersign/protocol';
import type { AuditRow, CounterRow, ExecutionRow, Json, StoredEvent } from '../rows.ts';
import type { Announcement, Transaction } from '../store.ts';

type Unchanging<T> = T extends readonly (infer Item)[]
  ? readonly Unchanging<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Unchanging<T[Key]> }
    : T;

/** The payload of an event. It is made from rows and shared by every stream, so nobody may change it. */
export type EventData<N extends EventName> = Unchanging<EventPayload<N>>;

/** An event as the server makes, stores and sends it. */
export type ServerEvent<N extends EventName = EventName> = {
  [Name in N]: { readonly event: Name; readonly data: EventData<Name> };
}[N];

/** An event whose payload fits its name. */
export const makeEvent = <N extends EventName>(event: N, data: EventData<N>): ServerEvent<N> => ({
  event,
  data,
});

/** The same moment is written into several events. */
let lastTime = { at: Number.NaN, text: '' };
export function isoTime(at: number): string {
  if (lastTime.at !== at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

/**
 * Inside a unit: tells the project of a call, an approval or a run what became of it. `action` is its line in the audit
 * log, with `data`.
 */
export function announceCall(
  tx: Transaction,
  { id, user_id, project_id }: Pick<ExecutionRow, 'id' | 'user_id' | 'project_id'>,
  events: readonly ServerEvent[],
  action?: string,
  data: Json = {},
): void {
  tx.announce(user_id, {
    events: events.map((event) => ({ projectId: project_id, event })),
    audit: action === undefined ? [] : [{ action, subject: id, data }],
  });
}

/** What is larger is left out of events and lists, and fetched by id (EV-2): with room for name, id and what is missing. */
export const largestShown = maxEventBytes - 512;

/** How large a value is at least: the characters of its texts, and one for each field. Costs nothing for a long text. */
export const sizeOf = (value: unknown): number =>
  Number.MAX_SAFE_INTEGER - charactersLeft(value, Number.MAX_SAFE_INTEGER);

/**
 * Whether a value can be shown. A file of 100 MiB need not be written out, for each of its events, to know that it does
 * not fit.
 */
export const fits = (value: unknown): boolean =>
  charactersLeft(value, largestShown) >= 0 && Buffer.byteLength(JSON.stringify(value)) <= largestShown;

/** What is left of some characters when all texts were taken away; below 0 as soon as there are too many. */
function charactersLeft(value: unknown, from: number): number {
  if (typeof value === 'string') return from - value.length;
  let left = from;
  if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) {
      left = charactersLeft(item, left - 1);
      if (left < 0) break;
    }
  return left;
}

/** What stands before a person's first audit row. */
export const auditGenesis = '0'.repeat(64);

/** The hash of an audit row: over its content and the hash of the row before it (DA-4). */
export function auditHash(row: Omit<AuditRow, 'hash'>): string {
  const { previous_hash, user_id, seq, at, action, subject, data } = row;
  return hash('sha256', canonicalJson([previous_hash, user_id, seq, at, action, subject, data]));
}

/** What one unit of writing has announced, of the one person that it may speak of. */
export interface Announced {
  readonly userId: string;
  readonly events: NonNullable<Announcement['events']>[number][];
  readonly audit: NonNullable<Announcement['audit']>[number][];
}

/** How far a person's events and audit log are. */
export type AnnouncedSoFar = Omit<CounterRow, 'user_id'>;

/** Numbers the events that follow a counter and chains the audit rows to its head (EV-2, DA-4). */
export function numberAnnounced(
  { userId, events, audit }: Announced,
  before: AnnouncedSoFar,
  at: number,
): { readonly events: StoredEvent[]; readonly audit: AuditRow[]; readonly after: AnnouncedSoFar } {
  let { event_id, audit_seq, audit_head } = before;
  const chained = audit.map(({ action, subject, data }): AuditRow => {
    audit_seq += 1;
    const content = { user_id: userId, seq: audit_seq, at, action, subject, data, previous_hash: audit_head };
    audit_head = auditHash(content);
    return { ...content, hash: audit_head };
  });
  const numbered = events.map(({ projectId, event }): StoredEvent => {
    event_id += 1;
    // Acknowledgements carry the head of the chain that they are part of.
    const told =
      event.event === 'tool.result_ack'
        ? { ...event, data: { ...event.data, audit_head: auditHeadText(audit_seq, audit_head) } }
        : event;
    return { user_id: userId, id: event_id, project_id: projectId, event: told, created_at: at };
  });
  return { events: numbered, audit: chained, after: { event_id, audit_seq, audit_head } };
}

/** The head of an audit chain as runners keep it: which row it is, and its hash (DA-4). */
export const auditHeadText = (seq: number, hash: string): string => `${seq}:${hash}`;
