import { findText } from './find-text.ts';
import { lineEndingNear, lineEndingsIn } from './text-encoding.ts';

export interface Edit {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

/** No edit by a person or a model means more places than this; so many matches would fill the memory. */
const MAX_MATCHES = 1_000_000;
/** Enough to say how ambiguous a text is. */
const MAX_COUNTED = 1_000;

/** The text after the edit, or how often the old text occurs when that is not as it must be. */
export type EditOutcome = { readonly text: string } | { readonly occurrences: number };

/**
 * Replaces an exact piece of text. It must occur once, or at least once with `all`; two occurrences that overlap are
 * two. Line endings are kept (RN-3): `\n` in the old text stands for the end of a line, whichever the file has
 * there, and each `\n` in the new text becomes the ending of the line whose place it takes. Only who writes CRLF
 * themselves, in either text, is taken at their word.
 */
export function applyEdit(text: string, edit: Edit): EditOutcome {
  const matches = findMatches(text, edit);
  const most = edit.all ? MAX_MATCHES - 1 : 1;
  if (matches.length === 0 || matches.length > most) return { occurrences: matches.length };
  const literal = edit.old.includes('\r\n') || edit.new.includes('\r\n') || !edit.new.includes('\n');
  const parts: string[] = [];
  let rest = 0;
  for (const { start, end } of matches) {
    parts.push(text.slice(rest, start), literal ? edit.new : withEndingsOf(text, start, end, edit.new));
    rest = end;
  }
  parts.push(text.slice(rest));
  return { text: parts.join('') };
}

interface Match {
  readonly start: number;
  readonly end: number;
}

function findMatches(text: string, { old, all }: Edit): Match[] {
  const search = { overlapping: !all, limit: all ? MAX_MATCHES : MAX_COUNTED };
  const isLiteral = !old.includes('\n') || old.includes('\r\n') || !text.includes('\r\n');
  if (isLiteral) return findText(text, old, search).map((start) => ({ start, end: start + old.length }));

  const starts = findText(text.replaceAll('\r\n', '\n'), old, search);
  const original = originalPositions(text);
  // Overlapping matches go back in the text; the positions are asked for in order of starts, then of ends.
  const begins = starts.map(original());
  const ends = starts.map((start) => start + old.length).map(original());
  return begins.map((start, i) => ({ start, end: ends[i] as number }));
}

/**
 * From positions in the text without its returns to positions in the text itself: each of the answered functions
 * takes rising positions.
 */
function originalPositions(text: string): () => (position: number) => number {
  return () => {
    let returns = 0;
    let next = text.indexOf('\r\n');
    return (position) => {
      while (next >= 0 && next - returns < position) {
        returns++;
        next = text.indexOf('\r\n', next + 2);
      }
      return position + returns;
    };
  };
}

/** The new text with the line endings of what it replaces, one by one; where it has more, those of the last. */
function withEndingsOf(text: string, start: number, end: number, replacement: string): string {
  const endings = lineEndingsIn(text.slice(start, end));
  const further = endings.at(-1) ?? lineEndingNear(text, end);
  let line = 0;
  return replacement.replaceAll('\n', () => endings[line++] ?? further);
}
