import { describe, expect, it } from 'vitest';
import {
  approvalStatuses,
  approvedBySchema,
  executionStatuses,
  finalStatusSchema,
  isFinal,
  isLegalTransition,
  legalTransitions,
} from './execution-status.ts';

/** EX-2, word for word. */
const table = {
  pending: ['awaiting_approval', 'approved', 'failed', 'cancelled'],
  awaiting_approval: ['approved', 'rejected', 'timeout', 'failed', 'cancelled'],
  approved: ['executing', 'awaiting_approval', 'failed', 'cancelled'],
  executing: ['completed', 'failed', 'awaiting_approval', 'approved', 'cancelled'],
  completed: [],
  failed: [],
  rejected: [],
  timeout: [],
  cancelled: [],
};

describe('the states of a tool execution', () => {
  it('[EX-2] has one table of transitions', () => {
    expect(legalTransitions).toEqual(table);
    expect(executionStatuses).toEqual(Object.keys(table));
  });

  it('[EX-2] permits what the table lists and refuses every other pair', () => {
    const permitted = executionStatuses.flatMap((from) =>
      executionStatuses.filter((to) => isLegalTransition(from, to)).map((to) => `${from} → ${to}`),
    );
    const listed = Object.entries(table).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`));
    expect(permitted.sort()).toEqual(listed.sort());
  });

  it('[EX-8] cancels in every state but a final one', () => {
    const cancellable = executionStatuses.filter((status) => isLegalTransition(status, 'cancelled'));
    expect(cancellable).toEqual(['pending', 'awaiting_approval', 'approved', 'executing']);
  });

  it('[EX-3] ends in the final states alone', () => {
    expect(executionStatuses.filter(isFinal)).toEqual(finalStatusSchema.options);
    expect(finalStatusSchema.options).toEqual(['completed', 'failed', 'rejected', 'timeout', 'cancelled']);
  });
});

describe('approvals', () => {
  it('[AP-3] keeps the words for where an approval stands', () => {
    expect(approvalStatuses).toEqual(['pending', 'approved', 'rejected', 'timeout', 'cancelled']);
  });

  it('[AP-4] keeps the words for who approved', () => {
    expect(approvedBySchema.options).toEqual(['auto', 'user', 'config']);
  });
});
