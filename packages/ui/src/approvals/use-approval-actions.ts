import { useMemo } from 'react';
import { useLive } from '../live/live-context.ts';
import type { ApprovalActions } from './approval-actions.ts';

/** The actions of cards, through this page's client. */
export function useApprovalActions(): ApprovalActions {
  const { approvals, client } = useLive();
  return useMemo(
    () => ({
      approve: (id, choice) => void approvals.approve(id, choice),
      reject: (id, choice) => void approvals.reject(id, choice),
      backtest: (rule, signal) => client.backtestPolicy({ body: { rule } }, { signal }),
    }),
    [approvals, client],
  );
}
