import { type Caller, isOf } from '../caller.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';

/** A request with the call it is about. */
export interface ApprovalRows {
  readonly approval: ApprovalRow;
  readonly execution: ExecutionRow;
}

/** Another person's request is not found, as one that does not exist. */
export function* approvalRows(tx: Reading, caller: Caller, approvalId: string): Unit<ApprovalRows> {
  // The order of locks is execution, then approval (docs/architecture.md); which execution it is never changes.
  const toolId = (yield* tx.peekApproval(approvalId))?.tool_id;
  const execution = toolId === undefined ? undefined : yield* tx.get('tool_executions', toolId);
  const approval = yield* tx.get('approvals', approvalId);
  if (!approval || !execution || !isOf(caller, approval)) throw notFound('approval');
  return { approval, execution };
}

export const alreadyDecided = (approval: ApprovalRow): Refusal =>
  new Refusal(
    'ALREADY_DECIDED',
    { decision: approval.status },
    { status: approval.status, device: approval.decided_device },
  );
