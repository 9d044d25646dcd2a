/**
 * Whether a shell pattern (`*`, `?`, `[a-z]`, `\x`) matches a name, ignoring case. In doubt it matches: a class
 * such as `[[:alpha:]]` matches any character. Takes at most pattern × name steps, so no input can stall it.
 */
export function globMatcher(pattern: string): (name: string) => boolean {
  const p = pattern.toLowerCase();
  // Most patterns are settled by what they start and end with.
  const prefix = /^[^*?[\\]*/.exec(p)?.[0] ?? '';
  const suffix = p.slice(
    Math.max(p.lastIndexOf('*'), p.lastIndexOf('?'), p.lastIndexOf(']'), p.lastIndexOf('\\') + 1) + 1,
  );
  const isBracketed = p.includes('[');
  return (name) => {
    const n = name.toLowerCase();
    return n.startsWith(prefix) && (isBracketed || n.endsWith(suffix)) && matches(p, n);
  };
}

function matches(p: string, n: string): boolean {
  let at = 0;
  let next = 0;
  let starAt = -1;
  let starNext = 0;
  while (next < n.length) {
    if (p[at] === '*') {
      starAt = at++;
      starNext = next;
      continue;
    }
    const end = at < p.length ? matchOne(p, at, n[next] as string) : 0;
    if (end > 0) {
      at = end;
      next++;
    } else if (starAt >= 0) {
      at = starAt + 1;
      next = ++starNext;
    } else {
      return false;
    }
  }
  while (p[at] === '*') at++;
  return at === p.length;
}

/** Where the pattern goes on after matching one character at `at`; 0 when it does not match. */
function matchOne(pattern: string, at: number, character: string): number {
  const token = pattern[at];
  if (token === '?') return at + 1;
  if (token === '\\' && at + 1 < pattern.length) return pattern[at + 1] === character ? at + 2 : 0;
  if (token === '[') {
    const end = bracketEnd(pattern, at);
    if (end > 0) return bracketMatches(pattern.slice(at + 1, end), character) ? end + 1 : 0;
  }
  return token === character ? at + 1 : 0;
}

/** The index of the `]` that closes the bracket at `at`; 0 when nothing does, and the bracket is literal. */
function bracketEnd(pattern: string, at: number): number {
  let from = at + 1;
  if (pattern[from] === '!' || pattern[from] === '^') from++;
  if (pattern[from] === ']') from++;
  for (let i = from; i < pattern.length; i++) {
    const isClass =
      pattern[i] === '[' && (pattern[i + 1] === ':' || pattern[i + 1] === '.' || pattern[i + 1] === '=');
    const classEnd = isClass ? pattern.indexOf(`${pattern[i + 1]}]`, i + 2) : -1;
    if (classEnd > 0) i = classEnd + 1;
    else if (pattern[i] === ']') return i;
  }
  return 0;
}

function bracketMatches(body: string, character: string): boolean {
  if (body.includes('[:') || body.includes('[.') || body.includes('[=')) return true;
  const isNegated = body[0] === '!' || body[0] === '^';
  let found = false;
  for (let i = isNegated ? 1 : 0; i < body.length; i++) {
    if (body[i] === '\\' && i + 1 < body.length) i++;
    const first = body[i] as string;
    if (body[i + 1] === '-' && i + 2 < body.length) {
      if (first <= character && character <= (body[i + 2] as string)) found = true;
      i += 2;
    } else if (first === character) {
      found = true;
    }
  }
  return found !== isNegated;
}
