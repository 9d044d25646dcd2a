import { expect, it } from 'vitest';
import { diffSides, parseUnifiedDiff } from './unified-diff.ts';

const sidesOf = (...lines: readonly string[]) => diffSides(parseUnifiedDiff(lines.join('\n')));

it('gives both sides of a diff, and the head of a hunk for the lines that it leaves out', () => {
  expect(
    sidesOf('--- a/x', '+++ b/x', '@@ -1,2 +1,2 @@', ' a', '-b', '+B', '@@ -9 +9 @@ f()', '-y', '+z'),
  ).toEqual({
    before: 'a\nb\n@@ -9 +9 @@ f()\ny\n',
    after: 'a\nB\n@@ -9 +9 @@ f()\nz\n',
  });
});

it('gives one empty side for a file that is new or deleted', () => {
  expect(sidesOf('--- /dev/null', '+++ b/x', '@@ -0,0 +1 @@', '+a')).toEqual({ before: '', after: 'a\n' });
  expect(sidesOf('--- a/x', '+++ /dev/null', '@@ -1 +0,0 @@', '-a')).toEqual({ before: 'a\n', after: '' });
});
