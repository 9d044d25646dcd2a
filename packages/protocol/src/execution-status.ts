import { z } from 'zod';

/** Every state of a tool execution, stored and sent in lower case (EX-2). */
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

/** The one table of legal transitions (EX-2). What is not here is refused and logged. */
export const legalTransitions: Readonly<Record<ExecutionStatus, readonly ExecutionStatus[]>> = {
  pending: ['awaiting_approval', 'approved', 'failed', 'cancelled'],
  awaiting_approval: ['approved', 'rejected', 'timeout', 'failed', 'cancelled'],
  /** Back to awaiting_approval: what was approved is stale, so the person is asked again. */
  approved: ['executing', 'awaiting_approval', 'failed', 'cancelled'],
  /** awaiting_approval: stale, and nothing started. approved: a retry that is harmless. */
  executing: ['completed', 'failed', 'awaiting_approval', 'approved', 'cancelled'],
  completed: [],
  failed: [],
  rejected: [],
  timeout: [],
  cancelled: [],
};

export const isLegalTransition = (from: ExecutionStatus, to: ExecutionStatus): boolean =>
  legalTransitions[from].includes(to);

/** Where a tool execution can end. */
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
 * Where an approval stands: `pending` until it is settled once. A person approves or rejects, the server's timer
 * makes it `timeout`, and a call that ends before anybody decided makes it `cancelled`.
 */
export const approvalStatuses = ['pending', 'approved', 'rejected', 'timeout', 'cancelled'] as const;
export const approvalStatusSchema = z.enum(approvalStatuses);
export type ApprovalStatus = z.infer<typeof approvalStatusSchema>;

/** Who approved: nobody had to, a person did, or a grant or rule of theirs did (AP-4). */
export const approvedBySchema = z.enum(['auto', 'user', 'config']);
export type ApprovedBy = z.infer<typeof approvedBySchema>;
