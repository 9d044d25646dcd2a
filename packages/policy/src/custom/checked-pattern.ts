/** A `pattern` of a JSON Schema that may be tried: how much it could have to try on a text is known beforehand. */
export interface CheckedPattern {
  /** About how many steps the text may take, at worst. */
  workOn(text: string): number;
  /** False for a text that would take too long: then only the tool's own program checks. */
  mayTry(text: string): boolean;
  matches(text: string): boolean;
}

/**
 * A `pattern` that somebody else wrote, if it cannot stall us: JavaScript's expressions go back and try again, and with
 * the wrong one that takes for ever. Undefined for all others: then only the tool's own program checks.
 */
export function checkedPattern(source: string): CheckedPattern | undefined {
  const ways = source.length > MAX_CHARACTERS ? undefined : waysThrough(source);
  if (!ways || ways.choices > MAX_CHOICES) return undefined;
  let expression: RegExp;
  try {
    expression = new RegExp(source, 'u');
  } catch {
    return undefined;
  }
  const workOn = (text: string): number => ways.choices * (text.length + 1) ** ways.lengths;
  return {
    workOn,
    mayTry: (text) => workOn(text) <= MAX_WORK,
    matches: (text) => expression.test(text),
  };
}

const MAX_CHARACTERS = 200;
const MAX_CHOICES = 1_000;
const MAX_WORK = 2_000_000;

/**
 * In how many ways a text can be tried at worst: `choices` times its length to the power of `lengths`. Undefined where
 * that is not easily said: a group is repeated, or something looks around or back.
 */
function waysThrough(source: string): { readonly choices: number; readonly lengths: number } | undefined {
  const plain = source.replace(/\\[^1-9k]/gu, 'x').replace(/\[\^?\]?[^\]]*\]/gu, 'x');
  if (/\\|\(\?[^:]|\)[*+{]/u.test(plain)) return undefined;
  const count = (part: RegExp): number => plain.match(part)?.length ?? 0;
  const bars = count(/\|/gu);
  // In one group, alternatives are tried one after the other; in several, each with each of the others.
  const alternatives = count(/\(/gu) > 1 ? 2 ** bars : bars + 1;
  const optional = count(/(?<![*+?}(])\?/gu);
  // Without an anchor it is tried from each character on.
  const starts = plain.startsWith('^') && bars === 0 ? 0 : 1;
  return { choices: alternatives * 2 ** optional, lengths: starts + count(/[*+]|\{\d+,?\d*\}/gu) };
}
