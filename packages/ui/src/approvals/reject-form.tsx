import type { RejectChoice } from '@countersign/approvals';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';
import { submitOnCtrlEnter } from './submit-keys.ts';

interface RejectFormProps {
  readonly isBlocked: boolean;
  onCancel(): void;
  onReject(choice: RejectChoice): void;
}

/** AP-5: a reason and a message for the agent, both optional. */
export function RejectForm({ isBlocked, onCancel, onReject }: RejectFormProps) {
  const { approval } = useWords();
  const id = useId();
  const [reason, setReason] = useState('');
  const [message, setMessage] = useState('');
  return (
    <form
      className="card-form card-step"
      aria-label={approval.rejectTitle}
      onKeyDown={submitOnCtrlEnter}
      onSubmit={(event) => {
        event.preventDefault();
        onReject({
          ...(reason.trim() !== '' && { reason: reason.trim() }),
          ...(message.trim() !== '' && { message: message.trim() }),
        });
      }}
    >
      <label htmlFor={`${id}reason`}>{approval.rejectReason}</label>
      <input
        id={`${id}reason`}
        value={reason}
        maxLength={1000}
        placeholder={approval.rejectReasonHint}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
        autoFocus
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}message`}>{approval.rejectMessage}</label>
      <textarea
        id={`${id}message`}
        value={message}
        rows={2}
        maxLength={4000}
        placeholder={approval.rejectMessageHint}
        onChange={(event) => setMessage(event.target.value)}
      />
      <div className="buttons">
        <Button type="submit" look="danger" disabled={isBlocked}>
          {approval.rejectSend}
        </Button>
        <Button onClick={onCancel}>{approval.cancel}</Button>
      </div>
    </form>
  );
}
