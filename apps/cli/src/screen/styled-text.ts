import type { AnsiColor, StyledLine, StyledText, TextStyle } from '@countersign/approvals';
import { makeVisible } from '@countersign/protocol';
import { columnsOf, tabColumns } from './text-width.ts';

const colors = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** A line for the terminal: control characters are made visible, and styles are drawn if there are colours (UI-6). */
export const drawStyled = (line: StyledLine, color: boolean): string =>
  line.map(({ text, style }) => drawPiece(makeVisible(text), style, color)).join('');

function drawPiece(text: string, style: TextStyle, color: boolean): string {
  const codes = color && text !== '' ? codesOf(style) : [];
  return codes.length === 0 ? text : `\u001b[${codes.join(';')}m${text}\u001b[0m`;
}

function codesOf({ bold, dim, italic, underline, color }: TextStyle): number[] {
  return [
    ...(bold ? [1] : []),
    ...(dim ? [2] : []),
    ...(italic ? [3] : []),
    ...(underline ? [4] : []),
    ...(color === undefined ? [] : [colorCode(color)]),
  ];
}

/** Black is drawn as grey, because most terminals have a black background. */
function colorCode(color: AnsiColor): number {
  const isBright = color.startsWith('bright-');
  const index = colors.indexOf(isBright ? color.slice('bright-'.length) : color);
  return (isBright || index === 0 ? 90 : 30) + index;
}

/** Wraps a line at its spaces, or anywhere if a word is too long. Nothing is cut off. */
export function wrapStyled(line: StyledLine, columns: number): StyledLine[] {
  const room = Math.max(columns, 1);
  const lines: StyledText[][] = [];
  let current: StyledText[] = [];
  let width = 0;
  for (const { text, style } of wordsOf(line)) {
    const needed = widthOf(text);
    if (width > 0 && width + widthOf(text.trimEnd()) > room) {
      lines.push(current);
      current = [];
      width = 0;
    }
    if (needed <= room || widthOf(text.trimEnd()) <= room) {
      current.push({ text, style });
      width += needed;
      continue;
    }
    for (const character of text) {
      if (width + columnsOf(character) > room) {
        lines.push(current);
        current = [];
        width = 0;
      }
      current.push({ text: character, style });
      width += columnsOf(character);
    }
  }
  return [...lines, current].map(joined);
}

/** Splits a line after each space. Makes control characters visible first, because their visible form takes columns. */
function wordsOf(line: StyledLine): StyledText[] {
  return line.flatMap(({ text, style }) =>
    (
      makeVisible(text)
        .replaceAll('\t', ' '.repeat(tabColumns))
        .match(/\s*\S*\s?/g) ?? []
    )
      .filter((word) => word !== '')
      .map((word) => ({ text: word, style })),
  );
}

/** Joins neighbouring pieces of the same style, and removes spaces at the end of the line. */
function joined(line: readonly StyledText[]): StyledLine {
  const pieces: StyledText[] = [];
  for (const { text, style } of line) {
    const last = pieces.at(-1);
    if (last?.style === style) pieces[pieces.length - 1] = { text: last.text + text, style };
    else pieces.push({ text, style });
  }
  const last = pieces.pop();
  return last ? [...pieces, { ...last, text: last.text.trimEnd() }] : [];
}

const widthOf = (text: string): number => [...text].reduce((sum, character) => sum + columnsOf(character), 0);
