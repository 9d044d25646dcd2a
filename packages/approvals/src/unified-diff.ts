/** A line of a unified diff, with its number on each side. */
export type DiffLine =
  | { readonly kind: 'hunk'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'same'; readonly text: string; readonly before: number; readonly after: number }
  | { readonly kind: 'removed'; readonly text: string; readonly before: number }
  | { readonly kind: 'added'; readonly text: string; readonly after: number };

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Parses a unified diff. A line that is not understood becomes a note, so that no part of a preview is lost. */
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
      // Skip the file's name: front ends show it above the diff.
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

/**
 * Both sides of a diff as texts, as far as the diff has them, for an editor that compares texts. The head of a hunk stands for
 * the lines before it, on both sides.
 */
export function diffSides(lines: readonly DiffLine[]): { readonly before: string; readonly after: string } {
  const textOf = (side: 'before' | 'after'): string =>
    lines
      .filter((line, index) => side in line || (line.kind === 'hunk' && !startsAtTop(line.text, index)))
      .map(({ text }) => `${text}\n`)
      .join('');
  return { before: textOf('before'), after: textOf('after') };
}

const startsAtTop = (head: string, index: number): boolean => index === 0 && /^@@ -[01](?:,|\s)/.test(head);
