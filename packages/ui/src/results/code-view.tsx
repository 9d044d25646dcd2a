import { memo, useMemo, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { CodeBlock } from '../text/code-block.tsx';
import { useWords } from '../words/words.ts';
import { HighlightedText } from './highlighted-text.tsx';
import { useHighlighting } from './use-highlighting.ts';

const shownAtFirst = 40;

interface CodeViewProps {
  readonly text: string;
  /** Selects the language of the colours; empty if unknown. */
  readonly path: string;
  readonly firstLine: number;
}

/** A file or a text with numbered lines, in the colours of its language. */
export const CodeView = memo(function CodeView({ text, path, firstLine }: CodeViewProps) {
  const { call } = useWords();
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n'), [text]);
  const shown = useMemo(() => (isWhole ? lines : lines.slice(0, shownAtFirst)), [lines, isWhole]);
  const colours = useHighlighting(path, shown);
  const width = String(firstLine + shown.length - 1).length;
  return (
    <>
      <CodeBlock className={path === '' ? '' : 'numbered'}>
        {shown.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text have no other key
          <span key={index} className="code-line" data-line={String(firstLine + index).padStart(width)}>
            <HighlightedText text={line} tokens={colours?.[index]} />
            {'\n'}
          </span>
        ))}
      </CodeBlock>
      {shown.length < lines.length && (
        <Button look="quiet small" onClick={() => setWhole(true)}>
          {call.showAll(lines.length)}
        </Button>
      )}
    </>
  );
});
