import { memo, useRef } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { ApprovalCard } from './approval-card.tsx';
import { DecidedApproval } from './decided-approval.tsx';
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
