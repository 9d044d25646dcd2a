import { executionStatuses, type JsonValue, type Preview } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { acpStatusOf, kindOf, locationsOf, previewContent, resultContent } from './tool-call-view.ts';

const words = wordsFor({});
const texts = (content: ReturnType<typeof previewContent> | undefined) =>
  (content ?? []).map((one) =>
    one.type === 'content' && one.content.type === 'text' ? one.content.text : one,
  );
const file = {
  path: 'a.ts',
  operation: 'modified' as const,
  truncated: false,
  size_before: 3,
  size_after: 3,
};

const call = { tool_name: 'edit_file', tool_params: {} };

describe('a call as an editor draws it', () => {
  it('has a kind, places and a status', () => {
    expect(['read_file', 'edit_file', 'shell_exec', 'git_log', 'hover', 'deploy__now'].map(kindOf)).toEqual([
      'read',
      'edit',
      'execute',
      'read',
      'read',
      'other',
    ]);
    expect(locationsOf('/w', { path: 'a.ts', dest: 'b.ts', content: 'x' })).toEqual([
      { path: '/w/a.ts' },
      { path: '/w/b.ts' },
    ]);
    expect(executionStatuses.map(acpStatusOf)).toEqual([
      'pending',
      'pending',
      'pending',
      'in_progress',
      'completed',
      'failed',
      'failed',
      'failed',
      'failed',
    ]);
  });

  it.each([
    ['a binary file', { diff: 'Binary files a.ts and b/a.ts differ' }, 'Binary files'],
    [
      'a line that only loses its end',
      { diff: ['@@ -1 +1 @@', '-x', '+x', '\\ No newline at end of file'].join('\n') },
      'No newline',
    ],
    [
      'other permissions',
      {
        diff: ['old mode 100644', 'new mode 100755', '--- a/x', '+++ b/x', '@@ -1 +1 @@', '-x', '+y'].join(
          '\n',
        ),
      },
      'new mode 100755',
    ],
    [
      'an old content that is not shown',
      { diff: ['the old content is binary and is not shown', '@@ -0,0 +1 @@', '+y'].join('\n') },
      'is not shown',
    ],
    [
      'what an editor has not saved',
      { diff: ['@@ -1 +1 @@', '-x', '+y'].join('\n'), unsaved: true },
      words.card.unsaved,
    ],
  ])('[AP-7] says in words what two sides would not show: %s', (_what, more, expected) => {
    const shown = previewContent({ kind: 'diff', files: [{ ...file, ...more }] }, call, '/w', words);
    expect(texts(shown)).toEqual([expect.stringContaining(expected)]);
  });

  it('[AP-7] shows both sides of each file, with what lies between hunks left out of both', () => {
    const diff = [
      '--- a.ts',
      '+++ a.ts',
      '@@ -1,2 +1,2 @@',
      ' one',
      '-two',
      '+2',
      '@@ -9 +9 @@',
      '-nine\u001b[2J',
      '\\ No newline at end of file',
      '+9',
    ].join('\n');
    expect(previewContent({ kind: 'diff', files: [{ ...file, diff }] }, call, '/w', words)).toEqual([
      { type: 'diff', path: '/w/a.ts', oldText: 'one\ntwo\n⋯\nnine⟨U+001B⟩[2J', newText: 'one\n2\n⋯\n9' },
    ]);
    const created = { ...file, diff: 'new file mode 100644\n@@ -0,0 +1 @@\n+new', size_before: null };
    expect(previewContent({ kind: 'diff', files: [created] }, call, '/w', words)).toEqual([
      { type: 'diff', path: '/w/a.ts', oldText: null, newText: 'new' },
    ]);
  });

  it('[AP-7] says what was cut, and shows everything else as a terminal would', () => {
    const cut: Preview = { kind: 'diff', files: [{ ...file, diff: '@@ -1 +1 @@\n-a\n+b', truncated: true }] };
    expect(String(texts(previewContent(cut, call, '/w', words)))).toContain('the diff was cut for its size');
    const command: Preview = {
      kind: 'command',
      commands: [['npm', 'test']],
      cwd: '',
      network: false,
      reversible: false,
      scripts: [],
    };
    const shown = String(texts(previewContent(command, call, '/w', words)));
    expect(shown).toContain('npm test');
    expect(shown).toContain('It cannot be undone.');
  });

  it('[AP-7] shows a shell line as it was written, and whole', () => {
    const command = `${'echo one; '.repeat(3_000)}\ncat > run.js <<'E'\nevil()\nE`;
    const preview: Preview = {
      kind: 'command',
      commands: [['echo', 'one'], ['cat']],
      cwd: '',
      network: false,
      reversible: false,
      scripts: [],
    };
    const shell = { tool_name: 'shell_exec', tool_params: { command } };
    const shown = String(texts(previewContent(preview, shell, '/w', words)));
    expect(shown).toContain("cat > run.js <<'E'\n  evil()\n  E");
    expect(shown.split('echo one;').length).toBeGreaterThan(2_500);
  });

  it.each<Preview>([
    { kind: 'custom', server: 'db', summary: 'Reads a table' },
    { kind: 'summary', summary: 'Creates a branch.' },
    { kind: 'unavailable', reason: 'the disk fails' },
  ])('[AP-7] shows every parameter, whole, where the preview says little: $kind', (preview) => {
    const custom = {
      tool_name: 'db__write',
      tool_params: { path: 'a', content: `${'x'.repeat(500)}\ndrop table users` },
    };
    expect(String(texts(previewContent(preview, custom, '/w', words)))).toContain('drop table users');
  });

  it('shows what came of it, and a change only once', () => {
    const shown = (result: JsonValue) => resultContent({ result, error: null }, words);
    expect(texts(shown({ success: true, content: 'hello' }))).toEqual(['```\nhello\n```']);
    expect(texts(shown({ success: true, stdout: 'out\n', stderr: 'err' }))).toEqual(['```\nout\nerr\n```']);
    const error = { code: 'FILE_NOT_FOUND', message: 'It is gone.', recoverable: true } as const;
    expect(texts(resultContent({ result: null, error }, words))).toEqual(['```\nIt is gone.\n```']);
    expect(shown({ success: true, changed_files: [] })).toBe(undefined);
    expect(shown({ success: true, content: 'AAAA', encoding: 'base64', size: 3 })).not.toBe(undefined);
    expect(shown(null)).toBe(undefined);
    expect(String(texts(shown({ success: true, content: 'x'.repeat(30_000) }))).length).toBeLessThan(21_000);
  });

  it('[TL-2] says that a command exited with 1, also where its output is left out (founding documents: tools-specification)', () => {
    const result = { success: false, stdout: 'out\n', stderr: 'err', exit_code: 1 };
    expect(texts(resultContent({ result, error: null, exit_code: 1 }, words))).toEqual([
      '```\n[exit 1]\nout\nerr\n```',
    ]);
    expect(texts(resultContent({ result: null, error: null, exit_code: 1 }, words))).toEqual([
      '```\nexit 1\n```',
    ]);
  });
});
