import type { DiffLine } from '@countersign/approvals';

/** One row of the side-by-side view. */
export type DiffRow =
  | { readonly kind: 'full'; readonly line: Extract<DiffLine, { kind: 'hunk' | 'note' }> }
  | { readonly kind: 'pair'; readonly left: SideLine | null; readonly right: SideLine | null };

export type SideLine = Extract<DiffLine, { kind: 'same' | 'removed' | 'added' }>;

/** Pairs removed lines with the lines that were added in their place. */
export function toRows(lines: readonly DiffLine[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: SideLine[] = [];
  let added: SideLine[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i += 1) {
      rows.push({ kind: 'pair', left: removed[i] ?? null, right: added[i] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === 'added') added.push(line);
    else {
      flush();
      if (line.kind === 'same') rows.push({ kind: 'pair', left: line, right: line });
      else rows.push({ kind: 'full', line });
    }
  }
  flush();
  return rows;
}

/** For each changed line that has a counterpart: the range of characters that changed. */
export function changedSpans(rows: readonly DiffRow[]): ReadonlyMap<SideLine, readonly [number, number]> {
  const spans = new Map<SideLine, readonly [number, number]>();
  for (const row of rows) {
    if (row.kind !== 'pair' || row.left?.kind !== 'removed' || row.right?.kind !== 'added') continue;
    const [a, b] = [row.left.text, row.right.text];
    const shorter = Math.min(a.length, b.length);
    let start = 0;
    while (start < shorter && a[start] === b[start]) start += 1;
    let end = 0;
    while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    // Lines that share little are not versions of each other: marking nearly all of the line would not help.
    if (start + end < shorter / 3) continue;
    spans.set(row.left, [start, a.length - end]);
    spans.set(row.right, [start, b.length - end]);
  }
  return spans;
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}
