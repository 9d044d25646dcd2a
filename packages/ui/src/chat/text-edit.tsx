import { useEffect, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';

interface TextEditProps {
  readonly label: string;
  readonly initial: string;
  /** A sentence below the field, or null. */
  readonly note: string | null;
  readonly submitName: string;
  readonly cancelName: string;
  onSubmit(text: string): void;
  onCancel(): void;
}

/** A field in the place of a message that changes its text. Enter submits, Escape cancels. */
export function TextEdit({
  label,
  initial,
  note,
  submitName,
  cancelName,
  onSubmit,
  onCancel,
}: TextEditProps) {
  const [text, setText] = useState(initial);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(initial.length, initial.length);
  }, [initial]);
  const content = text.trim();
  return (
    <form
      className="text-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (content !== '') onSubmit(content);
      }}
    >
      <textarea
        ref={field}
        aria-label={label}
        value={text}
        rows={Math.min(8, text.split('\n').length)}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === 'Escape') {
            event.stopPropagation();
            onCancel();
          } else if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault();
            if (content !== '') onSubmit(content);
          }
        }}
      />
      {note !== null && (
        <p className="muted" role="status">
          {note}
        </p>
      )}
      <div className="queued-buttons">
        <Button look="quiet small" onClick={onCancel}>
          {cancelName}
        </Button>
        <Button type="submit" look="primary small" disabled={content === ''}>
          {submitName}
        </Button>
      </div>
    </form>
  );
}
