import { matchesStars } from '../glob.ts';
import { ANY_CHARACTER, hasHole, STAR } from '../program/marks.ts';

/** The text without any `c` at its end. A pattern such as `/\n+$/` would look at each run of them again and again. */
export function withoutLast(text: string, c: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === c) end--;
  return text.slice(0, end);
}

/** Whether a name could be matched by a word with active patterns. Holes match anything, as a star does. */
export const matchesPattern = (pattern: string, name: string): boolean =>
  matchesStars(pattern, name, isStar, fits);

const isStar = (c: string): boolean => c === STAR || hasHole(c);
const fits = (c: string, character: string): boolean => c === ANY_CHARACTER || c === character;
