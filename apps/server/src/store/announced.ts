import { type Announcement, type AuditRow, auditHash, type StoredEvent } from '@countersign/engine';
import type { CounterRow } from './columns.ts';

/** What one unit of writing has announced, of the one person that it may speak of. */
export interface Announced {
  readonly userId: string;
  readonly events: NonNullable<Announcement['events']>[number][];
  readonly audit: NonNullable<Announcement['audit']>[number][];
}

type Counter = Omit<CounterRow, 'user_id'>;

/** Numbers the events that follow a counter and chains the audit rows to its head (EV-2, DA-4). */
export function numberAnnounced(
  { userId, events, audit }: Announced,
  before: Counter,
  at: number,
): { readonly events: StoredEvent[]; readonly audit: AuditRow[]; readonly after: Counter } {
  let { event_id, audit_seq, audit_head } = before;
  const numbered = events.map(({ projectId, event }): StoredEvent => {
    event_id += 1;
    return { user_id: userId, id: event_id, project_id: projectId, event, created_at: at };
  });
  const chained = audit.map(({ action, subject, data }): AuditRow => {
    audit_seq += 1;
    const content = { user_id: userId, seq: audit_seq, at, action, subject, data, previous_hash: audit_head };
    audit_head = auditHash(content);
    return { ...content, hash: audit_head };
  });
  return { events: numbered, audit: chained, after: { event_id, audit_seq, audit_head } };
}
