import { describe, expect, it } from 'vitest';
import { fileDiff } from './file-diff.ts';

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
    expect(shown).not.toMatch(/[\u0000\u0007]/);
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
