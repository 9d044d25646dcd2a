import { useId } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

interface DecisionButtonsProps {
  readonly isBlocked: boolean;
  /** Why it cannot be approved yet: its preview, or the outcome of its trial, is being made. */
  readonly waitsFor: 'preview' | 'trial' | null;
  readonly approveLabel: string;
  /** The preview does not match its digest: the call can only be rejected (AP-8). */
  readonly isUnfit: boolean;
  readonly isSending: boolean;
  onApprove(): void;
  /** Left out if the call cannot be tried first. */
  readonly onTry?: (() => void) | undefined;
  onOpen(form: 'reject' | 'edit' | 'widen'): void;
}

/** The buttons to approve, or to open a form: reject, approve more, edit. */
export function DecisionButtons(props: DecisionButtonsProps) {
  const { isBlocked, waitsFor, approveLabel, isUnfit, isSending, onApprove, onTry, onOpen } = props;
  const { approval } = useWords();
  const why = useId();
  const secondary = { look: 'quiet', disabled: isBlocked || isUnfit };
  return (
    <div className="decision">
      <div className="buttons">
        <Button
          look="primary"
          disabled={isBlocked || waitsFor !== null || isUnfit}
          aria-describedby={waitsFor ? why : undefined}
          aria-keyshortcuts="y"
          onClick={onApprove}
        >
          {approveLabel} <kbd>y</kbd>
        </Button>
        <Button disabled={isBlocked} aria-keyshortcuts="n" onClick={() => onOpen('reject')}>
          {approval.reject} <kbd>n</kbd>
        </Button>
        {onTry && (
          <Button disabled={isBlocked || isUnfit} aria-keyshortcuts="t" onClick={onTry}>
            {approval.tryFirst} <kbd>t</kbd>
          </Button>
        )}
        <span className="buttons-gap" />
        <Button {...secondary} aria-keyshortcuts="a" onClick={() => onOpen('widen')}>
          {approval.wider} <kbd>a</kbd>
        </Button>
        <Button {...secondary} aria-keyshortcuts="e" onClick={() => onOpen('edit')}>
          {approval.edit} <kbd>e</kbd>
        </Button>
      </div>
      {waitsFor && (
        <p id={why} className="muted">
          {waitsFor === 'trial' ? approval.tryingNeeded : approval.previewNeeded}
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
