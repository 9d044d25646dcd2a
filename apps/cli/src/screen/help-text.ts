import { widthOf, wrap } from './text-width.ts';

/** The least width for a description beside its option. With less, it goes below. */
const leastRoom = 24;

/** Wraps help to this width: continuation lines are indented, and no word is broken. */
export function fitHelp(text: string, columns: number): string {
  const lines = text.split('\n');
  if (lines.every((line) => widthOf(line) <= columns)) return text;
  return paragraphs(lines)
    .flatMap((line) => fitLine(line, columns))
    .join('\n');
}

/** Joins wrapped prose into one line. Only prose begins at the margin. */
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
  const [lead, told] = [line.slice(0, description), line.slice(description)];
  if (columns - description >= leastRoom) return hang(lead, told, columns);
  return [lead.trimEnd(), ...hang(' '.repeat(indent + 4), told, columns)];
}

const hang = (lead: string, text: string, columns: number): string[] =>
  wrap(text, columns - lead.length).map((part, i) => (i === 0 ? lead : ' '.repeat(lead.length)) + part);
