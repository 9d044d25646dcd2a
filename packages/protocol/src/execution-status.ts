import { z } from 'zod';

/** Every state of a tool execution (EX-2). */
export const executionStatuses = [
  'pending',
  'awaiting_approval',
  'approved',
  'executing',
  'completed',
  'failed',
  'rejected',
  'timeout',
  'cancelled',
] as const;
export const executionStatusSchema = z.enum(executionStatuses);
export type ExecutionStatus = z.infer<typeof executionStatusSchema>;

/** The legal transitions (EX-2). Any other transition is refused and logged. */
export const legalTransitions: Readonly<Record<ExecutionStatus, readonly ExecutionStatus[]>> = {
  pending: ['awaiting_approval', 'approved', 'failed', 'cancelled'],
  awaiting_approval: ['approved', 'rejected', 'timeout', 'failed', 'cancelled'],
  // awaiting_approval: the approval is stale, so the person is asked again
  approved: ['executing', 'awaiting_approval', 'failed', 'cancelled'],
  // awaiting_approval: the approval is stale and nothing started. approved: a harmless retry
  executing: ['completed', 'failed', 'awaiting_approval', 'approved', 'cancelled'],
  completed: [],
  failed: [],
  rejected: [],
  timeout: [],
  cancelled: [],
};

export const isLegalTransition = (from: ExecutionStatus, to: ExecutionStatus): boolean =>
  legalTransitions[from].includes(to);

export const finalStatusSchema = executionStatusSchema.extract([
  'completed',
  'failed',
  'rejected',
  'timeout',
  'cancelled',
]);

export const isFinal = (status: ExecutionStatus): status is z.infer<typeof finalStatusSchema> =>
  legalTransitions[status].length === 0;

/**
 * The states of an approval: `pending` until it is settled, once. A person approves or rejects it, the server's timer
 * sets `timeout`, and the end of the call before a decision sets `cancelled`.
 */
export const approvalStatuses = ['pending', 'approved', 'rejected', 'timeout', 'cancelled'] as const;
export const approvalStatusSchema = z.enum(approvalStatuses);
export type ApprovalStatus = z.infer<typeof approvalStatusSchema>;

/** How a call was approved: `auto` without asking, `user` by a person, `config` by a grant or a rule (AP-4). */
export const approvedBySchema = z.enum(['auto', 'user', 'config']);
export type ApprovedBy = z.infer<typeof approvedBySchema>;
