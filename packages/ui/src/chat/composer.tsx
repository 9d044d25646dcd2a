import type { AvailableTool } from '@countersign/protocol';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { currentCard, goToCard, pressOnCurrentCard } from '../approvals/card-keys.ts';
import { Button } from '../frame/button.tsx';
import { useInserts, withInsert } from '../host-editor/composer-inserts.ts';
import { useMentions } from '../host-editor/use-mentions.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { type CompletionOption, complete, insertOption } from './completion.ts';
import { CompletionList } from './completion-list.tsx';
import { useDraft } from './use-draft.ts';
import { useRecall } from './use-recall.ts';
import type { WhenBusy } from './use-sending.ts';

interface ComposerProps {
  /** Names the unsent text, which is kept. */
  readonly draft: string;
  /** A card waits in this conversation: keys decide it from the empty field. */
  readonly isWaiting: boolean;
  readonly tools: readonly AvailableTool[];
  readonly placeholder: string;
  readonly isSending: boolean;
  /** Sending is impossible: offline, or no model is configured. */
  readonly isBlocked: boolean;
  readonly problem: string | null;
  /** Stops the run. Set while one is under way: then messages are queued, and a Stop button is shown. */
  readonly onStop: (() => void) | null;
  readonly isStopping: boolean;
  /** Resolves with whether the message was sent. If not, the text stays in the field. */
  onSend(text: string, whenBusy: WhenBusy): Promise<boolean>;
  /** The person's earlier messages, newest first. */
  earlier(): readonly string[];
  /** Take the focus when the field appears, except on a device without a keyboard. */
  readonly takesFocus: boolean;
  /** Above the field. */
  readonly note: ReactNode;
  /** Below the text, left of the buttons. */
  readonly controls: ReactNode;
  /** The suggestion that was clicked last. `count` changes with each click. */
  readonly suggested: { readonly text: string; readonly count: number };
}

