import type { JsonValue } from '@countersign/protocol';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { CodeBlock } from '../text/code-block.tsx';
import { Visible, visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { submitOnCtrlEnter } from './submit-keys.ts';

type Params = Readonly<Record<string, JsonValue>>;

interface EditFormProps {
  readonly params: Params;
  readonly isBlocked: boolean;
  onCancel(): void;
  onApprove(params: Record<string, JsonValue>): void;
}

/** AP-6: the parameters as fields or as JSON. What is sent is validated and assessed again by the server. */
export function EditForm({ params, isBlocked, onCancel, onApprove }: EditFormProps) {
  const { approval } = useWords();
  const id = useId();
  const [mode, setMode] = useState<'fields' | 'json'>('fields');
  const [text, setText] = useState(() => JSON.stringify(params, null, 2));
  const parsed = parseObject(text);
  const current = parsed.ok ? parsed.value : params;
  const setField = (name: string, value: JsonValue) =>
    setText(JSON.stringify({ ...current, [name]: value }, null, 2));

  return (
    <form
      className="card-form card-step"
      aria-label={approval.editTitle}
      onKeyDown={submitOnCtrlEnter}
      onSubmit={(event) => {
        event.preventDefault();
        if (parsed.ok) onApprove(parsed.value);
      }}
    >
      <fieldset className="segmented">
        <legend className="visually-hidden">{approval.editTitle}</legend>
        <button
          type="button"
          aria-pressed={mode === 'fields'}
          disabled={!parsed.ok}
          onClick={() => setMode('fields')}
        >
          {approval.editFields}
        </button>
        <button type="button" aria-pressed={mode === 'json'} onClick={() => setMode('json')}>
          {approval.editJson}
        </button>
      </fieldset>
      {mode === 'fields' ? (
        Object.entries(current).map(([name, value], index) => (
          <Field
            key={name}
            name={name}
            value={value}
            isFirst={index === 0}
            onChange={(next) => setField(name, next)}
          />
        ))
      ) : (
        <>
          <label htmlFor={`${id}json`}>{approval.editJson}</label>
          <textarea
            id={`${id}json`}
            className="code-field"
            rows={Math.min(20, text.split('\n').length + 1)}
            value={text}
            spellCheck={false}
            aria-invalid={!parsed.ok}
            onChange={(event) => setText(event.target.value)}
          />
        </>
      )}
      {!parsed.ok && (
        <Visible as="p" className="field-problem" role="alert" text={approval.editInvalid(parsed.problem)} />
      )}
      <HiddenCharacters text={text} />
      <p className="muted">{approval.editHint}</p>
      <div className="buttons">
        <Button type="submit" look="primary" disabled={isBlocked || !parsed.ok}>
          {approval.editApprove}
        </Button>
        <Button onClick={onCancel}>{approval.cancel}</Button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly name: string;
  readonly value: JsonValue;
  readonly isFirst: boolean;
  onChange(value: JsonValue): void;
}

function Field({ name, value, isFirst, onChange }: FieldProps) {
  const id = useId();
  const label = (
    <label htmlFor={id}>
      <Visible as="code" text={name} />
    </label>
  );
  if (typeof value === 'boolean') {
    return (
      <div className="check-field">
        <input id={id} type="checkbox" checked={value} onChange={(event) => onChange(event.target.checked)} />
        {label}
      </div>
    );
  }
  if (typeof value === 'number') {
    return (
      <>
        {label}
        <input
          id={id}
          type="number"
          value={value}
          onChange={(event) => onChange(event.target.value === '' ? 0 : Number(event.target.value))}
        />
      </>
    );
  }
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    // One word on a line: quotes and spaces need no escaping.
    return (
      <>
        {label}
        <textarea
          id={id}
          className="code-field"
          rows={Math.max(2, value.length + 1)}
          value={value.join('\n')}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value === '' ? [] : event.target.value.split('\n'))}
        />
      </>
    );
  }
  if (typeof value !== 'string') return null; // deeper values are edited as JSON
  return (
    <>
      {label}
      <textarea
        id={id}
        className="code-field"
        rows={Math.min(16, value.split('\n').length)}
        value={value}
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
        autoFocus={isFirst}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  );
}

/** Names the hidden characters of a text: a form field does not show them. */
function HiddenCharacters({ text }: { readonly text: string }) {
  const visible = visibleText(text);
  if (visible === text) return null;
  const lines = visible.split('\n').filter((line) => line.includes('⟨U+'));
  return (
    <CodeBlock className="caution">
      <Visible text={lines.join('\n')} />
    </CodeBlock>
  );
}

function parseObject(
  text: string,
): { ok: true; value: Record<string, JsonValue> } | { ok: false; problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { ok: true, value: value as Record<string, JsonValue> };
    }
    return { ok: false, problem: typeof value };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
