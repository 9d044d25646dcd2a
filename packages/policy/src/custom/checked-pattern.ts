/**
 * A `pattern` of a JSON Schema that somebody else wrote, if it cannot stall us: JavaScript's expressions go back and try
 * again, and with the wrong one that takes for ever. Undefined for all others: then only the tool's own program checks.
 */
export function checkedPattern(source: string): ((text: string) => boolean) | undefined {
  if (source.length > MAX_CHARACTERS || !isTame(source)) return undefined;
  let expression: RegExp;
  try {
    expression = new RegExp(source, 'u');
  } catch {
    return undefined;
  }
  return (text) => text.length > MAX_SUBJECT || expression.test(text);
}

const MAX_CHARACTERS = 200;
const MAX_SUBJECT = 1_000;
/** Each multiplies what has to be tried by the length of the text. */
const MAX_REPETITIONS = 2;

/** No group is repeated, nothing looks around or back, and few parts may have any length. */
function isTame(source: string): boolean {
  const plain = source.replace(/\\[^1-9k]/gu, 'x').replace(/\[\^?\]?[^\]]*\]/gu, 'x');
  if (/\\|\(\?[^:]|\)[*+{]/u.test(plain)) return false;
  const repetitions = plain.match(/[*+]|\{\d+,?\d*\}/gu) ?? [];
  return repetitions.length <= MAX_REPETITIONS;
}
