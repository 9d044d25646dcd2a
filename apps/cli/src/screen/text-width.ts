/** Measures and wraps text in terminal columns. Styles (`ESC [ … m`) take no columns. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: our own styles begin with the escape character
const stylePattern = /\u001b\[[\d;]*m/g;

/** Characters that are two columns wide: East Asian wide and full-width forms, and emoji drawn as pictures. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Combining marks without width. Spacing marks (Mc) take a column. */
const mark = /[\p{Mn}\p{Me}]/u;
export const tabColumns = 4;

export const withoutStyles = (text: string): string => text.replace(stylePattern, '');

export function widthOf(text: string): number {
  let width = 0;
  for (const character of withoutStyles(text)) width += columnsOf(character);
  return width;
}

/**
 * Wraps one line without cutting anything off, because a person must see all of what they approve. Breaks after a space
 * unless that wastes more than a third of the line. Styles must not span the whole text.
 */
export function wrap(text: string, columns: number): string[] {
  const room = Math.max(columns, 1);
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const character of text.replaceAll('\t', ' '.repeat(tabColumns))) {
    const needed = columnsOf(character);
    if (width + needed > room) {
      const space = line.lastIndexOf(' ') + 1;
      const kept = space > (room * 2) / 3 ? line.slice(0, space) : line;
      lines.push(kept.trimEnd());
      line = line.slice(kept.length);
      width = widthOf(line);
    }
    line += character;
    width += needed;
  }
  return [...lines, line];
}

/** Shortens text with an ellipsis. For lists and titles only, never for text that a person approves. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let shown = '';
  let width = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns - 1) break;
    shown += character;
  }
  return `${shown}…`;
}

/** Puts one text at the left end of the line and the other at the right. */
export function spread(left: string, right: string, columns: number): string {
  const gap = Math.max(columns - widthOf(left) - widthOf(right), 1);
  return `${left}${' '.repeat(gap)}${right}`;
}

export const columnsOf = (character: string): number =>
  mark.test(character) ? 0 : wide.test(character) ? 2 : 1;
