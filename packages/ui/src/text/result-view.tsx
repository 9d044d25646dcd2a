import type { JsonValue } from '@countersign/protocol';
import { useWords } from '../words/words.ts';
import { JsonView, TextBlock } from './json-view.tsx';

/** What a call came to: the output of a command, the content of a file, or the result as JSON. */
export function ResultView({ result }: { readonly result: JsonValue }) {
  const { call } = useWords();
  if (!isObject(result)) return <Block label={call.result} text={String(result)} />;
  const { stdout, stderr, exit_code, content, ...rest } = result;
  if (typeof stdout === 'string' || typeof stderr === 'string') {
    const isEmpty = !stdout && !stderr;
    return (
      <>
        {typeof exit_code === 'number' && (
          <p className={exit_code === 0 ? 'muted' : 'caution'}>{call.exit(exit_code)}</p>
        )}
        {typeof stdout === 'string' && stdout !== '' && (
          <Block label={`${call.output} · stdout`} text={stdout} />
        )}
        {typeof stderr === 'string' && stderr !== '' && (
          <Block label={`${call.output} · stderr`} text={stderr} />
        )}
        {isEmpty && <p className="muted">{call.noOutput}</p>}
      </>
    );
  }
  if (typeof content === 'string') {
    return (
      <>
        <Block label={call.result} text={content} />
        <JsonView value={rest} />
      </>
    );
  }
  return (
    <>
      <p className="label">{call.result}</p>
      <JsonView value={result} />
    </>
  );
}

function Block({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <>
      <p className="label">{label}</p>
      <TextBlock text={text} />
    </>
  );
}

const isObject = (value: JsonValue): value is { [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
