import { pathRulesFor } from '../claim/path-rules.ts';
import { approvalUpdatedEvent } from '../record/call-events.ts';
import { announceCall } from '../record/make-event.ts';
import type { ApprovalRow } from '../rows.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';

/** After a restart, what had run out meanwhile still gets this long (AP-3). */
const GRACE_MS = 30_000;
/** So many requests are looked at in one go, and so many of one person share a commit. */
const LOOKED_AT = 500;
const COMMITTED = 100;

/**
 * At start: every pending request counts again from its stored deadline. What ran out while nobody was there gets a
 * short grace; a clock that was set back gives nobody more than the full time (AP-3). Whoever comes back is told of a
 * deadline that moved. `watch` gets each request with what it has left.
 */
export async function resumeDeadlines(
  { store }: { readonly store: Store },
  /** Since when we are here: what runs out later has nobody's absence to excuse it. */
  cameAt: number,
  watch: (approvalId: string, leftMs: number) => void,
): Promise<number> {
  const pending = await store.read((tx) => tx.soonestDeadlines(1_000_000));
  for (let from = 0; from < pending.length; from += LOOKED_AT) {
    const ids = pending.slice(from, from + LOOKED_AT).map(({ id }) => id);
    const moved: Moved[] = [];
    for (const row of await store.read((tx) => rowsOf(tx, ids))) {
      const now = store.now();
      const stored = row.deadline_at - now;
      const leftMs = row.deadline_at <= cameAt ? GRACE_MS : Math.min(stored, row.timeout_seconds * 1000);
      if (leftMs === stored) watch(row.id, leftMs);
      else moved.push({ row, deadline: now + leftMs });
    }
    const units: Promise<void>[] = [];
    for (const ofPerson of Map.groupBy(moved, ({ row }) => row.user_id).values())
      for (let first = 0; first < ofPerson.length; first += COMMITTED)
        units.push(move(ofPerson.slice(first, first + COMMITTED)));
    await Promise.all(units);
  }
  return pending.length;

  async function move(moved: readonly Moved[]): Promise<void> {
    const now = store.now();
    const standing = await store.write(function* (tx): Unit<readonly Moved[]> {
      const still: Moved[] = [];
      for (const { row: seen, deadline } of moved) {
        const row = yield* tx.get('approvals', seen.id);
        // Another node may have decided it, or moved it, meanwhile.
        if (row?.status !== 'pending' || row.deadline_at !== seen.deadline_at) continue;
        still.push({ row: yield* announceMoved(tx, row, deadline, now), deadline });
      }
      return still;
    });
    for (const { row, deadline } of standing) watch(row.id, deadline - store.now());
  }
}

interface Moved {
  readonly row: ApprovalRow;
  readonly deadline: number;
}

function* rowsOf(tx: Reading, ids: readonly string[]): Unit<readonly ApprovalRow[]> {
  const rows: ApprovalRow[] = [];
  for (const id of ids) {
    const row = yield* tx.get('approvals', id);
    if (row) rows.push(row);
  }
  return rows;
}

function* announceMoved(
  tx: Transaction,
  approval: ApprovalRow,
  deadline: number,
  now: number,
): Unit<ApprovalRow> {
  const row = { ...approval, deadline_at: deadline };
  yield* tx.update('approvals', row.id, { deadline_at: deadline });
  const payload = yield* tx.shownPayload(row.tool_id);
  const rules = yield* pathRulesFor(tx, row);
  const events = [approvalUpdatedEvent(row, payload, rules, now)];
  announceCall(tx, row, events, 'approval.resumed', { left_ms: deadline - now });
  return row;
}
