import { parseUnifiedDiff } from '@countersign/approvals';
import { visible } from '../screen/paragraph.ts';

export interface DiffSides {
  readonly oldText: string;
  readonly newText: string;
}

/** Longer texts are shown by their hunks: an editor would draw the whole file for each question. */
const maxText = 1_000_000;
const noNewline = '\\ No newline at end of file';
const hunkRange = /^@@ -(\d+)(?:,(\d+))? /;

/**
 * Both sides of a change as whole texts: the file's own text, and the same with the hunks of the preview applied.
 * Undefined if the text does not have the lines that the preview shows, so that nothing is shown that was not previewed.
 */
export function wholeSides(diff: string, text: string): DiffSides | undefined {
  if (text.length > maxText) return undefined;
  // The lines of a preview are visible already.
  const old = text === '' ? [] : visible(text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
  const renewed: string[] = [];
  let at = 0;
  let lastKind = '';
  let endsOpen = false;
  for (const line of parseUnifiedDiff(diff)) {
    if (line.kind === 'hunk') {
      const [, start = '0', count = '1'] = hunkRange.exec(line.text) ?? [];
      const from = count === '0' ? Number(start) : Number(start) - 1;
      if (from < at || from > old.length) return undefined;
      renewed.push(...old.slice(at, from));
      at = from;
    } else if (line.kind === 'note') {
      if (lastKind === '') continue; // a remark about the whole file
      if (line.text !== noNewline) return undefined;
      if (lastKind !== 'removed') endsOpen = true;
    } else {
      if (line.kind !== 'added' && visible(old[at++] ?? '') !== line.text) return undefined;
      if (line.kind !== 'removed') renewed.push(line.text);
    }
    if (line.kind !== 'note') lastKind = line.kind;
  }
  const rest = old.slice(at);
  const hasLastFeed = rest.length > 0 ? text.endsWith('\n') : !endsOpen;
  const newText = [...renewed, ...rest].join('\n');
  return {
    oldText: visible(text),
    newText: hasLastFeed && newText !== '' ? `${newText}\n` : newText,
  };
}

/** The diff that takes a change back. */
export const reversedDiff = (diff: string): string =>
  diff
    .split('\n')
    .map((line) =>
      line.startsWith('@@')
        ? line.replace(/^@@ -(\S+) \+(\S+) @@/, '@@ -$2 +$1 @@')
        : line.replace(/^[-+]/, (sign) => (sign === '-' ? '+' : '-')),
    )
    .join('\n');

/** Both sides as far as the hunks show them. Both sides get the same mark for a gap between hunks. */
export function hunkSides(diff: string): DiffSides {
  const before: string[] = [];
  const after: string[] = [];
  for (const { kind, text } of parseUnifiedDiff(diff)) {
    if (kind === 'note' || (kind === 'hunk' && before.length + after.length === 0)) continue;
    const shown = kind === 'hunk' ? '⋯' : text;
    if (kind !== 'added') before.push(shown);
    if (kind !== 'removed') after.push(shown);
  }
  return { oldText: visible(before.join('\n')), newText: visible(after.join('\n')) };
}

/** The line where the change begins, counted from 1 in the new text; undefined if nothing changes. */
export function firstChangedLine(diff: string): number | undefined {
  let next: number | undefined;
  for (const line of parseUnifiedDiff(diff)) {
    if (line.kind === 'added') return line.after;
    if (line.kind === 'removed') return Math.max(next ?? line.before, 1);
    if (line.kind === 'same') next = line.after + 1;
  }
  return undefined;
}
