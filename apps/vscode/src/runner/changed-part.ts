/** The smallest range in which two texts differ, as offsets into the first; undefined if they are equal. */
export function changedPart(
  before: string,
  after: string,
): { readonly from: number; readonly to: number; readonly text: string } | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  // Neither end may split a surrogate pair or a CRLF.
  if (isInside(before, head) || isInside(after, head)) head -= 1;
  if (isInside(before, before.length - tail) || isInside(after, after.length - tail)) tail -= 1;
  tail = Math.max(0, tail);
  return { from: head, to: before.length - tail, text: after.slice(head, after.length - tail) };
}

const isInside = (text: string, at: number): boolean => {
  const pair = text.slice(Math.max(0, at - 1), at + 1);
  return pair === '\r\n' || /^[\ud800-\udbff][\udc00-\udfff]$/.test(pair);
};
