import { hash } from 'node:crypto';
import { canonicalJson } from '@countersign/protocol';
import type { AuditRow } from '../rows.ts';

/** What stands before a person's first audit row. */
export const auditGenesis = '0'.repeat(64);

/** The hash of an audit row: over its content and the hash of the row before it (DA-4). */
export function auditHash(row: Omit<AuditRow, 'hash'>): string {
  const { previous_hash, user_id, seq, at, action, subject, data } = row;
  return hash('sha256', canonicalJson([previous_hash, user_id, seq, at, action, subject, data]));
}
