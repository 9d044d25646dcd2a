import { Fragment } from 'react';
import { Visible, visibleText } from '../text/visible.tsx';
import type { Token } from './highlighter.ts';

interface HighlightedTextProps {
  readonly text: string;
  /** The same text in pieces with the colours of its language. */
  readonly tokens: readonly Token[] | undefined;
  /** The range of characters that a diff marks as changed. */
  readonly changed?: readonly [number, number] | undefined;
}

/**
 * One line in the colours of its language. Always shows exactly `text`: tokens that do not join to it are ignored, and a
 * line with hidden characters is shown without colours, so that their labels stay whole (UI-6).
 */
export function HighlightedText({ text, tokens, changed }: HighlightedTextProps) {
  const isPlain = !tokens || text !== visibleText(text) || text.includes('⟨U+');
  const sum = isPlain ? '' : tokens.map((token) => token.text).join('');
  const pieces = isPlain || sum !== text ? [{ text, name: '' }] : tokens;
  let at = 0;
  return pieces.flatMap((piece) => {
    const start = at;
    at += piece.text.length;
    return splitAt(piece, start, changed).map((part) => {
      const name = `${part.name}${part.isChanged ? ' diff-changed' : ''}`.trim();
      return (
        <Fragment key={part.start}>
          {name === '' ? (
            <Visible text={part.text} />
          ) : (
            <Visible as="span" className={name} text={part.text} />
          )}
        </Fragment>
      );
    });
  });
}

interface Part extends Token {
  readonly start: number;
  readonly isChanged: boolean;
}

/** Splits a piece at the edges of the changed range. */
function splitAt(
  { text, name }: Token,
  start: number,
  changed: readonly [number, number] | undefined,
): Part[] {
  const end = start + text.length;
  const [from, to] = changed && changed[0] < changed[1] ? changed : [end, end];
  const edges = [start, Math.max(start, Math.min(from, end)), Math.max(start, Math.min(to, end)), end];
  return [0, 1, 2].flatMap((index) => {
    const [left, right] = [edges[index] as number, edges[index + 1] as number];
    if (left >= right) return [];
    return [{ text: text.slice(left - start, right - start), name, start: left, isChanged: index === 1 }];
  });
}
