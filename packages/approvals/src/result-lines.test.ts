import type { JsonValue } from '@countersign/protocol';
import { callWords } from '@countersign/words';
import { expect, it } from 'vitest';
import { resultLines, resultText } from './result-lines.ts';
import { resultView } from './result-view.ts';

const { en, ru } = callWords;
const modified = '2026-02-21T06:19:00Z';
const file = { name: 'a.ts', path: 'src/a.ts', type: 'file', size: 1_234, modified };
const range = { line: 3, col: 1, end_line: 3, end_col: 4 };
const hunk = { old_start: 1, old_lines: 2, new_start: 1, new_lines: 2, header: '' };
const ran = {
  success: true,
  stdout: '\u001b[31mone\u001b[0m\ntwo\n',
  stderr: '',
  exit_code: 0,
  execution_time: 0,
};

const cases: readonly (readonly [string, JsonValue, readonly string[]])[] = [
  ['execute_command', ran, ['one', 'two']],
  ['execute_command', { ...ran, stdout: '' }, []],
  [
    'shell_exec',
    {
      ...ran,
      stdout: '',
      changed_files: [{ path: 'a.ts', operation: 'deleted' }],
      changed_files_incomplete: '1001 files changed; 1000 of them are listed',
      withheld: [{ path: '.git/hooks/pre-commit' }],
      conflicts: [{ path: 'b.ts' }],
      undoable: false,
      not_undoable: 'the copies are too large',
    },
    [
      'deleted a.ts',
      'Withheld and kept aside, because it would run code later: .git/hooks/pre-commit',
      "Not replaced, because somebody else changed it meanwhile; the command's version is kept aside: b.ts",
      'Not everything is listed: 1001 files changed; 1000 of them are listed',
      'Cannot be undone: the copies are too large',
    ],
  ],
  [
    'read_file',
    { success: true, content: 'a\n\nb\n', encoding: 'utf-8', size: 5, truncated: false },
    ['a', '', 'b'],
  ],
  [
    'list_directory',
    {
      success: true,
      files: [
        { ...file, name: 'src', path: 'src', type: 'directory' },
        file,
        { ...file, path: 'b', size: 12 },
      ],
      total_count: 3,
      truncated: true,
    },
    ['src/', 'src/a.ts  1.2 kB', 'b  12 B', '… there is more'],
  ],
  [
    'search_files',
    {
      success: true,
      files: [{ ...file, matches: [{ line: 7, text: '  // TODO' }] }],
      total_count: 1,
      truncated: false,
    },
    ['src/a.ts', '7:  // TODO'],
  ],
  [
    'git_diff',
    {
      success: true,
      files: [
        {
          path: 'a.ts',
          state: 'modified',
          binary: false,
          hunks: [{ ...hunk, lines: [' same', '-one', '+two'] }],
        },
      ],
      truncated: false,
    },
    ['a.ts  changed', '@@ -1,2 +1,2 @@', ' same', '-one', '+two'],
  ],
  [
    'git_status',
    {
      success: true,
      branch: 'main',
      head: 'abc',
      upstream: 'origin/main',
      ahead: 2,
      behind: 0,
      files: [
        { path: 'a.ts', staged: 'modified', unstaged: null },
        { path: 'b.ts', staged: null, unstaged: 'deleted' },
        { path: 'c.ts', staged: null, unstaged: 'untracked' },
        { path: 'e.ts', old_path: 'd.ts', staged: 'renamed', unstaged: null },
      ],
      truncated: false,
    },
    ['## main...origin/main [+2]', 'M  a.ts', ' D b.ts', '?? c.ts', 'R  d.ts → e.ts'],
  ],
  [
    'git_log',
    {
      success: true,
      commits: [{ id: 'abcdef0123', author: 'Ada', email: 'a@b.c', date: modified, subject: 'Fix' }],
      truncated: false,
    },
    ['abcdef01 Fix  Ada, 2026-02-21'],
  ],
  [
    'git_branch',
    {
      success: true,
      current: 'main',
      branches: [
        { name: 'main', commit: 'abc', upstream: null },
        { name: 'old', commit: 'def', upstream: null },
      ],
    },
    ['* main abc', '  old def'],
  ],
  [
    'diagnostics',
    {
      success: true,
      diagnostics: [{ ...range, severity: 'error', message: 'No', code: 'TS1', text: 'x' }],
      truncated: false,
    },
    ['3:1 error No  TS1'],
  ],
  [
    'symbols',
    { success: true, symbols: [{ name: 'f', kind: 'function', ...range, text: 'f()' }], truncated: false },
    ['3: function f'],
  ],
  [
    'references',
    { success: true, locations: [{ path: 'a.ts', ...range, text: '  f()' }], truncated: false },
    ['a.ts:3:1  f()'],
  ],
  [
    'edit_file',
    {
      success: true,
      path: 'a.ts',
      size: 3,
      changed_files: [{ path: 'a.ts', operation: 'modified' }],
    },
    ['changed a.ts'],
  ],
  ['db__query', { success: true, rows: 3, name: 'users', note: null }, ['rows: 3', 'name: users']],
  ['db__query', { rows: [1] }, ['{', '  "rows": [', '    1', '  ]', '}']],
  ['db__query', null, []],
];

it.each(cases)('%s prints %j as a person would read it', (tool, result, lines) => {
  expect(resultText(resultView(tool, {}, result), en)).toBe(lines.join('\n'));
});

it('keeps colours of commands, and colours changes', () => {
  expect(resultLines(resultView('shell_exec', {}, ran), en)[0]).toEqual([
    { text: 'one', style: { color: 'red' } },
  ]);
  const diff = cases.find(([tool]) => tool === 'git_diff')?.[1] ?? null;
  expect(resultLines(resultView('git_diff', {}, diff), ru).map(([first]) => first)).toMatchObject([
    { text: 'a.ts', style: { bold: true } },
    { style: { color: 'cyan' } },
    { text: ' same', style: {} },
    { text: '-one', style: { color: 'red' } },
    { text: '+two', style: { color: 'green' } },
  ]);
});
