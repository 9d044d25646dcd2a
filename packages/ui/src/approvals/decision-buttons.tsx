import { useId } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

interface DecisionButtonsProps {
  readonly isBlocked: boolean;
  readonly needsPreview: boolean;
  /** The preview is not what its digest names: it can only be rejected (AP-8). */
  readonly isUnfit: boolean;
  readonly isSending: boolean;
  onApprove(): void;
  onReject(): void;
  onWiden(): void;
  onEdit(): void;
}

/** Approve, reject, approve more, edit first. */
export function DecisionButtons(props: DecisionButtonsProps) {
  const { isBlocked, needsPreview, isUnfit, isSending, onApprove, onReject, onWiden, onEdit } = props;
  const { approval } = useWords();
  const why = useId();
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
        <Button disabled={isBlocked} aria-keyshortcuts="n" onClick={onReject}>
          {approval.reject} <kbd>n</kbd>
        </Button>
        <span className="buttons-gap" />
        <Button look="quiet" disabled={isBlocked || isUnfit} aria-keyshortcuts="a" onClick={onWiden}>
          {approval.wider} <kbd>a</kbd>
        </Button>
        <Button look="quiet" disabled={isBlocked || isUnfit} aria-keyshortcuts="e" onClick={onEdit}>
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
