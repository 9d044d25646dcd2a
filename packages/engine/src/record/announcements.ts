import { hash } from 'node:crypto';
import { canonicalJson, type EventName, type EventPayload, maxEventBytes } from '@countersign/protocol';
import type { AuditRow, CounterRow, ExecutionRow, Json, StoredEvent } from '../rows.ts';
import type { Announcement, Transaction } from '../store.ts';

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The payload of an event. All streams share it, so it is read-only. */
export type EventData<N extends EventName> = DeepReadonly<EventPayload<N>>;

export type ServerEvent<N extends EventName = EventName> = {
  [Name in N]: { readonly event: Name; readonly data: EventData<Name> };
}[N];

/** Makes an event. The compiler checks that the payload fits the event's name. */
export const makeEvent = <N extends EventName>(event: N, data: EventData<N>): ServerEvent<N> => ({
  event,
  data,
});

/** Caches the last formatted time, because several events carry the same one. */
let lastTime = { at: Number.NaN, text: '' };
export function isoTime(at: number): string {
  if (lastTime.at !== at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

/** Inside a unit: announces events to the row's project. `action` and `data` become an audit line. */
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

/**
 * Maximum size in bytes of one part of an event or list entry; leaves room for the rest. Clients fetch larger parts by
 * id (EV-2).
 */
export const largestShown = maxEventBytes - 512;

/** A lower bound of a value's size: the characters of its texts, and one for each field. Cheap for long texts. */
export const sizeOf = (value: unknown): number =>
  Number.MAX_SAFE_INTEGER - charactersLeft(value, Number.MAX_SAFE_INTEGER);

/** Whether a value fits into an event. The cheap lower bound avoids encoding a file of 100 MiB. */
export const fits = (value: unknown): boolean =>
  charactersLeft(value, largestShown) >= 0 && Buffer.byteLength(JSON.stringify(value)) <= largestShown;

/** `from` minus the size of the value; stops below 0. */
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

/** The hash before a person's first audit row. */
export const auditGenesis = '0'.repeat(64);

/** The hash of an audit row: over its content and the hash of the row before it (DA-4). */
export function auditHash(row: Omit<AuditRow, 'hash'>): string {
  const { previous_hash, user_id, seq, at, action, subject, data } = row;
  return hash('sha256', canonicalJson([previous_hash, user_id, seq, at, action, subject, data]));
}

/** What one unit of writing announces. It concerns one person. */
export interface Announced {
  readonly userId: string;
  readonly events: NonNullable<Announcement['events']>[number][];
  readonly audit: NonNullable<Announcement['audit']>[number][];
}

/** A person's newest event and audit row. */
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
    // Acknowledgements carry the head of the audit chain.
    const stored =
      event.event === 'tool.result_ack'
        ? { ...event, data: { ...event.data, audit_head: auditHeadText(audit_seq, audit_head) } }
        : event;
    return { user_id: userId, id: event_id, project_id: projectId, event: stored, created_at: at };
  });
  return { events: numbered, audit: chained, after: { event_id, audit_seq, audit_head } };
}

/** The head of an audit chain as runners keep it: row number and hash (DA-4). */
export const auditHeadText = (seq: number, hash: string): string => `${seq}:${hash}`;
