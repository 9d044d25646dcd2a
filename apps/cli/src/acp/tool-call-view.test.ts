import type { ToolCallContent } from '@agentclientprotocol/sdk';
import { executionStatuses, type JsonValue, type Preview } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import {
  acpStatusOf,
  changeContent,
  kindOf,
  locationsOf,
  previewContent,
  resultContent,
} from './tool-call-view.ts';

const words = wordsFor({});
const texts = (content: readonly ToolCallContent[] | undefined) =>
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
/** An editor and a disk that do not have the file: a diff shows what its hunks show. */
const nowhere = async () => undefined;
const shownFor = (
  preview: Preview,
  about: { tool_name: string; tool_params: Record<string, JsonValue> } = call,
  textOf: (path: string) => Promise<string | undefined> = nowhere,
) => previewContent(preview, about, '/w', words, textOf);

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
    expect(locationsOf('/w', { path: 'a.ts', start_line: 7 })).toEqual([{ path: '/w/a.ts', line: 7 }]);
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
  ])('[AP-7] says in words what two sides would not show: %s', async (_what, more, expected) => {
    const shown = await shownFor({ kind: 'diff', files: [{ ...file, ...more }] });
    expect(texts(shown)).toEqual([expect.stringContaining(expected)]);
  });

  it('[AP-7] shows both sides of each file, with what lies between hunks left out of both, where the whole text is not known', async () => {
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
    expect(await shownFor({ kind: 'diff', files: [{ ...file, diff }] })).toEqual([
      { type: 'diff', path: '/w/a.ts', oldText: 'one\ntwo\n⋯\nnine⟨U+001B⟩[2J', newText: 'one\n2\n⋯\n9' },
    ]);
    const created = { ...file, diff: 'new file mode 100644\n@@ -0,0 +1 @@\n+new', size_before: null };
    expect(await shownFor({ kind: 'diff', files: [created] })).toEqual([
      { type: 'diff', path: '/w/a.ts', oldText: null, newText: 'new\n' },
    ]);
  });

  it('[AP-7] says what was cut, and shows everything else as a terminal would', async () => {
    const cut: Preview = { kind: 'diff', files: [{ ...file, diff: '@@ -1 +1 @@\n-a\n+b', truncated: true }] };
    expect(String(texts(await shownFor(cut)))).toContain('The diff was too long and is cut here.');
    const command: Preview = {
      kind: 'command',
      commands: [['npm', 'test']],
      cwd: '',
      network: false,
      reversible: false,
      scripts: [],
    };
    const shown = String(texts(await shownFor(command)));
    expect(shown).toContain('npm test');
    expect(shown).toContain('Cannot be undone');
  });

  it('[AP-7] shows a shell line as it was written, and whole', async () => {
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
    const shown = String(texts(await shownFor(preview, shell)));
    expect(shown).toContain("cat > run.js <<'E'\n  evil()\n  E");
    expect(shown.split('echo one;').length).toBeGreaterThan(2_500);
  });

  it.each<Preview>([
    { kind: 'custom', server: 'db', summary: 'Reads a table' },
    { kind: 'summary', summary: 'Creates a branch.' },
    { kind: 'unavailable', reason: 'the disk fails' },
  ])('[AP-7] shows every parameter, whole, where the preview says little: $kind', async (preview) => {
    const custom = {
      tool_name: 'db__write',
      tool_params: { path: 'a', content: `${'x'.repeat(500)}\ndrop table users` },
    };
    expect(String(texts(await shownFor(preview, custom)))).toContain('drop table users');
  });

  it('[AP-7] shows the whole old and new text where they are known, and where the change begins', async () => {
    const diff = '@@ -2,2 +2,2 @@\n two\n-three\n+3';
    const preview: Preview = { kind: 'diff', files: [{ ...file, diff }] };
    const onDisk = async (path: string) => (path === '/w/a.ts' ? 'one\ntwo\nthree\nfour\n' : undefined);
    const whole = {
      type: 'diff',
      path: '/w/a.ts',
      oldText: 'one\ntwo\nthree\nfour\n',
      newText: 'one\ntwo\n3\nfour\n',
    };
    expect(await shownFor(preview, call, onDisk)).toEqual([whole]);
    expect(locationsOf('/w', { path: 'a.ts' }, preview)).toEqual([{ path: '/w/a.ts', line: 3 }]);
    const unsaved: Preview = { kind: 'diff', files: [{ ...file, diff, unsaved: true }] };
    expect(await shownFor(unsaved, call, onDisk)).toEqual([
      whole,
      expect.objectContaining({
        content: { type: 'text', text: expect.stringContaining(words.card.unsaved) },
      }),
    ]);
    // If the file no longer has the text that the preview was made from, only the lines of the diff are shown.
    expect(await shownFor(preview, call, async () => 'other\n')).toEqual([
      { ...whole, oldText: 'two\nthree', newText: 'two\n3' },
    ]);
  });

  it('shows the outcome as a terminal would print it, and a change only once', () => {
    const shown = (tool: string, result: JsonValue) =>
      resultContent(tool, { path: 'a' }, { result, error: null }, words);
    const read = { success: true, content: 'hello', encoding: 'utf-8', size: 5, truncated: false };
    expect(texts(shown('read_file', read))).toEqual(['```\nhello\n```']);
    expect(
      texts(shown('x__y', { success: true, stdout: '\u001b[31mout\u001b[0m\n', stderr: 'err' })),
    ).toEqual(['```\nout\nerr\n```']);
    const entry = { name: 'b', path: 'b', type: 'directory', size: 0, modified: '2026-11-15T12:00:00Z' };
    const listing = { success: true, files: [entry], total_count: 1, truncated: false };
    expect(texts(shown('list_directory', listing))).toEqual(['```\nb/\n```']);
    const error = { code: 'FILE_NOT_FOUND', message: 'It is gone.', recoverable: true } as const;
    expect(texts(resultContent('read_file', {}, { result: null, error }, words))).toEqual([
      '```\nIt is gone.\n```',
    ]);
    const changed = {
      success: true,
      path: 'a',
      size: 1,
      changed_files: [{ path: 'a', operation: 'modified' }],
    };
    expect(shown('edit_file', changed)).toBe(undefined);
    const picture = { ...read, content: 'AAAA', encoding: 'base64', media_type: 'image/png' };
    expect(shown('read_file', picture)).toEqual([
      { type: 'content', content: { type: 'image', data: 'AAAA', mimeType: 'image/png' } },
    ]);
    expect(shown('read_file', null)).toBe(undefined);
    expect(String(texts(shown('read_file', { ...read, content: 'x'.repeat(30_000) }))).length).toBeLessThan(
      21_000,
    );
    expect(changeContent('edit_file', { path: 'a', old: 'x', new: 'y' }, '/w')).toEqual([
      { type: 'diff', path: '/w/a', oldText: 'x', newText: 'y' },
    ]);
    expect(changeContent('write_file', { path: 'a', content: 'y' }, '/w')).toBe(undefined);
  });

  it('[TL-2] says that a command exited with 1, and shows the end of its output (founding documents: tools-specification)', () => {
    const result = { success: false, stdout: 'out\n', stderr: 'err', exit_code: 1, execution_time: 0.1 };
    expect(texts(resultContent('execute_command', {}, { result, error: null, exit_code: 1 }, words))).toEqual(
      ['```\nexit 1\n```', '```\nout\nerr\n```'],
    );
    expect(
      texts(resultContent('execute_command', {}, { result: null, error: null, exit_code: 1 }, words)),
    ).toEqual(['```\nexit 1\n```']);
    const long = { ...result, stdout: `${'line\n'.repeat(10_000)}the last line\n`, stderr: '' };
    const [, output] = texts(
      resultContent('execute_command', {}, { result: long, error: null, exit_code: 1 }, words),
    );
    expect(String(output)).toContain('the last line');
  });
});
