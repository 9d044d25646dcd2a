import type { ApprovalRow, ExecutionRow } from './rows.ts';
import type { Transaction, Unit } from './store.ts';

/** The part of ApprovalManager that the dispatcher needs: it was made first, so this is set later. */
export interface AsksAgain {
  askAgain(tx: Transaction, execution: ExecutionRow, problem: string): Unit<ApprovalRow | undefined>;
  withdrawApproval(tx: Transaction, execution: ExecutionRow, now: number): Unit<ApprovalRow | undefined>;
  watch(approval: ApprovalRow): void;
  withdrawn(approval: ApprovalRow): void;
}
