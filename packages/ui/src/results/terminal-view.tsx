import { type StyledLine, type StyledText, styledLines } from '@countersign/approvals';
import { Fragment, memo, useMemo, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { CodeBlock } from '../text/code-block.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** How many of the last lines are shown at first. */
const tailLines = 12;
/** Colours that were switched on before this many characters from the end are not drawn in the tail. */
const tailCharacters = 64_000;
/** Lines in one block of long output. A block out of sight is not laid out. */
const blockLines = 200;

interface TerminalViewProps {
  readonly output: string;
  /** Fetches the whole output, if `output` is only a part of it. */
  readonly onWhole?: (() => void) | undefined;
}

/** The output of a command as a terminal shows it: with its colours, the last lines first. */
export const TerminalView = memo(function TerminalView({ output, onWhole }: TerminalViewProps) {
  const { call } = useWords();
  const [isWhole, setWhole] = useState(false);
  const count = useMemo(() => countLines(output), [output]);
  const lines = useMemo(
    () => (isWhole ? styledLines(output) : styledLines(output.slice(-tailCharacters)).slice(-tailLines)),
    [output, isWhole],
  );
  const hidden = count - lines.length;
  return (
    <div className="terminal">
      {hidden > 0 && (
        <Button
          look="quiet small terminal-more"
          onClick={() => {
            setWhole(true);
            onWhole?.();
          }}
        >
          {call.showAll(count)}
        </Button>
      )}
      <CodeBlock className={isWhole ? 'terminal-text whole' : 'terminal-text'}>
        {blocksOf(lines).map((block, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added at the end
          <span key={index} className="terminal-block">
            <Lines lines={block} />
          </span>
        ))}
      </CodeBlock>
    </div>
  );
});

/** Draws lines with as few elements as possible: pieces without a style become one text. */
const Lines = memo(function Lines({ lines }: { readonly lines: readonly StyledLine[] }) {
  const pieces: StyledText[] = [];
  for (const line of lines) {
    for (const piece of [...line, { text: '\n', style: plain }]) {
      const last = pieces.at(-1);
      if (last && classOf(last) === classOf(piece))
        pieces[pieces.length - 1] = { ...last, text: last.text + piece.text };
      else pieces.push(piece);
    }
  }
  return pieces.map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one block have no other key
    <Fragment key={index}>
      {classOf(piece) === '' ? (
        <Visible text={piece.text} />
      ) : (
        <Visible as="span" className={classOf(piece)} text={piece.text} />
      )}
    </Fragment>
  ));
});

const plain = {};

const classOf = ({ style: { color, bold, dim, italic, underline } }: StyledText): string =>
  [
    color && `ansi-${color}`,
    bold && 'ansi-bold',
    dim && 'ansi-dim',
    italic && 'ansi-italic',
    underline && 'ansi-underline',
  ]
    .filter(Boolean)
    .join(' ');

function blocksOf(lines: readonly StyledLine[]): readonly (readonly StyledLine[])[] {
  const blocks: (readonly StyledLine[])[] = [];
  for (let from = 0; from < lines.length; from += blockLines)
    blocks.push(lines.slice(from, from + blockLines));
  return blocks;
}

function countLines(text: string): number {
  let count = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
