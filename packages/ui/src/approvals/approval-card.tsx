import {
  type ApprovalEntry,
  type ApproveChoice,
  Attention,
  type InputDevice,
  stepBeforeApproval,
  titleOf,
} from '@countersign/approvals';
import { memo, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { cardKey, onMissedKey } from './card-keys.ts';
import { NoticeLine, PreviewSection, Reasons } from './card-parts.tsx';
import { Countdown } from './countdown.tsx';
import { DecisionButtons } from './decision-buttons.tsx';
import { EditForm } from './edit-form.tsx';
import { RejectForm } from './reject-form.tsx';
import { RiskBadge } from './risk-badge.tsx';
import { ScopeForm } from './scope-form.tsx';
import { SettledCard } from './settled-card.tsx';
import { usePresence, useSteadyInView } from './use-attention.ts';
import { useAnswerInView, useStepInView } from './use-in-view.ts';

interface ApprovalCardProps {
  readonly entry: ApprovalEntry;
  /** Link to the call in its conversation; left out inside that conversation. */
  readonly chatHref?: string | undefined;
}

/**
 * What the person is doing on a card. `confirm` is the second step, for HIGH (RK-1) and for a call without a preview.
 */
type Step =
  | { readonly name: 'look' | 'reject' | 'edit' | 'widen' }
  | { readonly name: 'confirm'; readonly choice: ApproveChoice };

const look: Step = { name: 'look' };

/** One request and everything a person can do about it. The same in the chat, in the inbox and in an editor. */
export const ApprovalCard = memo(function ApprovalCard(props: ApprovalCardProps) {
  const { entry, chatHref } = props;
  const { approvals, clock, connection } = useLive();
  // While offline the card may be out of date, so nothing can be decided.
  const isOffline = useObservable(connection, ({ status }) => status !== 'open');
  const { approval, notice } = entry;
  const isSending = entry.sending !== null;
  const resolution = isSending ? null : entry.resolution;
  const words = useWords();
  const titleId = useId();
  const card = useRef<HTMLElement>(null);
  const [attention] = useState(() => new Attention(clock));
  const [step, setStep] = useState<Step>(look);
  const [hint, setHint] = useState<'tooSoon' | 'missedKey' | null>(null);
  const id = approval.approval_id;
  const isHigh = approval.risk_level === 'HIGH';
  const isUnseen = approval.preview === null;
  const stepBefore = stepBeforeApproval(entry);
  const isUnfit = stepBefore === 'unfit';
  const needsPreview = stepBefore === 'wait-for-preview';
  const isBlocked = isSending || isOffline;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision or preview has not been looked at yet
  useEffect(() => {
    attention.restart();
    // Closing the second step removes its buttons: move their focus to the card.
    const confirm = card.current?.querySelector('.confirm');
    if (confirm?.contains(document.activeElement)) card.current?.focus({ preventScroll: true });
    setStep((current) => (current.name === 'confirm' ? look : current));
  }, [attention, approval.digest, approval.revision, approval.risk_level, isUnseen, needsPreview]);

  const wasSettled = useRef(resolution !== null);
  const hadFocus = useRef(false);
  useEffect(() => {
    // The buttons are gone and took the focus with them: give it to the card, so that the keyboard stays here.
    const isLost = hadFocus.current && document.activeElement === document.body;
    if (resolution && !wasSettled.current && isLost) card.current?.focus();
    wasSettled.current = resolution !== null;
  }, [resolution]);

  useEffect(() => (card.current ? onMissedKey(card.current, () => setHint('missedKey')) : undefined), []);
  useStepInView(card, step.name);
  useAnswerInView(card, '.card-hint', hint);
  useAnswerInView(card, '.notice', notice);
  usePresence(card, attention);
  const lookNow = useSteadyInView(card, attention, clock);

  const go = (next: Step) => {
    setHint(null);
    setStep(next);
    attention.restart();
    if (next.name === 'look' || next.name === 'confirm') card.current?.focus({ preventScroll: true });
  };
  /** UI-6: ignores keys and clicks that come before the card has been looked at. */
  const whenSeen = (act: () => void) => {
    if (isBlocked || resolution) return;
    setHint(attention.isGiven ? null : 'tooSoon');
    if (attention.isGiven) act();
  };
  const approve = (choice: ApproveChoice = {}) =>
    whenSeen(() => {
      // The server previews edited parameters itself before it takes them (AP-6).
      if (isUnfit || (needsPreview && choice.tool_params === undefined)) return;
      if (step.name === 'confirm' || stepBefore === null) {
        void approvals.approve(approval, choice);
        go(look);
      } else go({ name: 'confirm', choice });
    });
  const pressed = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && step.name !== 'look') {
      event.stopPropagation();
      return go(look);
    }
    const key = cardKey(event.nativeEvent);
    if (key === undefined || resolution) return;
    event.preventDefault();
    if (key === 'y') approve(step.name === 'confirm' ? step.choice : {});
    else if (key === 'n') whenSeen(() => go({ name: 'reject' }));
    else if (key === 'a') whenSeen(() => go({ name: 'widen' }));
    else whenSeen(() => go({ name: 'edit' }));
  };

  return (
    <article
      ref={card}
      className={`card risk-edge-${approval.risk_level.toLowerCase()} ${resolution ? 'settled' : 'waiting'}`}
      aria-labelledby={titleId}
      data-approval={id}
      data-waiting={resolution === null || undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the card takes the focus so that its keys can decide (UI-6)
      tabIndex={0}
      onKeyDownCapture={() => attention.by('keyboard')}
      onKeyDown={pressed}
      onClickCapture={({ nativeEvent }) => {
        lookNow();
        attention.by(inputDeviceOf(nativeEvent));
      }}
      onFocus={() => {
        hadFocus.current = true;
        attention.focus(true);
        setHint((current) => (current === 'missedKey' ? null : current));
      }}
      onBlur={(event) => {
        const isInside = event.currentTarget.contains(event.relatedTarget);
        hadFocus.current = isInside;
        attention.focus(isInside);
      }}
    >
      <header className="card-head">
        <div className="card-marks">
          <RiskBadge risk={approval.risk_level} />
          <Visible as="code" className="tool-name" text={approval.tool_name} />
          {approval.revision > 1 && (
            <span className="muted">{words.approval.revised(approval.revision)}</span>
          )}
          {!resolution && (
            <Countdown deadline={entry.deadline} totalMs={approval.timeout_seconds * 1000} clock={clock} />
          )}
        </div>
        <h2 id={titleId} className="card-title">
          <Visible text={titleOf(approval, words.approval)} />
        </h2>
      </header>
      {resolution ? (
        <SettledCard entry={entry} resolution={resolution} isAlone={chatHref !== undefined} />
      ) : (
        <>
          <NoticeLine notice={notice} askedAgain={approval.asked_before !== undefined} />
          <PreviewSection entry={entry} />
          <Reasons reasons={approval.reasons} network={approval.network} />
          {chatHref !== undefined && <Origin excerpt={approval.context.excerpt} href={chatHref} />}
          {step.name === 'look' && (
            <DecisionButtons
              isBlocked={isBlocked}
              needsPreview={needsPreview}
              isUnfit={isUnfit}
              isSending={isSending}
              onApprove={() => approve()}
              onReject={() => whenSeen(() => go({ name: 'reject' }))}
              onWiden={() => whenSeen(() => go({ name: 'widen' }))}
              onEdit={() => whenSeen(() => go({ name: 'edit' }))}
            />
          )}
          {step.name === 'confirm' && (
            <div className="confirm card-step">
              <p role="alert">{isHigh ? words.approval.confirmTitle : words.approval.confirmUnseenTitle}</p>
              <div className="buttons">
                {/* It has the focus: the person has just pressed Approve, and Enter must not go on (UI-6). */}
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
              params={approval.tool_params}
              isBlocked={isBlocked || isUnfit}
              onCancel={() => go(look)}
              onApprove={(tool_params) => approve({ tool_params })}
            />
          )}
          {step.name === 'widen' && (
            <ScopeForm
              approval={approval}
              isBlocked={isBlocked || needsPreview || isUnfit}
              onCancel={() => go(look)}
              onApprove={approve}
            />
          )}
        </>
      )}
      <p className="card-hint" role="status">
        {hint !== null && !resolution ? words.approval[hint] : ''}
      </p>
    </article>
  );
});

/** A click with a count of 0 was made by Enter or Space. */
function inputDeviceOf(click: MouseEvent): InputDevice {
  if (click.detail === 0) return 'keyboard';
  return 'pointerType' in click && click.pointerType === 'touch' ? 'touch' : 'pointer';
}

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
