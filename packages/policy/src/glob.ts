/**
 * Globs on workspace-relative paths, matched in time bounded by pattern × text: no backtracking explosion, so a
 * hostile pattern cannot stall us. `*` and `?` stay within one component, `**` spans components, `[a-z]` and
 * `[!a-z]` are classes, `{a,b}` alternatives, `\` takes the next character literally. A pattern without `/` is tried
 * on the last component alone; `./name` is that name in the root only.
 */
export interface Glob {
  matches(path: string): boolean;
}

export type ParsedGlob =
  | { readonly ok: true; readonly glob: Glob }
  | { readonly ok: false; readonly problem: string };

const MAX_ALTERNATIVES = 64;
const MAX_CHARACTERS = 1000;

export function parseGlob(pattern: string): ParsedGlob {
  if (pattern.length > MAX_CHARACTERS)
    return { ok: false, problem: `it is longer than ${MAX_CHARACTERS} characters` };
  if (pattern.includes('\u0000')) return { ok: false, problem: 'it contains a NUL character' };
  const alternatives = expandBraces(pattern);
  if (alternatives === undefined)
    return { ok: false, problem: `it has more than ${MAX_ALTERNATIVES} alternatives` };
  const compiled = alternatives.map((alternative) =>
    alternative
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .map((part): Segment => (part === '**' ? part : tokenise(part))),
  );
  const onNameOnly = !pattern.replace(/\/+$/, '').includes('/');
  return {
    ok: true,
    glob: {
      matches(path) {
        const components = path.split('/').filter((part) => part !== '' && part !== '.');
        const subject = onNameOnly ? components.slice(-1) : components;
        return compiled.some((segments) => matchesComponents(segments, subject));
      },
    },
  };
}

/** The number of characters with `{a,b}` expanded; 0 for a pattern that `parseGlob` refuses as too long. */
export const expandedLength = (pattern: string): number =>
  pattern.length > MAX_CHARACTERS
    ? 0
    : (expandBraces(pattern) ?? []).reduce((sum, { length }) => sum + length, 0);

/** Escapes a name or path so that a pattern matches it literally. */
export const escapeGlob = (text: string): string => text.replace(/[\\*?[\]{}]/g, '\\$&');

/** The pattern that matches this one path and nothing else. */
export function globOfPath(path: string): string {
  return path.includes('/') ? escapeGlob(path) : `./${escapeGlob(path)}`;
}

type Token =
  | { readonly kind: 'char'; readonly value: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | {
      readonly kind: 'class';
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

type Segment = readonly Token[] | '**';

/** `a{b,c}d` → `abd`, `acd`; undefined when there would be too many. An unbalanced brace is literal. */
function expandBraces(pattern: string): string[] | undefined {
  const done: string[] = [];
  const todo = [pattern];
  while (todo.length > 0) {
    const current = todo.pop() as string;
    const braces = findBraces(current);
    if (!braces) done.push(current);
    else {
      const { start, end, parts } = braces;
      for (const part of parts) todo.push(current.slice(0, start) + part + current.slice(end + 1));
    }
    if (todo.length + done.length > MAX_ALTERNATIVES) return undefined;
  }
  return done;
}

/** The first innermost `{…,…}`. */
function findBraces(text: string): { start: number; end: number; parts: string[] } | undefined {
  let start = -1;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '\\') i++;
    else if (character === '{') start = i;
    else if (character === '}' && start >= 0) {
      const inner = text.slice(start + 1, i);
      if (inner.includes(',')) return { start, end: i, parts: inner.split(',') };
      start = -1;
    }
  }
  return undefined;
}

/**
 * A matcher for single names, ignoring case, as `find -name` and `grep --include` read a pattern. In doubt it matches:
 * a class such as `[[:alpha:]]`, which not every program knows, is any character.
 */
export function looseNameMatcher(pattern: string): (name: string) => boolean {
  if (pattern.length > MAX_CHARACTERS) return () => true;
  const tokens = tokenise(pattern.toLowerCase(), { anyForNamedClass: true });
  return (name) => matchesName(tokens, [...name.toLowerCase()]);
}

function tokenise(segment: string, { anyForNamedClass = false } = {}): readonly Token[] {
  const tokens: Token[] = [];
  const characters = [...segment];
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') tokens.push({ kind: 'any' });
    else if (character === '\\' && i + 1 < characters.length)
      tokens.push({ kind: 'char', value: characters[++i] as string });
    else if (character === '[') {
      const parsed = (anyForNamedClass && parseNamedClass(characters, i)) || parseClass(characters, i);
      if (parsed) {
        tokens.push(parsed.token);
        i = parsed.end;
      } else tokens.push({ kind: 'char', value: '[' });
    } else tokens.push({ kind: 'char', value: character });
  }
  return tokens;
}

/** Reads a class such as `[[:alpha:]x]` or `[[=a=]]` as any character. The `]` in `:]` does not close the class. */
function parseNamedClass(
  characters: readonly string[],
  start: number,
): { token: Token; end: number } | undefined {
  let i = start + 1;
  if (characters[i] === '!' || characters[i] === '^') i++;
  if (characters[i] === ']') i++;
  let isNamed = false;
  for (; i < characters.length; i++) {
    const sign = characters[i + 1] ?? '';
    if (characters[i] === '[' && /^[:.=]$/.test(sign)) {
      isNamed = true;
      const end = characters.findIndex((c, k) => k > i + 1 && c === sign && characters[k + 1] === ']');
      if (end > 0) i = end + 1;
    } else if (characters[i] === ']') return isNamed ? { token: { kind: 'any' }, end: i } : undefined;
  }
  return undefined;
}

