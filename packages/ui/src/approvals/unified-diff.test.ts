import { parseUnifiedDiff } from '@countersign/approvals';
import { expect, it } from 'vitest';
import { changedSpans, countChanges, toRows } from './unified-diff.ts';

const diff = `--- a/src/app.ts
+++ b/src/app.ts
@@ -3,4 +3,5 @@ export
 const a = 1;
-const port = 8000;
+const port = 8080;
+const host = 'here';
 
\\ No newline at end of file
`;

it('[AP-7] reads a unified diff, with the number of each line on its side', () => {
  const lines = parseUnifiedDiff(diff);
  expect(lines).toEqual([
    { kind: 'hunk', text: '@@ -3,4 +3,5 @@ export' },
    { kind: 'same', text: 'const a = 1;', before: 3, after: 3 },
    { kind: 'removed', text: 'const port = 8000;', before: 4 },
    { kind: 'added', text: 'const port = 8080;', after: 4 },
    { kind: 'added', text: "const host = 'here';", after: 5 },
    { kind: 'same', text: '', before: 5, after: 6 },
    { kind: 'note', text: '\\ No newline at end of file' },
  ]);
  expect(countChanges(lines)).toEqual({ added: 2, removed: 1 });
});

it('[AP-7] leaves nothing out that it does not understand', () => {
  expect(parseUnifiedDiff('Binary files differ')).toEqual([{ kind: 'note', text: 'Binary files differ' }]);
});

it('[AP-7] does not read a removed line of dashes as a header', () => {
  const lines = parseUnifiedDiff('@@ -1,1 +1,1 @@\n--- old\n+++ new');
  expect(lines.slice(1)).toEqual([
    { kind: 'removed', text: '-- old', before: 1 },
    { kind: 'added', text: '++ new', after: 1 },
  ]);
});

it('puts what was removed beside what was added', () => {
  const rows = toRows(parseUnifiedDiff(diff));
  expect(
    rows.map((row) => (row.kind === 'full' ? row.line.text : [row.left?.text, row.right?.text])),
  ).toEqual([
    '@@ -3,4 +3,5 @@ export',
    ['const a = 1;', 'const a = 1;'],
    ['const port = 8000;', 'const port = 8080;'],
    [undefined, "const host = 'here';"],
    ['', ''],
    '\\ No newline at end of file',
  ]);
  const again = toRows(parseUnifiedDiff('@@ -1,2 +1,2 @@\n+b\n-a\n+c'));
  expect(again.slice(1).map((row) => row.kind === 'pair' && [row.left?.text, row.right?.text])).toEqual([
    [undefined, 'b'],
    ['a', 'c'],
  ]);
});

it('marks the characters that changed, and nothing between lines that share little', () => {
  const spans = changedSpans(toRows(parseUnifiedDiff(diff)));
  expect([...spans].map(([line, [from, to]]) => line.text.slice(from, to))).toEqual(['0', '8']);
  expect(changedSpans(toRows(parseUnifiedDiff('@@ -1,1 +1,1 @@\n-abcdef\n+uvwxyz'))).size).toBe(0);
});
