import { commandLine, commandWords } from '@countersign/approvals';
import { type JsonValue, messageOf } from '@countersign/protocol';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { CodeBlock } from '../text/code-block.tsx';
import { Visible, visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { submitOnCtrlEnter } from './submit-keys.ts';

type Params = Readonly<Record<string, JsonValue>>;

interface EditFormProps {
  readonly toolName: string;
  readonly params: Params;
  readonly isBlocked: boolean;
  onCancel(): void;
  onApprove(params: Record<string, JsonValue>): void;
}

/** Edits the parameters as fields or as JSON (AP-6). The server validates and assesses them again. */
export function EditForm({ toolName, params, isBlocked, onCancel, onApprove }: EditFormProps) {
  const { approval } = useWords();
  const id = useId();
  const [mode, setMode] = useState<'fields' | 'json'>('fields');
  const [text, setText] = useState(() => JSON.stringify(params, null, 2));
  const parsed = parseObject(text);
  const current = parsed.ok ? parsed.value : params;
  const setField = (change: Params) => setText(JSON.stringify({ ...current, ...change }, null, 2));

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
        <ToolFields toolName={toolName} params={current} onChange={setField} />
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
        <Button
          type="submit"
          look="primary"
          aria-keyshortcuts="Control+Enter"
          disabled={isBlocked || !parsed.ok}
        >
          {approval.editApprove} <kbd>Ctrl ↵</kbd>
        </Button>
        <Button onClick={onCancel}>{approval.cancel}</Button>
      </div>
    </form>
  );
}

/** The parameter that a person edits most: it comes first and has the room that it needs. */
const mainParameter: Readonly<Record<string, string>> = {
  write_file: 'content',
  edit_file: 'new',
  shell_exec: 'command',
  shell_background: 'command',
  execute_command: 'command',
  git_commit: 'message',
  git_branch: 'name',
  search_files: 'content',
};

interface ToolFieldsProps {
  readonly toolName: string;
  readonly params: Params;
  onChange(change: Params): void;
}

/** The fields of a tool: its main parameter, a command as one line, and the others below. */
function ToolFields({ toolName, params, onChange }: ToolFieldsProps) {
  const { approval } = useWords();
  const wanted = Object.hasOwn(mainParameter, toolName) ? mainParameter[toolName] : undefined;
  const main = wanted !== undefined && typeof params[wanted] === 'string' ? wanted : undefined;
  const words = toolName === 'execute_command' ? wordsOf(params) : undefined;
  const shown = words ? ['command', 'args'] : main === undefined ? Object.keys(params) : [main];
  const fields = (names: readonly string[], isFirst: boolean) =>
    names.map((name, index) => (
      <Field
        key={name}
        name={name}
        value={params[name] as JsonValue}
        isFirst={isFirst && index === 0}
        onChange={(value) => onChange({ [name]: value })}
      />
    ));
  const others = Object.keys(params).filter((name) => !shown.includes(name));
  return (
    <>
      {words ? <CommandField words={words} onChange={onChange} /> : fields(shown, true)}
      {others.length > 0 && (
        <details className="raw">
          <summary>{approval.editOthers}</summary>
          {fields(others, false)}
        </details>
      )}
    </>
  );
}

function wordsOf({ command, args = [] }: Params): readonly string[] | undefined {
  if (typeof command !== 'string' || !Array.isArray(args)) return undefined;
  return args.every((word) => typeof word === 'string') ? [command, ...(args as string[])] : undefined;
}

/** A program and its arguments as one line. The form cannot be sent while the line cannot be read. */
function CommandField({
  words,
  onChange,
}: Pick<ToolFieldsProps, 'onChange'> & { readonly words: readonly string[] }) {
  const { approval } = useWords();
  const id = useId();
  const [line, setLine] = useState(() => commandLine(words));
  const isReadable = (commandWords(line)?.length ?? 0) > 0;
  return (
    <>
      <label htmlFor={id}>{approval.editCommand}</label>
      <textarea
        id={id}
        className="code-field"
        rows={Math.min(6, line.split('\n').length)}
        value={line}
        spellCheck={false}
        aria-invalid={!isReadable}
        ref={(field) => field?.setCustomValidity(isReadable ? '' : approval.editCommandInvalid)}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
        autoFocus
        onChange={({ target }) => {
          setLine(target.value);
          const [command, ...args] = commandWords(target.value) ?? [];
          if (command !== undefined) onChange({ command, args });
        }}
      />
      {!isReadable && (
        <p className="field-problem" role="alert">
          {approval.editCommandInvalid}
        </p>
      )}
    </>
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
    // One item per line, so that quotes and spaces need no escaping.
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

/** Shows the lines of a text that contain hidden characters, which a form field does not show. */
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
    return { ok: false, problem: messageOf(error) };
  }
}
