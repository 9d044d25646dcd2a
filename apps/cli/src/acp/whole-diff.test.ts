import { describe, expect, it } from 'vitest';
import { firstChangedLine, reversedDiff, wholeSides } from './whole-diff.ts';

const lines = (...parts: string[]) => parts.join('\n');

describe('a change as whole texts', () => {
  it('has the lines around the hunks, in both texts', () => {
    const text = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n';
    const diff = lines('@@ -1,3 +1,4 @@', '+0', ' a', '-b', '+B', ' c', '@@ -8,2 +9 @@', ' h', '-i');
    expect(wholeSides(diff, text)).toEqual({ oldText: text, newText: '0\na\nB\nc\nd\ne\nf\ng\nh\n' });
    expect(firstChangedLine(diff)).toBe(1);
  });

  it.each([
    [
      'loses its last line feed',
      'a\nb\n',
      lines('@@ -2 +2 @@', '-b', '+b', '\\ No newline at end of file'),
      'a\nb',
    ],
    [
      'gets a last line feed',
      'a\nb',
      lines('@@ -2 +2 @@', '-b', '\\ No newline at end of file', '+b'),
      'a\nb\n',
    ],
    ['keeps that it has none', 'a\nb', lines('@@ -1 +1 @@', '-a', '+A'), 'A\nb'],
    ['grows from nothing', '', lines('@@ -0,0 +1,2 @@', '+a', '+b'), 'a\nb\n'],
    ['becomes empty', 'a\n', lines('@@ -1 +0,0 @@', '-a'), ''],
    ['gets a line after another', 'a\nc\n', lines('@@ -1,0 +2 @@', '+b'), 'a\nb\nc\n'],
  ])('a text that %s', (_what, text, diff, newText) => {
    expect(wholeSides(diff, text)?.newText).toBe(newText);
  });

  it.each([
    [
      'a\nb\nc',
      lines(
        '--- a/x',
        '+++ b/x',
        '@@ -1,2 +1,3 @@',
        ' a',
        '--- x',
        '+b',
        '+c',
        '\\ No newline at end of file',
      ),
      'a\n-- x\n',
    ],
    ['a\n', lines('@@ -1 +1 @@', '-b', '\\ No newline at end of file', '+a'), 'b'],
    ['a\n', lines('@@ -0,0 +1 @@', '+a'), ''],
  ])('is taken back by the reversed diff: %j', (text, diff, before) => {
    expect(wholeSides(reversedDiff(diff), text)).toEqual({ oldText: text, newText: before });
  });

  it('[AP-8] is not shown if the file has changed since the preview', () => {
    const diff = lines('@@ -1,2 +1,2 @@', ' a', '-b', '+c');
    for (const text of ['a\nx\n', 'x\nb\n', '', 'a']) expect(wholeSides(diff, text)).toBe(undefined);
    expect(wholeSides(lines('@@ -9 +9 @@', '-b', '+c'), 'b\n')).toBe(undefined);
    expect(wholeSides(lines('@@ -1 +1 @@', '-b', '+c', '\\ 3 more added lines are not shown'), 'b\n')).toBe(
      undefined,
    );
    expect(wholeSides(diff, `a\nb\n${'x'.repeat(1_000_001)}`)).toBe(undefined);
  });

  it('[UI-6] makes hidden characters visible in both', () => {
    const diff = lines('@@ -1,2 +1,2 @@', ' a⟨U+202E⟩', '-b', '+c⟨U+001B⟩');
    expect(wholeSides(diff, 'a\u202e\nb\n')).toEqual({
      oldText: 'a⟨U+202E⟩\nb\n',
      newText: 'a⟨U+202E⟩\nc⟨U+001B⟩\n',
    });
  });

  it('names the line where the change begins', () => {
    expect(firstChangedLine(lines('@@ -5,3 +5,2 @@', ' a', '-b', ' c'))).toBe(6);
    expect(firstChangedLine('')).toBe(undefined);
  });
});
