import type { ErrorCode } from '@countersign/protocol';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';

/** The part of ApprovalManager that the dispatcher needs: it was made first, so this is set later. */
export interface ApprovalRequester {
  askAgain(tx: Transaction, execution: ExecutionRow, problem: string): Unit<ApprovalRow | undefined>;
  withdrawApproval(tx: Transaction, execution: ExecutionRow, now: number): Unit<ApprovalRow | undefined>;
  /** Ends an open call with an error, and withdraws its request. */
  failCall(
    tx: Transaction,
    execution: ExecutionRow,
    error: { readonly code: ErrorCode; readonly message: string },
    by: 'runner' | 'policy',
  ): Unit<{ approval: ApprovalRow | undefined; execution: ExecutionRow }>;
  watch(approval: ApprovalRow): void;
  withdrawn(approval: ApprovalRow): void;
}
