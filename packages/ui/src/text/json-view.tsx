import { memo, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';
import { CodeBlock } from './code-block.tsx';
import { Visible } from './visible.tsx';

/** Number of characters of a long text that are shown at first. */
const shownAtFirst = 20_000;

/** A value as JSON; a string as it is. */
export const JsonView = memo(function JsonView({ value }: { readonly value: unknown }) {
  return <TextBlock text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} />;
});

function TextBlock({ text }: { readonly text: string }) {
  const words = useWords();
  const [isWhole, setWhole] = useState(false);
  const rest = isWhole ? 0 : Math.max(0, text.length - shownAtFirst);
  return (
    <>
      <CodeBlock>
        <Visible text={rest > 0 ? text.slice(0, shownAtFirst) : text} />
      </CodeBlock>
      {rest > 0 && (
        <Button look="quiet" onClick={() => setWhole(true)}>
          {words.call.cut(rest)}
        </Button>
      )}
    </>
  );
}
