import { ANY_CHARACTER, hasHole, STAR } from '../program/marks.ts';

/** The text without any `c` at its end. A pattern such as `/\n+$/` would look at each run of them again and again. */
export function withoutLast(text: string, c: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === c) end--;
  return text.slice(0, end);
}

/**
 * Whether a name could be matched by a word with active patterns. Two pointers, no backtracking beyond the last
 * star: at most name × pattern steps. Holes match anything, as a star does.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    const c = pattern[p];
    if (c !== undefined && isStar(c)) {
      star = p++;
      resume = n;
    } else if (c !== undefined && (c === ANY_CHARACTER || c === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (p < pattern.length && isStar(pattern[p] as string)) p++;
  return p === pattern.length;
}

const isStar = (c: string): boolean => c === STAR || hasHole(c);
