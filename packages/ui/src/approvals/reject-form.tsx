import type { RejectChoice } from '@countersign/approvals';
import { type KeyboardEvent, useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';
import { submitOnCtrlEnter } from './submit-keys.ts';

interface RejectFormProps {
  readonly isBlocked: boolean;
  onCancel(): void;
  onReject(choice: RejectChoice): void;
}

/** Rejects the call, with a message for the agent if the person writes one (AP-5). */
export function RejectForm({ isBlocked, onCancel, onReject }: RejectFormProps) {
  const { approval } = useWords();
  const id = useId();
  const [text, setText] = useState('');
  const message = text.trim();
  /** Enter is a new line of the message; in the empty field it rejects. */
  const pressed = (event: KeyboardEvent<HTMLFormElement>) => {
    const isField = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Enter' && isField && text === '' && !event.repeat && !event.nativeEvent.isComposing) {
      event.preventDefault();
      event.currentTarget.requestSubmit();
    } else submitOnCtrlEnter(event);
  };
  return (
    <form
      className="card-form card-step"
      aria-label={approval.rejectTitle}
      onKeyDown={pressed}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBlocked) onReject(message === '' ? {} : { message });
      }}
    >
      <label htmlFor={id}>{approval.rejectMessage}</label>
      <textarea
        id={id}
        value={text}
        rows={2}
        maxLength={4000}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
        autoFocus
        onChange={(event) => setText(event.target.value)}
      />
      <div className="buttons">
        <Button type="submit" look="danger" disabled={isBlocked}>
          {approval.rejectSend} <kbd>Ctrl ↵</kbd>
        </Button>
        <Button onClick={onCancel}>{approval.cancel}</Button>
      </div>
    </form>
  );
}
