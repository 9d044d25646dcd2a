import { applyPatch } from 'diff';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');

describe('[AP-7] unifiedDiff', () => {
  it('shows what changes with three lines around it', () => {
    const before = lines(20, (i) => `line ${i + 1}`);
    expect(unifiedDiff(before, before.replace('line 10\n', 'ten\n'))).toEqual({
      hunks: '@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n line 11\n line 12\n line 13\n',
      truncated: false,
    });
  });

  it.each([
    ['nothing', 'a\n', 'a\n', ''],
    ['a new file', '', 'a\n', '@@ -0,0 +1 @@\n+a\n'],
    ['an emptied file', 'a\nb\n', '', '@@ -1,2 +0,0 @@\n-a\n-b\n'],
    ['a missing end of line', 'a', 'b\n', '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n'],
    ['a new file without one', '', 'a\nb', '@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n'],
    ['a changed line ending', 'a\r\n', 'a\n', '@@ -1 +1 @@\n-a⟨U+000D⟩\n+a\n'],
    ['an added line', 'a\nb\n', 'a\nx\nb\n', '@@ -1,2 +1,3 @@\n a\n+x\n b\n'],
  ])('shows %s', (_name, before, after, hunks) => {
    expect(unifiedDiff(before, after)).toEqual({ hunks, truncated: false });
  });

  it('makes visible what hides', () => {
    const { hunks } = unifiedDiff('', 'a\u202eb\u0000\u001b[31m\u2028c \u0440aypal\n');
    expect(hunks).toBe('@@ -0,0 +1 @@\n+a⟨U+202E⟩b⟨U+0000⟩⟨U+001B⟩[31m⟨U+2028⟩c р⟨U+0440⟩aypal\n');
  });

  it('is a diff that leads from the one to the other', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\n'), maxLength: 60 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { hunks, truncated } = unifiedDiff(before, after);
        expect(truncated).toBe(false);
        expect(applyPatch(before, `--- a\n+++ b\n${hunks}`)).toBe(after);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is quick where everything differs, and shows of both', () => {
    const started = process.cpuUsage();
    const { hunks, truncated } = unifiedDiff(
      lines(60_000, (i) => `old ${i} ${(i * 7919) % 1000}`),
      lines(60_000, (i) => `new ${i} ${(i * 31) % 1000}`),
    );
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(30_000);
    expect(truncated).toBe(true);
    expect(hunks).toContain('@@ -1,60000 +1,60000 @@\n-old 0 0\n');
    expect(hunks).toContain('+new 0 0\n');
    expect(hunks).toMatch(/\n\\ \d+ more removed lines are not shown\n\+new 0 0\n/);
    expect(hunks).toMatch(/\n\\ \d+ more added lines are not shown\n$/);
    expect(hunks.length).toBeLessThan(600 * 1024);
  });

  it('is quick for a large file with a small change, and says where it is', () => {
    const before = lines(1_000_000, (i) => `line ${i + 1}`);
    const started = process.cpuUsage();
    expect(unifiedDiff(before, before.replace('line 500000\n', 'changed\n')).hunks).toContain(
      '@@ -499997,7 +499997,7 @@\n line 499997\n',
    );
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(30_000);
  });

  it('is quick where lines are many and empty, or one is long', () => {
    const started = process.cpuUsage();
    const empty = unifiedDiff('\n'.repeat(5_000_000), '\n'.repeat(4_000_000));
    const long = unifiedDiff('x'.repeat(5_000_000), `${'x'.repeat(5_000_000)}y`);
    const alike = unifiedDiff(`a\n${'\n'.repeat(19_000)}a\n`, `b\n${'\n'.repeat(15_000)}b\n`);
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(30_000);
    expect([empty.truncated, long.truncated, alike.truncated]).toEqual([true, true, false]);
    expect(long.hunks.includes(`\n+⟨4999800 characters before⟩${'x'.repeat(200)}y\n`)).toBe(true);
    expect(empty.hunks.length + long.hunks.length).toBeLessThan(600 * 1024);
  });

  it('shows of a long line the part that changes', () => {
    const before = `${'a'.repeat(10_000)}old${'b'.repeat(10_000)}\n`;
    const { hunks, truncated } = unifiedDiff(`1\n${before}2\n`, `1\n${before.replace('old', 'new')}2\n`);
    const shown = (word: string): string =>
      `⟨9800 characters before⟩${'a'.repeat(200)}${word}${'b'.repeat(3_797)}⟨6203 more characters⟩`;
    expect(truncated).toBe(true);
    expect(hunks === `@@ -1,3 +1,3 @@\n 1\n-${shown('old')}\n+${shown('new')}\n 2\n`).toBe(true);
    const appended = unifiedDiff('', `${'c'.repeat(10_000)}\n`).hunks;
    expect(appended === `@@ -0,0 +1 @@\n+${'c'.repeat(4_000)}⟨6000 more characters⟩\n`).toBe(true);
  });

  it('says when there are more changes than there is room for', () => {
    // Each block changes whole, with lines between that stay.
    const text = (word: string): string =>
      [...Array(30).fill(30), ...Array(60).fill(1)]
        .map(
          (size, block) =>
            lines(size, (i) => `${word} ${block} ${i} ${'x'.repeat(400)}`) + lines(9, (i) => `${block} ${i}`),
        )
        .join('');
    const { hunks, truncated } = unifiedDiff(text('old'), text('new'));
    expect(truncated).toBe(true);
    expect(hunks.endsWith('\n\\ Further changes are not shown\n')).toBe(true);
    expect(hunks.length).toBeLessThan(600 * 1024);
  });
});
