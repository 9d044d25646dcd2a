import { useId } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

interface DecisionButtonsProps {
  readonly isBlocked: boolean;
  readonly needsPreview: boolean;
  /** The preview does not match its digest: the call can only be rejected (AP-8). */
  readonly isUnfit: boolean;
  readonly isSending: boolean;
  onApprove(): void;
  onOpen(form: 'reject' | 'edit' | 'widen'): void;
}

/** The buttons to approve, or to open a form: reject, approve more, edit. */
export function DecisionButtons(props: DecisionButtonsProps) {
  const { isBlocked, needsPreview, isUnfit, isSending, onApprove, onOpen } = props;
  const { approval } = useWords();
  const why = useId();
  const secondary = { look: 'quiet', disabled: isBlocked || isUnfit };
  return (
    <div className="decision">
      <div className="buttons">
        <Button
          look="primary"
          disabled={isBlocked || needsPreview || isUnfit}
          aria-describedby={needsPreview ? why : undefined}
          aria-keyshortcuts="y"
          onClick={onApprove}
        >
          {approval.approve} <kbd>y</kbd>
        </Button>
        <Button disabled={isBlocked} aria-keyshortcuts="n" onClick={() => onOpen('reject')}>
          {approval.reject} <kbd>n</kbd>
        </Button>
        <span className="buttons-gap" />
        <Button {...secondary} aria-keyshortcuts="a" onClick={() => onOpen('widen')}>
          {approval.wider} <kbd>a</kbd>
        </Button>
        <Button {...secondary} aria-keyshortcuts="e" onClick={() => onOpen('edit')}>
          {approval.edit} <kbd>e</kbd>
        </Button>
      </div>
      {needsPreview && (
        <p id={why} className="muted">
          {approval.previewNeeded}
        </p>
      )}
      {isSending && (
        <p role="status" className="muted">
          {approval.sending}
        </p>
      )}
    </div>
  );
}
