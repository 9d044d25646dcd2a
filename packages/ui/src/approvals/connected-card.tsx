import { pendingOf } from '@countersign/approvals';
import { createContext, memo, useContext, useRef } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ApprovalCard } from './approval-card.tsx';
import { DecidedApproval } from './decided-approval.tsx';
import { StepGroup } from './step-group.tsx';
import { useFocusAfterDecision } from './use-focus-after-decision.ts';

interface ConnectedCardProps {
  readonly approvalId: string;
  readonly chatHref?: string | undefined;
}

/** The row of one approval: its card while it waits, then one line. */
export const ConnectedCard = memo(function ConnectedCard({ approvalId, chatHref }: ConnectedCardProps) {
  const { approvals } = useLive();
  const entry = useObservable(approvals.entries, (all) => all.get(approvalId));
  const resolution = entry && entry.sending === null ? entry.resolution : null;
  const row = useRef<HTMLDivElement>(null);
  useFocusAfterDecision(row, resolution !== null, () => row.current?.querySelector('button'));
  return (
    <div ref={row} className="call">
      {entry && !resolution && <ApprovalCard entry={entry} chatHref={chatHref} />}
      {entry && resolution && <DecidedApproval entry={entry} resolution={resolution} />}
    </div>
  );
});

const Placement = createContext(false);

/** True in a narrow view: waiting cards are above the message field instead of at their calls. */
export const CardsAboveInput = Placement.Provider;
export const useCardsAboveInput = (): boolean => useContext(Placement);

/** The pending cards of one conversation, oldest first. */
export function WaitingCards({ sessionId }: { readonly sessionId: string }) {
  const { approvals } = useLive();
  const box = useRef<HTMLDivElement>(null);
  const ids = useObservable(approvals.entries, (all) =>
    pendingOf(all)
      .filter(({ approval }) => approval.session_id === sessionId)
      .map(({ approval }) => `${approval.context.message_id ?? ''}/${approval.approval_id}`)
      .join(' '),
  );
  const steps = Map.groupBy(ids === '' ? [] : ids.split(' '), (id) => id.split('/')[0] as string);
  useFocusAfterDecision(box, ids, () => document.querySelector<HTMLElement>('[data-composer]'));
  return (
    <div ref={box} className="waiting-cards" hidden={ids === ''}>
      {[...steps].map(([messageId, cards]) => (
        <StepGroup key={messageId} messageId={messageId}>
          {cards.map((id) => (
            <ConnectedCard key={id} approvalId={id.split('/')[1] as string} />
          ))}
        </StepGroup>
      ))}
    </div>
  );
}
