/**
 * Brace expansion as bash does it: on the text of a word, before any other expansion. Skips quoted braces and `${`.
 * Returns undefined if there would be more than `limit` words.
 */
export function expandBraces(text: string, limit: number): string[] | undefined {
  const open = findBrace(text);
  if (!open) return [text];
  const before = text.slice(0, open.start);
  const middles: string[] = [];
  for (const item of open.items) {
    const expanded = expandBraces(item, limit);
    if (!expanded) return undefined;
    middles.push(...expanded);
    if (middles.length > limit) return undefined;
  }
  const tails = expandBraces(text.slice(open.end), limit);
  if (!tails || tails.length * middles.length > limit) return undefined;
  return middles.flatMap((middle) => tails.map((tail) => before + middle + tail));
}

interface Brace {
  readonly start: number;
  readonly end: number;
  readonly items: readonly string[];
}

function findBrace(text: string): Brace | undefined {
  for (let i = 0; i < text.length; i++) {
    const skipped = skipQuoted(text, i);
    if (skipped > i) {
      i = skipped - 1;
      continue;
    }
    if (text[i] === '{') {
      const brace = readBrace(text, i);
      if (brace) return brace;
    }
  }
  return undefined;
}

function readBrace(text: string, start: number): Brace | undefined {
  const commas: number[] = [];
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const skipped = skipQuoted(text, i);
    if (skipped > i) {
      i = skipped - 1;
      continue;
    }
    const c = text[i];
    if (c === '{') depth++;
    else if (c === ',' && depth === 1) commas.push(i);
    else if (c === '}' && --depth === 0) {
      const items = commas.length > 0 ? cut(text, [start, ...commas, i]) : sequence(text.slice(start + 1, i));
      return items && { start, end: i + 1, items };
    }
  }
  return undefined;
}

const cut = (text: string, at: readonly number[]): string[] =>
  at.slice(1).map((end, k) => text.slice((at[k] as number) + 1, end));

/** The items of `1..9`, `a..f` or `1..9..2`; of a sequence longer than 128, only the first and the last. */
function sequence(body: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/.exec(body);
  const letters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(body);
  const found = numbers ?? letters;
  if (!found) return undefined;
  const [, first = '', last = '', by] = found;
  const from = numbers ? Number(first) : first.charCodeAt(0);
  const to = numbers ? Number(last) : last.charCodeAt(0);
  const step = Math.max(1, Math.abs(Number(by ?? 1)));
  const show = (n: number): string => (numbers ? String(n) : String.fromCharCode(n));
  if (Math.abs(to - from) / step > 128) return [show(from), show(to)];
  const items: string[] = [];
  for (let n = from; from <= to ? n <= to : n >= to; n += from <= to ? step : -step) items.push(show(n));
  return items;
}

/** The index after the quotes or the substitution that start at `i`; `i` itself if neither starts there. */
function skipQuoted(text: string, i: number): number {
  const c = text[i];
  if (c === '\\') return i + 2;
  if (c === "'" || c === '"' || c === '`') {
    for (let k = i + 1; k < text.length; k++) {
      if (text[k] === '\\' && c !== "'") k++;
      else if (text[k] === c) return k + 1;
    }
    return text.length;
  }
  if (c === '$' && (text[i + 1] === '{' || text[i + 1] === '(')) {
    const [opener, closer] = text[i + 1] === '{' ? ['{', '}'] : ['(', ')'];
    let depth = 0;
    for (let k = i + 1; k < text.length; k++) {
      const inner = text[k] === '$' ? k : skipQuoted(text, k);
      if (inner > k) k = inner - 1;
      else if (text[k] === opener) depth++;
      else if (text[k] === closer && --depth === 0) return k + 1;
    }
    return text.length;
  }
  return i;
}
