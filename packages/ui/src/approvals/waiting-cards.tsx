import { pendingOf } from '@countersign/approvals';
import { createContext, useContext } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ConnectedCard } from './connected-card.tsx';

const Placement = createContext(false);

/** Where the room is narrow: cards that wait stand above the place to write, not at their calls. */
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
