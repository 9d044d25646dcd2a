import type { CallResponse } from '@countersign/client';
import type { PolicyRule } from '@countersign/protocol';
import type { ApproveChoice, RejectChoice } from '../live/approval-book.ts';

export type Backtest = CallResponse<'backtestPolicy'>;

/** What a card can do. How it gets to the server is not its business. */
export interface ApprovalActions {
  approve(approvalId: string, choice?: ApproveChoice): void;
  reject(approvalId: string, choice?: RejectChoice): void;
  backtest(rule: PolicyRule, signal: AbortSignal): Promise<Backtest>;
}
