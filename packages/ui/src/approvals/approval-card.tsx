import {
  type ApprovalEntry,
  type ApproveChoice,
  Attention,
  approvalOfTrial,
  isSeenLongEnough,
  stepBeforeApproval,
  titleOf,
  trialOf,
} from '@countersign/approvals';
import { memo, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { OpenDiffButton } from '../host-editor/open-diff-button.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { approveGroupOf, type CardKey, cardKey, cardsChanged, onCardKey } from './card-keys.ts';
import { CardReasons, NoticeLine, PreviewSection } from './card-parts.tsx';
import { Countdown } from './countdown.tsx';
import { DecisionButtons } from './decision-buttons.tsx';
import { EditForm } from './edit-form.tsx';
import { RejectForm } from './reject-form.tsx';
import { RiskBadge } from './risk-badge.tsx';
import { ScopeForm } from './scope-form.tsx';
import { seenKey } from './seen-cards.ts';
import { useSight } from './use-attention.ts';
import { useMessageInView, useStepInView } from './use-in-view.ts';

interface ApprovalCardProps {
  readonly entry: ApprovalEntry;
  /** Link to the call in its conversation; left out inside that conversation. */
  readonly chatHref?: string | undefined;
}

/** The form that a card shows. `confirm` is the second step for a HIGH call (RK-1), or for a call without a preview. */
type Step =
  | { readonly name: 'look' | 'reject' | 'edit' | 'widen' }
  | { readonly name: 'confirm'; readonly choice: ApproveChoice };

const look: Step = { name: 'look' };
const stepOfKey = { n: 'reject', a: 'widen', e: 'edit' } as const;

/** One request that waits, and everything a person can do about it. The same in the chat, in the inbox and in an editor. */
export const ApprovalCard = memo(function ApprovalCard(props: ApprovalCardProps) {
  const { entry, chatHref } = props;
  const { approvals, clock, connection, seen } = useLive();
  // While offline the card may be out of date, so nothing can be decided.
  const isOffline = useObservable(connection, ({ status }) => status !== 'open');
  const { approval, notice } = entry;
  const isSending = entry.sending !== null;
  const words = useWords();
  const titleId = useId();
  const card = useRef<HTMLElement>(null);
  const [attention] = useState(() => new Attention(clock));
  const [step, setStep] = useState<Step>(look);
  const [refusal, setRefusal] = useState<'tooSoon' | 'notAllSeen' | null>(null);
  /** Since when the card shows what it shows. */
  const changedAt = useRef(clock.monotonic());
  /** Since when keys decide this card because the one before it is gone. */
  const tookOverAt = useRef<number | null>(null);
  const id = approval.approval_id;
  const isHigh = approval.risk_level === 'HIGH';
  const isUnseen = approval.preview === null;
  const stepBefore = stepBeforeApproval(entry);
  const isUnfit = stepBefore === 'unfit';
  const waitsFor =
    stepBefore === 'wait-for-preview' ? 'preview' : stepBefore === 'wait-for-trial' ? 'trial' : null;
  const trial = trialOf(approval);
  const isBlocked = isSending || isOffline;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision or preview has not been looked at yet
  useEffect(() => {
    attention.restart();
    changedAt.current = clock.monotonic();
    // Closing the second step removes its buttons: move their focus to the card.
    const confirm = card.current?.querySelector('.confirm');
    if (confirm?.contains(document.activeElement)) card.current?.focus({ preventScroll: true });
    setStep((current) => (current.name === 'confirm' ? look : current));
  }, [attention, clock, approval.digest, approval.revision, approval.risk_level, isUnseen, waitsFor]);

  useStepInView(card, step.name);
  useMessageInView(card, '.card-hint', refusal === 'tooSoon' ? refusal : null);
  useMessageInView(card, '.notice', notice);
  const content = `${seenKey(approval)} ${isUnseen} ${waitsFor}`;
  const sight = useSight(card, attention, content, () => {
    const key = seenKey(approval);
    if (step.name === 'look' && seen.get().get(id) !== key) seen.update((all) => new Map(all).set(id, key));
  });

  const go = (next: Step) => {
    setRefusal(null);
    setStep(next);
    attention.restart();
    // Approving all calls of the step must not pass over what the person is writing here.
    if (next.name !== 'look') seen.update((all) => new Map([...all].filter(([known]) => known !== id)));
    // A form that closes loses the focus, so move the focus to the card. A key pressed outside the card leaves the
    // focus alone.
    if (next.name === 'look' && card.current?.contains(document.activeElement))
      card.current.focus({ preventScroll: true });
  };
  /** UI-6: ignores keys and clicks that come before the card has been looked at. */
  const whenSeen = (act: () => void) => {
    if (isBlocked) return;
    sight.lookNow();
    if (attention.isGiven) {
      setRefusal(null);
      act();
    } else setRefusal(sight.showUnseen() ? 'notAllSeen' : 'tooSoon');
  };
  const approve = (choice: ApproveChoice = {}) =>
    whenSeen(() => {
      // Edited parameters do not need this preview: the server has them previewed again (AP-6).
      if (isUnfit || waitsFor === 'trial' || (waitsFor && choice.tool_params === undefined)) return;
      if (step.name === 'confirm' || stepBefore === null) {
        void approvals.approve(approval, choice);
        go(look);
      } else go({ name: 'confirm', choice });
    });
  const canTry = entry.isTryable && waitsFor === null && step.name === 'look';
  /** A trial decides nothing, so that not all of a tall card need have been in sight. */
  const tryFirst = () => {
    if (!canTry || isBlocked) return;
    if (isSeenLongEnough(changedAt.current, clock)) void approvals.tryFirst(approval);
    else setRefusal('tooSoon');
  };
  const openForm = (name: 'reject' | 'edit' | 'widen') => whenSeen(() => go({ name }));
  const pressed = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && step.name !== 'look') {
      event.stopPropagation();
      return go(look);
    }
    const key = cardKey(event.nativeEvent);
    if (key === undefined) return;
    event.preventDefault();
    act(key);
  };
  const act = (key: CardKey) => {
    // Ignore a key that was meant for the card before this one, which disappeared a moment ago.
    if (tookOverAt.current !== null && !isSeenLongEnough(tookOverAt.current, clock))
      return setRefusal('tooSoon');
    if (key === 'Y') approveGroupOf(card.current);
    else if (key === 'y') approve(step.name === 'confirm' ? step.choice : {});
    else if (key === 't') tryFirst();
    else openForm(stepOfKey[key]);
  };
  const tookOver = () => {
    tookOverAt.current = clock.monotonic();
  };
  useEffect(() => (card.current ? onCardKey(card.current, { act, tookOver }) : undefined));
  useEffect(() => {
    cardsChanged();
    return cardsChanged;
  }, []);

  return (
    <article
      ref={card}
      className={`card risk-edge-${approval.risk_level.toLowerCase()} waiting`}
      aria-labelledby={titleId}
      data-approval={id}
      data-waiting
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the card takes the focus so that its keys can decide (UI-6)
      tabIndex={0}
      onKeyDown={pressed}
    >
      <header className="card-head">
        <div className="card-marks">
          <RiskBadge risk={approval.risk_level} />
          <Visible as="code" className="tool-name" text={approval.tool_name} />
          {approval.revision > 1 && (
            <span className="muted">{words.approval.revised(approval.revision)}</span>
          )}
          <Countdown deadline={entry.deadline} totalMs={approval.timeout_seconds * 1000} clock={clock} />
          <OpenDiffButton approval={approval} />
        </div>
        <h2 id={titleId} className="card-title">
          <Visible text={titleOf(approval, words.approval)} />
        </h2>
      </header>
      <NoticeLine notice={notice} askedAgain={approval.asked_before !== undefined} />
      <PreviewSection entry={entry} />
      <CardReasons approval={approval} />
      {chatHref !== undefined && <Origin excerpt={approval.context.excerpt} href={chatHref} />}
      {step.name === 'look' && (
        <DecisionButtons
          isBlocked={isBlocked}
          waitsFor={waitsFor}
          approveLabel={
            trial && approvalOfTrial(trial) === 'land'
              ? words.approval.approveChanges
              : words.approval.approve
          }
          isUnfit={isUnfit}
          isSending={isSending}
          onApprove={() => approve()}
          onTry={canTry ? tryFirst : undefined}
          onOpen={openForm}
        />
      )}
      {step.name === 'confirm' && (
        <div className="confirm card-step">
          <p role="alert">{isHigh ? words.approval.confirmTitle : words.approval.confirmUnseenTitle}</p>
          <div className="buttons">
            {/* Focused, so that a second Enter after Approve goes back instead of confirming (UI-6). */}
            <Button autoFocus onClick={() => go(look)}>
              {words.approval.back}
            </Button>
            <Button look="danger" disabled={isBlocked} onClick={() => approve(step.choice)}>
              {isHigh ? words.approval.confirm : words.approval.confirmUnseen} <kbd>y</kbd>
            </Button>
          </div>
        </div>
      )}
      {step.name === 'reject' && (
        <RejectForm
          isBlocked={isBlocked}
          onCancel={() => go(look)}
          onReject={(choice) => void approvals.reject(approval, choice)}
        />
      )}
      {step.name === 'edit' && (
        <EditForm
          toolName={approval.tool_name}
          params={approval.tool_params}
          isBlocked={isBlocked || isUnfit || waitsFor === 'trial'}
          onCancel={() => go(look)}
          onApprove={(tool_params) => approve({ tool_params })}
        />
      )}
      {step.name === 'widen' && (
        <ScopeForm
          approval={approval}
          isBlocked={isBlocked || waitsFor !== null || isUnfit}
          onCancel={() => go(look)}
          onApprove={approve}
        />
      )}
      <p className="card-hint" role="status">
        {refusal === null ? '' : words.approval[refusal]}
      </p>
    </article>
  );
});

/** Where in the conversation the call came from (AP-1). */
function Origin({ excerpt, href }: { readonly excerpt: string; readonly href: string }) {
  const words = useWords();
  return (
    <div className="origin">
      <p className="label">{words.approval.from}</p>
      {excerpt !== '' && <Visible as="blockquote" text={excerpt} />}
      <a href={href}>{words.approval.openChat}</a>
    </div>
  );
}
