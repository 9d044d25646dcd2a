import {
  type DecidedApproval,
  type ExecutionRow,
  type GrantRow,
  isoTime,
  type Reading,
  type Unit,
} from '@countersign/engine';
import type { CallDecision } from '@countersign/protocol';

/** Returns by call id how each of these calls was decided: by a person, a timer, or the grant that covered it. */
export function* decisionsOf(
  tx: Reading,
  calls: readonly ExecutionRow[],
): Unit<ReadonlyMap<string, CallDecision>> {
  const approvals = yield* tx.decidedApprovals(calls.flatMap(({ approval_id }) => approval_id ?? []));
  const byId = new Map(approvals.map((row) => [row.id, row]));
  const grants = new Map<string, GrantRow | undefined>();
  const decisions = new Map<string, CallDecision>();
  for (const { id, approval_id, grant_id, approved_at } of calls) {
    const approval = byId.get(approval_id ?? '');
    if (approval) {
      decisions.set(id, decisionBy(approval));
      continue;
    }
    if (grant_id === null) continue;
    if (!grants.has(grant_id)) grants.set(grant_id, yield* tx.get('grants', grant_id));
    const decided_at = approved_at === null ? null : isoTime(approved_at);
    decisions.set(id, {
      status: 'approved',
      scope: grants.get(grant_id)?.scope ?? null,
      device: null,
      reason: null,
      message: null,
      decided_at,
    });
  }
  return decisions;
}

const decisionBy = ({
  status,
  scope,
  decided_device: device,
  reason,
  message,
  decided_at,
}: DecidedApproval): CallDecision => ({
  status: status as CallDecision['status'],
  scope: status === 'approved' ? scope : null,
  device,
  reason,
  message,
  decided_at: decided_at === null ? null : isoTime(decided_at),
});
