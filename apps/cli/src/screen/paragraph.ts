import { makeVisible } from '@countersign/protocol';
import { paints, type StyleName } from '../terminal.ts';
import type { LineEditor } from './line-editor.ts';
import { wrap } from './text-width.ts';

/** A piece of text with one style, on one line or wrapped to several. */
export interface Paragraph {
  readonly text: string;
  readonly style?: StyleName | undefined;
  /** Text before the first line; the following lines are indented by its width. */
  readonly lead?: string;
  readonly leadStyle?: StyleName;
}

/** Wraps paragraphs to the width, and makes control characters in text of tools and models visible (UI-6). */
export function layOut(paragraphs: readonly Paragraph[], columns: number, color: boolean): string[] {
  const paint = paints(color);
  const apply = (text: string, style: StyleName | undefined) =>
    style === undefined ? text : paint[style](text);
  return paragraphs.flatMap(({ text, style, lead = '', leadStyle }) =>
    visible(text)
      .split('\n')
      .flatMap((line) => wrap(line, columns - lead.length))
      .map((line, i) => {
        const before = i === 0 ? apply(visible(lead), leadStyle) : ' '.repeat(lead.length);
        return `${before}${apply(line, style)}`;
      }),
  );
}

/** Makes control and hidden characters visible. Text that was already made visible stays unchanged. */
export const visible = makeVisible;

/** An input field with a drawn cursor, because the terminal's own cursor is hidden. */
export function inputLines(prompt: string, editor: LineEditor, width: number, color: boolean): string[] {
  const text = `${editor.beforeCursor}▏${editor.afterCursor}`;
  return layOut([{ lead: `${prompt} `, leadStyle: 'bold', text }], width, color);
}
