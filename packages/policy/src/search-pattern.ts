/**
 * Returns what is wrong with a regular expression for `search_files`, or undefined. Only its syntax is checked here.
 * ripgrep runs it in linear time, so no expression can stall us.
 */
export function problemOfSearchPattern(pattern: string): string | undefined {
  if (pattern.length > MAX_CHARACTERS) return `it is longer than ${MAX_CHARACTERS} characters`;
  if (pattern.includes('\u0000')) return 'it contains a NUL character';
  if (pattern.includes('\n')) return 'it spans lines; search for one line';
  let groups = 0;
  let depth = 0;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i];
    if (character === '\\') {
      if (++i >= pattern.length) return 'it ends in a backslash';
    } else if (character === '[') {
      const end = endOfClass(pattern, i);
      if (end === undefined) return 'a [ is not closed';
      i = end;
    } else if (character === '(') {
      groups++;
      depth = Math.max(depth, groups);
    } else if (character === ')') {
      if (--groups < 0) return 'a ) was never opened';
    }
  }
  if (groups > 0) return 'a ( is not closed';
  return depth > MAX_NESTING ? `its groups are nested more than ${MAX_NESTING} deep` : undefined;
}

const MAX_CHARACTERS = 1000;
const MAX_NESTING = 50;

/** The index of the `]` that closes the class at `start`. A `]` right after `[` or `[^` is a member of the class. */
function endOfClass(pattern: string, start: number): number | undefined {
  let i = start + 1;
  if (pattern[i] === '^') i++;
  if (pattern[i] === ']') i++;
  for (; i < pattern.length; i++) {
    if (pattern[i] === '\\') i++;
    else if (pattern[i] === '[' && pattern[i + 1] === ':') {
      const end = pattern.indexOf(':]', i + 2);
      if (end < 0) return undefined;
      i = end + 1;
    } else if (pattern[i] === ']') return i;
  }
  return undefined;
}
