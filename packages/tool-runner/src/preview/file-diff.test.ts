import { applyPatch } from 'diff';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileDiff, unifiedDiff } from './file-diff.ts';

const bytes = (text: string, encoding: BufferEncoding = 'utf8'): Uint8Array => Buffer.from(text, encoding);
const diff = (before: Uint8Array | null, after: Uint8Array | null, rest = {}): string =>
  fileDiff({ path: 'a.md', operation: 'modified', before, after, ...rest }).diff;

describe('[AP-7] fileDiff', () => {
  it('is a unified diff with its header', () => {
    expect(
      fileDiff({ path: 'src/a.md', operation: 'modified', before: bytes('a\n'), after: bytes('bc\n') }),
    ).toEqual({
      path: 'src/a.md',
      operation: 'modified',
      diff: '--- a/src/a.md\n+++ b/src/a.md\n@@ -1 +1 @@\n-a\n+bc\n',
      truncated: false,
      size_before: 2,
      size_after: 3,
    });
    expect(fileDiff({ path: 'n.md', operation: 'created', before: null, after: bytes('a\n') })).toEqual({
      path: 'n.md',
      operation: 'created',
      diff: '--- /dev/null\n+++ b/n.md\n@@ -0,0 +1 @@\n+a\n',
      truncated: false,
      size_before: null,
      size_after: 2,
    });
    expect(diff(bytes('a\n'), null)).toBe('--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n');
  });

  it('is empty when nothing changes', () => {
    expect(diff(bytes('a'), bytes('a'), { modeBefore: 0o644, modeAfter: 0o644 })).toBe('');
    expect(diff(bytes('\0\x01\x02\x03\x04'), bytes('\0\x01\x02\x03\x04'))).toBe('');
  });

  it('shows names as they are', () => {
    const path = 'a\u202etxt.exe\n+++ b/other\t\u0430bc';
    const shown = 'a⟨U+202E⟩txt.exe⟨U+000A⟩+++ b/other⟨U+0009⟩а⟨U+0430⟩bc';
    expect(fileDiff({ path, operation: 'created', before: null, after: bytes('x\n') })).toMatchObject({
      path: shown,
      diff: `--- /dev/null\n+++ b/${shown}\n@@ -0,0 +1 @@\n+x\n`,
    });
  });

  it('says what no line of text shows', () => {
    expect(diff(bytes('a'), bytes('a'), { modeBefore: 0o644, modeAfter: 0o755 })).toBe(
      'old mode 100644\nnew mode 100755\n',
    );
    expect(diff(bytes('a'), bytes('a'), { modeBefore: 0o4755, modeAfter: 0o755 })).toBe(
      'old mode 1004755\nnew mode 100755\n',
    );
    expect(diff(null, bytes(''), { modeAfter: 0o755 })).toBe('new file mode 100755\n');
    expect(diff(bytes('caf\xe9\n', 'latin1'), bytes('café\n'))).toBe('encoding latin1 becomes utf-8\n');
    expect(diff(bytes('a\n'), bytes('\ufeffa\n'))).toBe('byte order mark added\n');
    expect(diff(bytes('\ufeffa\n'), bytes('a\n'))).toBe('byte order mark removed\n');
    expect(diff(null, bytes('\ufeffa\n', 'utf16le'))).toBe(
      'encoding utf-16le\nwith a byte order mark\n--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+a\n',
    );
  });

  it('[AP-7] shows all of a text that is written, also where a bell or a NUL would make it count as binary', () => {
    const shown = diff(null, bytes('ring \u0007\nnul \u0000\nrm -rf\n')) ?? '';
    expect(shown).toContain('+rm -rf');
    expect(['\u0000', '\u0007'].filter((control) => shown.includes(control))).toEqual([]);
    expect(shown.split('\n').filter((line) => line.startsWith('+'))).toHaveLength(4);
    const replaced = diff(new Uint8Array([0xff, 0xfe, 0xfd, 0, 1, 2, 0x80]), bytes('x\u0007y\n')) ?? '';
    expect(replaced).toContain('y');
    expect(replaced).not.toContain('Binary files');
  });

  it('does not draw binary files', () => {
    const binary = bytes('\xff\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0', 'latin1');
    expect(diff(bytes('a\n'), binary)).toBe('Binary files a/a.md and b/a.md differ\n');
    expect(diff(null, binary)).toBe('Binary files /dev/null and b/a.md differ\n');
  });

  it('shows returns only where they change', () => {
    expect(diff(bytes('a\r\nb\r\n'), bytes('a\r\nc\r\n'))).toBe(
      '--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n',
    );
    expect(diff(bytes('a\r\nb\r\n'), bytes('a\r\nb\n'))).toBe(
      '--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n a⟨U+000D⟩\n-b⟨U+000D⟩\n+b\n',
    );
  });
});

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
    // Every line of each block changes; the lines between the blocks stay.
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