/** The message field. After a slash it completes tool calls. */
export function Composer(props: ComposerProps) {
  const { tools, placeholder, isSending, isBlocked, problem, onStop, isStopping, suggested } = props;
  const { onSend, earlier, takesFocus, note, controls, draft, isWaiting } = props;
  const { chat, conversation, said } = useWords();
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useDraft(draft);
  const [caret, setCaret] = useState(text.length);
  const [active, setActive] = useState(-1);
  const [isClosed, setClosed] = useState(text !== '');
  const [insertedCount, setInsertedCount] = useState(suggested.count);
  if (insertedCount !== suggested.count) {
    setInsertedCount(suggested.count);
    setText(suggested.text);
    setCaret(suggested.text.length);
    setClosed(true); // the suggestion is complete: Enter sends it
  }
  useEffect(() => focusUnlessBusy(field.current), []);
  const focusedFor = useRef(suggested.count);
  useEffect(() => {
    if (focusedFor.current === suggested.count) return;
    focusedFor.current = suggested.count;
    field.current?.focus();
    field.current?.setSelectionRange(suggested.text.length, suggested.text.length);
  }, [suggested]);

  const recall = useRecall(earlier);
  const focusesFirst = useRef(takesFocus);
  useEffect(() => {
    // On a phone the focus would open the keyboard over the conversation.
    if (focusesFirst.current && hasKeyboard()) field.current?.focus({ preventScroll: true });
  }, []);

  const mentions = useMentions(text, caret);
  const completion = isClosed ? null : (complete(text, caret, tools) ?? mentions);
  const options = completion?.options ?? [];
  const typed = completion ? text.slice(completion.from, completion.to) : '';

  const change = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    setActive(-1);
    setClosed(false);
  };
  const pick = (option: CompletionOption | undefined) => {
    if (!completion || !option) return;
    const next = insertOption(text, completion, option);
    change(next.text, next.caret);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(next.caret, next.caret);
    });
  };
  const send = async (whenBusy: WhenBusy) => {
    const content = text.trim();
    if (content === '' || isBlocked || isSending) return;
    if (!(await onSend(content, whenBusy))) return;
    // Keep text that was typed while the message was being sent.
    const now = field.current?.value ?? '';
    const rest = now.startsWith(text) ? now.slice(text.length) : now;
    change(rest, rest.length);
    focusUnlessBusy(field.current); // the button that was clicked is gone
  };
  const isSendable = text.trim() === '' && !isSending && !onStop;
  useInserts(
    (insert) => !insert.send || !isSendable || !isBlocked,
    async (insert) => {
      if (insert.send && isSendable && (await onSend(insert.text, 'queue'))) return;
      const next = withInsert(field.current?.value ?? '', insert.text);
      change(next, next.length);
      requestAnimationFrame(() => {
        field.current?.focus();
        field.current?.setSelectionRange(next.length, next.length);
      });
    },
  );
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (completion) {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        return setActive(
          (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length,
        );
      }
      // Enter accepts an option that was chosen or begun; otherwise it sends.
      const accepts = event.key === 'Tab' || (event.key === 'Enter' && (active >= 0 || typed.length > 1));
      if (accepts && !event.shiftKey) {
        event.preventDefault();
        return pick(options[Math.max(0, active)]);
      }
      if (event.key === 'Escape') {
        event.stopPropagation();
        return setClosed(true);
      }
    }
    const isEmpty = text.trim() === '';
    if (event.key === 'Escape' || (event.key === 'ArrowUp' && isEmpty)) {
      const card = currentCard();
      if (card) {
        event.preventDefault();
        return goToCard(card);
      }
    }
    const recalled = recall.textFor(event.key, text, field.current?.selectionStart ?? caret);
    if (recalled !== undefined) {
      event.preventDefault();
      change(recalled, recalled.length);
      return setClosed(true); // it is complete: Enter sends it
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      const hasControl = event.ctrlKey || event.metaKey;
      if (isEmpty && hasControl && !event.repeat) pressOnCurrentCard('y');
      else void send(hasControl ? 'send_now' : 'queue');
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send('queue');
      }}
    >
      {note}
      {problem !== null && <Visible as="p" className="field-problem" role="alert" text={said(problem)} />}
      {completion && (
        <CompletionList
          id={`${id}list`}
          kind={completion.kind}
          options={options}
          active={active}
          optionId={(index) => `${id}option${index}`}
          onPick={pick}
        />
      )}
      <div className="composer-box">
        {/* Before the field, so that Shift+Tab from the text reaches the mode. It is drawn below the text. */}
        <div className="composer-controls">{controls}</div>
        <textarea
          ref={field}
          className="composer-field"
          aria-label={chat.message}
          placeholder={
            isWaiting && hasKeyboard()
              ? chat.placeholderWaiting
              : onStop
                ? conversation.queue.placeholder
                : placeholder
          }
          value={text}
          rows={Math.min(10, text.split('\n').length)}
          data-composer
          aria-controls={completion ? `${id}list` : undefined}
          aria-autocomplete="list"
          aria-activedescendant={completion && active >= 0 ? `${id}option${active}` : undefined}
          onChange={(event) => change(event.target.value, event.target.selectionStart)}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={pressed}
        />
        <div className="composer-buttons">
          {onStop && text.trim() !== '' && (
            <>
              <Button
                disabled={isBlocked || isSending}
                title={`${conversation.queue.sendNowHint} (Ctrl+Enter)`}
                onClick={() => void send('send_now')}
              >
                {conversation.queue.sendNow}
              </Button>
              <Button
                type="submit"
                look="primary"
                disabled={isBlocked || isSending}
                title={conversation.queue.addHint}
              >
                {isSending ? chat.sending : conversation.queue.add}
              </Button>
            </>
          )}
          {onStop ? (
            <Button look="stop" disabled={isStopping} onClick={onStop}>
              {isStopping ? chat.stopping : chat.stop}
            </Button>
          ) : (
            <Button
              type="submit"
              look="primary"
              disabled={isBlocked || isSending || text.trim() === ''}
              title={chat.sendHint}
            >
              {isSending ? chat.sending : chat.send}
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}

/**
 * Moves the focus to the field, unless the person is at something else or has no keyboard at hand: a finger's focus would
 * open the keyboard of a phone.
 */
function focusUnlessBusy(field: HTMLElement | null): void {
  const { activeElement } = document;
  const isFree = activeElement === document.body || field?.closest('form')?.contains(activeElement);
  if (isFree && document.hasFocus() && hasKeyboard()) field?.focus({ preventScroll: true });
}

/** Whether the device has a pointer as with a keyboard, rather than a finger. */
const hasKeyboard = (): boolean => !window.matchMedia?.('(pointer: coarse)').matches;
