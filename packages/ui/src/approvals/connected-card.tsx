import { pendingOf } from '@countersign/approvals';
import { createContext, memo, useContext } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ApprovalCard } from './approval-card.tsx';

interface ConnectedCardProps {
  readonly approvalId: string;
  readonly chatHref?: string | undefined;
  /** Show it only once it is settled: while it waits, it is drawn elsewhere. */
  readonly whenSettled?: boolean;
}

/**
 * The card of one approval, if this page knows it. Approvals that were settled before the page was opened are in the
 * history.
 */
export const ConnectedCard = memo(function ConnectedCard(props: ConnectedCardProps) {
  const { approvalId, chatHref, whenSettled = false } = props;
  const { approvals } = useLive();
  const entry = useObservable(approvals.entries, (all) => all.get(approvalId));
  if (!entry || (whenSettled && entry.resolution === null)) return null;
  return <ApprovalCard entry={entry} chatHref={chatHref} />;
});

const Placement = createContext(false);

/** In a narrow view, waiting cards are above the message field instead of at their calls. */
export const CardsAboveInput = Placement.Provider;
export const useCardsAboveInput = (): boolean => useContext(Placement);

/** The cards of one conversation that wait for a decision, oldest first. */
export function WaitingCards({ sessionId }: { readonly sessionId: string }) {
  const { approvals } = useLive();
  const ids = useObservable(approvals.entries, (all) =>
    pendingOf(all)
      .filter(({ approval }) => approval.session_id === sessionId)
      .map(({ approval }) => approval.approval_id)
      .join(' '),
  );
  if (ids === '') return null;
  return (
    <div className="waiting-cards">
      {ids.split(' ').map((id) => (
        <ConnectedCard key={id} approvalId={id} />
      ))}
    </div>
  );
}
