import { type ApprovalEntries, oldestFirst } from '@countersign/approvals';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { links } from '../frame/links.ts';
import { EmptyState, LoadingState } from '../frame/states.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useWords } from '../words/words.ts';
import { ConnectedCard } from './connected-card.tsx';

interface InboxProps {
  /** The card to focus, after a click on its notification. */
  readonly approvalId?: string | null;
}

/** The pending approvals, oldest first. A decided card stays in its place until the person clears it. */
export function Inbox({ approvalId = null }: InboxProps) {
  const { inbox, nav } = useWords();
  const { approvals } = useLive();
  const entries = useObservable(approvals.entries, (all) => all);
  // Hide approvals that were settled before this screen was opened.
  const [hidden] = useState(() => settledIds(approvals.entries.get()));
  const shown = oldestFirst(
    [...entries.values()].filter(({ approval }) => !hidden.has(approval.approval_id)),
  );
  const waiting = shown.filter(({ resolution }) => resolution === null).length;
  const cards = useRef<HTMLDivElement>(null);
  const isTargetShown = shown.some(({ approval }) => approval.approval_id === approvalId);
  useEffect(() => {
    if (!isTargetShown) return;
    const card = [...(cards.current?.querySelectorAll<HTMLElement>('[data-approval]') ?? [])].find(
      ({ dataset }) => dataset.approval === approvalId,
    );
    card?.scrollIntoView({ block: 'nearest' });
    card?.focus({ preventScroll: true });
  }, [approvalId, isTargetShown]);
  return (
    <section className="screen" aria-labelledby="inbox-title">
      <header className="screen-head">
        <h1 id="inbox-title">{inbox.title}</h1>
        {waiting > 0 && (
          <p className="muted">
            {nav.waiting(waiting)}. <span className="keyboard-hint">{inbox.hint}</span>
          </p>
        )}
        {waiting < shown.length && (
          <Button look="quiet" onClick={() => approvals.forgetSettled()}>
            {inbox.clear}
          </Button>
        )}
      </header>
      {shown.length === 0 && <NothingShown />}
      <div className="cards" ref={cards}>
        {shown.map(({ approval }) => (
          <ConnectedCard
            key={approval.approval_id}
            approvalId={approval.approval_id}
            chatHref={links.chat(approval.session_id, approval.tool_id)}
          />
        ))}
      </div>
    </section>
  );
}

/** Says that no approval is pending, or that this is unknown without a connection. */
function NothingShown() {
  const { inbox } = useWords();
  const { connection } = useLive();
  const status = useObservable(connection, (state) => state.status);
  if (status === 'open') return <EmptyState title={inbox.empty} hint={inbox.emptyHint} />;
  if (status === 'connecting') return <LoadingState />;
  return <EmptyState title={inbox.unknown} hint={inbox.unknownHint} />;
}

const settledIds = (entries: ApprovalEntries): ReadonlySet<string> =>
  new Set([...entries].flatMap(([id, { resolution }]) => (resolution ? [id] : [])));
