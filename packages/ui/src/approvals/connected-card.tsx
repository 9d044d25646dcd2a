import { memo } from 'react';
import { useLive } from '../live/live-context.ts';
import { useStore } from '../live/store.ts';
import { ApprovalCard } from './approval-card.tsx';
import { useApprovalActions } from './use-approval-actions.ts';

interface ConnectedCardProps {
  readonly approvalId: string;
  readonly chatHref?: string | undefined;
}

/** The card of one approval, if this page knows it: those settled before it was opened are in the history. */
export const ConnectedCard = memo(function ConnectedCard({ approvalId, chatHref }: ConnectedCardProps) {
  const live = useLive();
  const actions = useApprovalActions();
  const entry = useStore(live.approvals.entries, (all) => all.get(approvalId));
  const isOffline = useStore(live.connection, ({ status }) => status !== 'open');
  if (!entry) return null;
  return (
    <ApprovalCard
      entry={entry}
      clock={live.clock}
      actions={actions}
      isOffline={isOffline}
      chatHref={chatHref}
    />
  );
});
