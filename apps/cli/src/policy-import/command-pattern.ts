import { escapeGlob } from '@countersign/policy';
import type { Effect, ReasonId } from './foreign-rule.ts';

export type CommandPatterns =
  | { readonly patterns: readonly string[]; readonly loss?: ReasonId; readonly sample: readonly string[] }
  | { readonly impossible: ReasonId };

/** Characters that only a shell interprets. Our patterns match the words of a single command. */
const SHELL_SIGNS = /['"`$\\|&;<>()~#\n]/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** In a denying rule, a `*` in the middle becomes at most this many words. */
const MOST_WORDS = 4;

/**
 * Translates a pattern on the text of a command into patterns on its words. Where a rule allows, the result is never wider:
 * a `*` in the middle, which stands for any text, becomes one word. `open`: any further words may follow.
 */
export function commandPatterns(
  text: string,
  effect: Effect,
  { wildcards, open = false }: { readonly wildcards: boolean; readonly open?: boolean | undefined },
): CommandPatterns {
  const isAllowing = effect === 'allow';
  let words = text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '');
  const hasVariable = words[0] !== undefined && ASSIGNMENT.test(words[0]);
  if (hasVariable && isAllowing) return { impossible: 'variable' };
  // A rule that denies or asks means the command with any variables.
  while (words[0] !== undefined && ASSIGNMENT.test(words[0])) words = words.slice(1);
  if (words.length === 0) return { impossible: 'empty' };
  if (SHELL_SIGNS.test(words.join(' '))) return { impossible: 'shell_syntax' };
  const isWild = (word: string | undefined): boolean => wildcards && word?.includes('*') === true;
  if (words.every((word) => wildcards && /^\*+$/.test(word))) return { impossible: 'everything' };
  if (isAllowing && isWild(words[0])) return { impossible: 'any_program' };
  const endsOpen = open || (wildcards && words.at(-1) === '*');
  if (wildcards && words.at(-1) === '*') words = words.slice(0, -1);
  // `test*` at the end stands for any text: `test:unit` and further words.
  const endsWithin = !endsOpen && isWild(words.at(-1)) && (words.at(-1) as string).endsWith('*');
  const tail = endsOpen || endsWithin ? ['*'] : [];
  const inner = endsWithin ? words.slice(0, -1) : words;
  const hasInner = inner.some(isWild) || (endsWithin && (words.at(-1) as string).slice(0, -1).includes('*'));
  const shaped = words.map((word) =>
    wildcards ? word.split('*').map(escapeGlob).join('*') : escapeGlob(word),
  );
  // Our `*` at the end matches any number of words, so a `*` from the middle must not end up there.
  const patterns = spreadWildcards(shaped, isAllowing ? 1 : MOST_WORDS).map((each) =>
    [...each, ...tail].join(' '),
  );
  const sample = words.map((word) => (wildcards ? word.replaceAll('*', 'x') : word));
  return {
    patterns,
    sample,
    ...(hasInner && { loss: isAllowing ? ('one_word' as const) : ('few_words' as const) }),
  };
}

/** Returns variants in which each lone `*` is repeated, from once to `most` times. */
function spreadWildcards(words: readonly string[], most: number): string[][] {
  let made: string[][] = [[]];
  for (const word of words) {
    const times = word === '*' ? most : 1;
    made = made.flatMap((before) =>
      Array.from({ length: times }, (_, index) => [...before, ...Array<string>(index + 1).fill(word)]),
    );
    if (made.length > 64) return made.slice(0, 64);
  }
  return made;
}

/** The pattern for a sequence of tokens, each with its alternatives. */
export function tokenPattern(tokens: readonly (readonly string[])[]): CommandPatterns {
  const unusable = tokens.flat().find((token) => token === '' || /\s/.test(token));
  if (unusable !== undefined || tokens.some((each) => each.length === 0)) return { impossible: 'spaces' };
  if (tokens.length === 0) return { impossible: 'everything' };
  if (tokens[0]?.some((token) => ASSIGNMENT.test(token))) return { impossible: 'variable' };
  const words = tokens.map((each) =>
    each.length === 1
      ? escapeGlob(each[0] as string)
      : `{${each.map((one) => escapeGlob(one).replaceAll(',', '\\,')).join(',')}}`,
  );
  return { patterns: [[...words, '*'].join(' ')], sample: tokens.map(([first]) => first as string) };
}
