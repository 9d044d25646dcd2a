import { memo } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ApprovalCard } from './approval-card.tsx';
import { useApprovalActions } from './use-approval-actions.ts';

interface ConnectedCardProps {
  readonly approvalId: string;
  readonly chatHref?: string | undefined;
  /** Shown only when it has been decided: while it waits, it stands elsewhere. */
  readonly whenSettled?: boolean;
}

/** The card of one approval, if this page knows it: those settled before it was opened are in the history. */
export const ConnectedCard = memo(function ConnectedCard(props: ConnectedCardProps) {
  const { approvalId, chatHref, whenSettled = false } = props;
  const live = useLive();
  const actions = useApprovalActions();
  const entry = useObservable(live.approvals.entries, (all) => all.get(approvalId));
  const isOffline = useObservable(live.connection, ({ status }) => status !== 'open');
  if (!entry || (whenSettled && entry.resolution === null)) return null;
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
