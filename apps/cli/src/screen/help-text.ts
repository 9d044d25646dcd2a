import { widthOf, wrap } from './text-width.ts';

/** What is left for a description beside what it describes, at least; with less it stands below. */
const leastRoom = 24;

/** Help for a screen of this width: what is too long goes on below the place where it began, and no word is broken. */
export function fitHelp(text: string, columns: number): string {
  const lines = text.split('\n');
  if (lines.every((line) => widthOf(line) <= columns)) return text;
  return paragraphs(lines)
    .flatMap((line) => fitLine(line, columns))
    .join('\n');
}

/** Prose that was broken for a wide screen is one line again: it begins at the margin, as nothing else does. */
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
