import { type ApprovalEntry, Attention, pendingOf, stepBeforeApproval } from '@countersign/approvals';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useWords } from '../words/words.ts';
import { seenKey } from './seen-cards.ts';
import { useSight } from './use-attention.ts';

interface StepGroupProps {
  /** The message whose calls wait. */
  readonly messageId: string;
  readonly children: ReactNode;
}

/**
 * The calls of one step. If several of them wait, they form a group with one button that approves all cards that the
 * person has seen, except HIGH calls (RK-1) and calls without a preview, which must be confirmed one by one.
 */
export function StepGroup({ messageId, children }: StepGroupProps) {
  const waiting = useWaitingOf(messageId);
  const able = waiting.filter((entry) => stepBeforeApproval(entry) === null);
  return (
    <div className={waiting.length > 1 ? 'step-group several' : 'step-group'} data-step-group>
      {children}
      {able.length > 1 && <ApproveAll able={able} others={waiting.length - able.length} />}
    </div>
  );
}

/** The requests of one message that wait for a decision. */
function useWaitingOf(messageId: string): readonly ApprovalEntry[] {
  const { approvals } = useLive();
  const ids = useObservable(approvals.entries, (all) =>
    pendingOf(all)
      .filter(({ approval, sending }) => sending === null && approval.context.message_id === messageId)
      .map(({ approval }) => approval.approval_id)
      .join(' '),
  );
  const all = useObservable(approvals.entries, (entries) => entries);
  return ids === '' ? [] : ids.split(' ').flatMap((id) => all.get(id) ?? []);
}

interface ApproveAllProps {
  /** The requests that can be approved without a further question. */
  readonly able: readonly ApprovalEntry[];
  /** How many others of the step wait. */
  readonly others: number;
}

function ApproveAll({ able, others }: ApproveAllProps) {
  const { approval: words } = useWords();
  const { approvals, clock, connection, seen } = useLive();
  const isOffline = useObservable(connection, ({ status }) => status !== 'open');
  const seenCards = useObservable(seen, (all) => all);
  const bar = useRef<HTMLDivElement>(null);
  const [sight] = useState(() => new Attention(clock));
  const [readiness] = useState(() => new Attention(clock));
  const [isTooSoon, setTooSoon] = useState(false);
  const { lookNow } = useSight(bar, sight);
  const looked = able.filter(({ approval }) => seenCards.get(approval.approval_id) === seenKey(approval));
  const isReady = looked.length === able.length;
  const shown = able.map(({ approval }) => `${approval.approval_id} ${seenKey(approval)}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new set of calls must be looked at first (UI-6)
  useEffect(() => {
    readiness.setInSight(false);
    readiness.setInSight(isReady);
  }, [readiness, isReady, shown]);
  /** UI-6: ignores a key that was typed ahead, and a click that came before the button was in sight for long enough. */
  const approveAll = async (isClick: boolean) => {
    lookNow();
    const isMeant = readiness.isGiven && (sight.isGiven || !isClick);
    setTooSoon(!isMeant);
    if (!isMeant) return;
    for (const { approval } of able) await approvals.approve(approval);
  };
  return (
    <div ref={bar} className="approve-all">
      <Button
        look="primary"
        data-approve-all
        aria-keyshortcuts="Shift+Y"
        disabled={isOffline || !isReady}
        onClick={({ detail }) => void approveAll(detail > 0)}
      >
        {words.approveAll(able.length)} <kbd>⇧Y</kbd>
      </Button>
      <span className="muted" role="status">
        {isTooSoon ? words.tooSoon : isReady ? '' : words.lookAtEach(looked.length, able.length)}
        {others > 0 && ` ${words.ownStep(others)}`}
      </span>
    </div>
  );
}
