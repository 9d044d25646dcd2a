/** A line of a unified diff, with its number on each side. */
export type DiffLine =
  | { readonly kind: 'hunk'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'same'; readonly text: string; readonly before: number; readonly after: number }
  | { readonly kind: 'removed'; readonly text: string; readonly before: number }
  | { readonly kind: 'added'; readonly text: string; readonly after: number };

/** One row of the side-by-side view. */
export type DiffRow =
  | { readonly kind: 'full'; readonly line: Extract<DiffLine, { kind: 'hunk' | 'note' }> }
  | { readonly kind: 'pair'; readonly left: SideLine | null; readonly right: SideLine | null };

export type SideLine = Extract<DiffLine, { kind: 'same' | 'removed' | 'added' }>;

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Reads a unified diff. What is not understood is kept as a note: nothing of a preview is left out. */
export function parseUnifiedDiff(diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let isInHunk = false;
  const texts = diff.split('\n');
  if (texts.at(-1) === '') texts.pop();
  for (const text of texts) {
    const head = hunkHead.exec(text);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      isInHunk = true;
      lines.push({ kind: 'hunk', text });
    } else if (!isInHunk && (text.startsWith('--- ') || text.startsWith('+++ '))) {
      // The file's name stands above the diff.
    } else if (isInHunk && text.startsWith('-')) {
      lines.push({ kind: 'removed', text: text.slice(1), before: before++ });
    } else if (isInHunk && text.startsWith('+')) {
      lines.push({ kind: 'added', text: text.slice(1), after: after++ });
    } else if (isInHunk && (text.startsWith(' ') || text === '')) {
      lines.push({ kind: 'same', text: text.slice(1), before: before++, after: after++ });
    } else lines.push({ kind: 'note', text });
  }
  return lines;
}

/** Pairs what was removed with what was added in its place. */
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

/** For each changed line that has a counterpart: which characters of it changed. */
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
    // Lines that share little are other lines: marking nearly all of them tells nothing.
    if (start + end < shorter / 3) continue;
    spans.set(row.left, [start, a.length - end]);
    spans.set(row.right, [start, b.length - end]);
  }
  return spans;
}

/** `+3 −1`, for the head of a file. */
export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}
