import type { AvailableTool } from '@countersign/protocol';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { type CompletionOption, complete, insertOption } from './completion.ts';
import { CompletionList } from './completion-list.tsx';

interface ComposerProps {
  readonly tools: readonly AvailableTool[];
  readonly placeholder: string;
  readonly isSending: boolean;
  /** Sending is impossible: offline, or no model is configured. */
  readonly isBlocked: boolean;
  readonly problem: string | null;
  /** Set while a run is under way: Stop replaces Send. */
  readonly onStop: (() => void) | null;
  readonly isStopping: boolean;
  /** Resolves with whether it was sent; if not, the text stays. */
  onSend(text: string): Promise<boolean>;
  readonly footer: ReactNode;
  /** The suggestion that was clicked last. `count` changes with each click. */
  readonly suggested: { readonly text: string; readonly count: number };
}

/** Where the person writes: a message, or a tool call with completion after a slash. */
export function Composer(props: ComposerProps) {
  const { tools, placeholder, isSending, isBlocked, problem, onStop, isStopping, onSend, footer, suggested } =
    props;
  const { chat, said } = useWords();
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState('');
  const [caret, setCaret] = useState(0);
  const [active, setActive] = useState(-1);
  const [isClosed, setClosed] = useState(false);
  const [isEarly, setEarly] = useState(false);
  if (isEarly && !onStop) setEarly(false); // the run has ended: forget it
  const [taken, setTaken] = useState(suggested.count);
  if (taken !== suggested.count) {
    setTaken(suggested.count);
    setText(suggested.text);
    setCaret(suggested.text.length);
    setClosed(true); // the call is complete: Enter sends it
  }
  const focusedFor = useRef(suggested.count);
  useEffect(() => {
    if (focusedFor.current === suggested.count) return;
    focusedFor.current = suggested.count;
    field.current?.focus();
    field.current?.setSelectionRange(suggested.text.length, suggested.text.length);
  }, [suggested]);

  const completion = isClosed ? null : complete(text, caret, tools);
  const options = completion?.options ?? [];
  const typed = completion ? text.slice(completion.from, completion.to) : '';

  const change = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    setActive(-1);
    setClosed(false);
    setEarly(false);
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
  const send = async () => {
    const content = text.trim();
    setEarly(content !== '' && onStop !== null);
    if (content === '' || isBlocked || isSending || onStop) return;
    if (!(await onSend(content))) return;
    // Keep what was typed while the message was being sent.
    const now = field.current?.value ?? '';
    const rest = now.startsWith(text) ? now.slice(text.length) : now;
    change(rest, rest.length);
  };
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
      const takes = event.key === 'Tab' || (event.key === 'Enter' && (active >= 0 || typed.length > 1));
      if (takes && !event.shiftKey) {
        event.preventDefault();
        return pick(options[Math.max(0, active)]);
      }
      if (event.key === 'Escape') {
        event.stopPropagation();
        return setClosed(true);
      }
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void send();
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {problem !== null && <Visible as="p" className="field-problem" role="alert" text={said(problem)} />}
      {isEarly && (
        <p className="field-problem" role="status">
          {chat.early}
        </p>
      )}
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
        <textarea
          ref={field}
          className="composer-field"
          aria-label={chat.message}
          placeholder={placeholder}
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
      <div className="composer-foot">{footer}</div>
    </form>
  );
}
