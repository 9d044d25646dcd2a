import { findTool, type JsonValue } from '@countersign/protocol';

type Params = Readonly<Record<string, JsonValue>>;

/** The file before the call, and the proposal as the person edited it. */
export interface EditedText {
  readonly before: string | null;
  readonly edited: string;
}

/**
 * The parameters with which the same tool produces the text that the person edited (AP-6). Undefined if that is
 * impossible: a copy has no text parameter, and `edit_file` must change something.
 */
export function editedParams(
  tool: string,
  params: Params,
  { before, edited }: EditedText,
): Params | undefined {
  const { holdsText } = findTool(tool) ?? {};
  if (holdsText === 'whole') return { ...params, content: edited, mode: 'write' };
  if (holdsText !== 'part' || before === null) return undefined;
  const change = smallestEdit(before, edited);
  return change && { ...params, ...change, replace_all: false };
}

/** The shortest text that occurs once in `before` and whose replacement gives `after`. */
function smallestEdit(before: string, after: string): { old: string; new: string } | undefined {
  if (before === after || before === '') return undefined;
  const from = linesOf(before);
  const to = linesOf(after);
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head += 1;
  let tail = 0;
  const rest = Math.min(from.length, to.length) - head;
  while (tail < rest && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail += 1;
  // Widen by one line on each side until the text is unique. This ends: the whole file occurs once in itself.
  for (;;) {
    const old = from.slice(head, from.length - tail).join('');
    if (old !== '' && before.indexOf(old) === before.lastIndexOf(old))
      return { old, new: to.slice(head, to.length - tail).join('') };
    head = Math.max(0, head - 1);
    tail = Math.max(0, tail - 1);
  }
}

const linesOf = (text: string): string[] => text.split(/(?<=\n)/);