function parseClass(characters: readonly string[], start: number): { token: Token; end: number } | undefined {
  let i = start + 1;
  const negated = characters[i] === '!' || characters[i] === '^';
  if (negated) i++;
  const ranges: [string, string][] = [];
  const first = i;
  for (; i < characters.length; i++) {
    const low = characters[i] as string;
    if (low === ']' && i > first) return { token: { kind: 'class', negated, ranges }, end: i };
    if (characters[i + 1] === '-' && characters[i + 2] !== undefined && characters[i + 2] !== ']') {
      ranges.push([low, characters[i + 2] as string]);
      i += 2;
    } else ranges.push([low, low]);
  }
  return undefined;
}

/** Dynamic programming: `reachable` holds the positions in `segments` that the components so far can reach. */
function matchesComponents(segments: readonly Segment[], components: readonly string[]): boolean {
  let reachable = closure(segments, new Set([0]));
  for (const component of components) {
    const next = new Set<number>();
    const characters = [...component];
    for (const position of reachable) {
      const segment = segments[position];
      if (segment === undefined) continue;
      if (segment === '**') next.add(position);
      else if (matchesName(segment, characters)) next.add(position + 1);
    }
    reachable = closure(segments, next);
    if (reachable.size === 0) return false;
  }
  return reachable.has(segments.length);
}

/** `**` may match no component, so the position after it is reachable too. */
function closure(segments: readonly Segment[], positions: Set<number>): Set<number> {
  for (const position of positions) if (segments[position] === '**') positions.add(position + 1);
  return positions;
}

/** From this many steps on, `matchesLongName` is faster than `matchesStars`. */
const MANY_TRIES = 4_096;

function matchesName(tokens: readonly Token[], text: readonly string[]): boolean {
  if (tokens.length * text.length > MANY_TRIES) return matchesLongName(tokens, text);
  return matchesStars(tokens, text, ({ kind }) => kind === 'star', matchesCharacter);
}

/**
 * The classic two-pointer match: on a mismatch, let the last star take one character more. At most pattern × text steps.
 * The caller says which tokens are stars and which characters fit: glob tokens here, marked text in shell/word-paths.ts.
 */
export function matchesStars<Token>(
  pattern: ArrayLike<Token>,
  text: ArrayLike<string>,
  isStar: (token: Token) => boolean,
  fits: (token: Token, character: string) => boolean,
): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let starPosition = 0;
  while (position < text.length) {
    const current = at < pattern.length ? (pattern[at] as Token) : undefined;
    if (current !== undefined && isStar(current)) {
      star = at++;
      starPosition = position;
    } else if (current !== undefined && fits(current, text[position] as string)) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++starPosition;
    } else return false;
  }
  while (at < pattern.length && isStar(pattern[at] as Token)) at++;
  return at === pattern.length;
}

/**
 * `matchesStars` for long names: bit i of `reached` is set if the first i tokens, not counting stars, match the text so far.
 * Each character of the text updates 32 bits in one step, so no pattern is slow.
 */
function matchesLongName(tokens: readonly Token[], text: readonly string[]): boolean {
  const single = tokens.filter(({ kind }) => kind !== 'star');
  const words = (single.length >>> 5) + 1;
  const stars = new Uint32Array(words);
  let before = 0;
  for (const { kind } of tokens)
    if (kind === 'star') setBit(stars, before);
    else before += 1;
  const fitting = new Map<string, Uint32Array>();
  let reached = new Uint32Array(words);
  let next = new Uint32Array(words);
  setBit(reached, 0);
  for (const character of text) {
    const fits = fitting.get(character) ?? positionsOf(character, single, words);
    fitting.set(character, fits);
    let carry = 0;
    for (let i = 0; i < words; i++) {
      const here = reached[i] as number;
      const moved = here & (fits[i] as number);
      next[i] = (moved << 1) | carry | (here & (stars[i] as number));
      carry = moved >>> 31;
    }
    [reached, next] = [next, reached];
  }
  return (((reached[words - 1] as number) >>> (single.length & 31)) & 1) === 1;
}

function positionsOf(character: string, tokens: readonly Token[], words: number): Uint32Array<ArrayBuffer> {
  const positions = new Uint32Array(words);
  tokens.forEach((token, i) => {
    if (matchesCharacter(token, character)) setBit(positions, i);
  });
  return positions;
}

function setBit(bits: Uint32Array, position: number): void {
  bits[position >>> 5] = (bits[position >>> 5] as number) | (1 << (position & 31));
}

function matchesCharacter(token: Token, character: string): boolean {
  switch (token.kind) {
    case 'char':
      return token.value === character;
    case 'any':
      return true;
    case 'class':
      return token.ranges.some(([low, high]) => low <= character && character <= high) !== token.negated;
    case 'star':
      return false;
  }
}
