import { memo } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ApprovalCard } from './approval-card.tsx';

interface ConnectedCardProps {
  readonly approvalId: string;
  readonly chatHref?: string | undefined;
  /** Shown only when it has been decided: while it waits, it stands elsewhere. */
  readonly whenSettled?: boolean;
}

/** The card of one approval, if this page knows it: those settled before it was opened are in the history. */
export const ConnectedCard = memo(function ConnectedCard(props: ConnectedCardProps) {
  const { approvalId, chatHref, whenSettled = false } = props;
  const { approvals } = useLive();
  const entry = useObservable(approvals.entries, (all) => all.get(approvalId));
  if (!entry || (whenSettled && entry.resolution === null)) return null;
  return <ApprovalCard entry={entry} chatHref={chatHref} />;
});
