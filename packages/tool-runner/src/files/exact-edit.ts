import { findText } from './find-text.ts';
import { lineEndingNear, lineEndingsIn } from './text-encoding.ts';

export interface Edit {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

/** Limits memory. An edit with more matches is refused. */
const MAX_MATCHES = 1_000_000;
/** If an edit is ambiguous, at most this many matches are counted for the error message. */
const MAX_COUNTED = 1_000;

/** The edited text, or the number of occurrences of the old text if it is not allowed. */
export type EditOutcome = { readonly text: string } | { readonly occurrences: number };

/**
 * Replaces an exact piece of text. It must occur exactly once, or at least once with `all`. Without `all`, overlapping
 * occurrences count separately. Line endings are kept (RN-3): `\n` in the old text matches CRLF too, and each `\n` in the
 * new text becomes the ending of the line that it replaces. If either text contains CRLF, both are taken literally.
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
  // Convert starts and ends separately: matches may overlap, and each converter needs rising positions.
  const begins = starts.map(originalPositions(text));
  const ends = starts.map((start) => start + old.length).map(originalPositions(text));
  return begins.map((start, i) => ({ start, end: ends[i] as number }));
}

/**
 * Returns a function that converts positions in the text with `\n` for CRLF to positions in the text itself. Call it with
 * rising positions only.
 */
function originalPositions(text: string): (position: number) => number {
  let returns = 0;
  let next = text.indexOf('\r\n');
  return (position) => {
    while (next >= 0 && next - returns < position) {
      returns++;
      next = text.indexOf('\r\n', next + 2);
    }
    return position + returns;
  };
}

/** Gives each line of the new text the ending of the line that it replaces, and further lines the last ending. */
function withEndingsOf(text: string, start: number, end: number, replacement: string): string {
  const endings = lineEndingsIn(text.slice(start, end));
  const further = endings.at(-1) ?? lineEndingNear(text, end);
  let line = 0;
  return replacement.replaceAll('\n', () => endings[line++] ?? further);
}
