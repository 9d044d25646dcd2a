import { hash } from 'node:crypto';
import { canonicalJson } from '@countersign/protocol';
import type { AuditRow, CounterRow, StoredEvent } from '../rows.ts';
import type { Announcement } from '../store.ts';

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
