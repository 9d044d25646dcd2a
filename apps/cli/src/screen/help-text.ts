import { widthOf, wrap } from './text-width.ts';

/** With less room beside its option, a description goes below it. */
const minDescriptionColumns = 24;

/** Wraps help to this width and indents continuation lines. */
export function fitHelp(text: string, columns: number): string {
  const lines = text.split('\n');
  if (lines.every((line) => widthOf(line) <= columns)) return text;
  return paragraphs(lines)
    .flatMap((line) => fitLine(line, columns))
    .join('\n');
}

/** Joins the wrapped lines of a paragraph. Only paragraphs begin without an indent. */
function paragraphs(lines: readonly string[]): string[] {
  const joined: string[] = [];
  for (const line of lines) {
    const above = joined.at(-1) ?? '';
    const isProse = /^\S/.test(line) && /^\S.*\S/.test(above);
    if (isProse) joined[joined.length - 1] = `${above} ${line}`;
    else joined.push(line);
  }
  return joined;
}

function fitLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const indent = Math.max(line.search(/\S/), 0);
  const description = line.search(/(?<=\S {2,})\S/);
  if (description < 0) return hang(line.slice(0, indent), line.slice(indent), columns);
  const [lead, text] = [line.slice(0, description), line.slice(description)];
  if (columns - description >= minDescriptionColumns) return hang(lead, text, columns);
  return [lead.trimEnd(), ...hang(' '.repeat(indent + 4), text, columns)];
}

const hang = (lead: string, text: string, columns: number): string[] =>
  wrap(text, columns - lead.length).map((part, i) => (i === 0 ? lead : ' '.repeat(lead.length)) + part);
