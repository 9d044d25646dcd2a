import { readFileSync } from 'node:fs';
import { builtInToolNames, type JsonValue } from '@countersign/protocol';
import { callWords } from '@countersign/words';
import { describe, expect, it } from 'vitest';
import { styledLines } from './ansi-text.ts';
import { type CallDecision, callOutcome, callState, callTitle, decisionText } from './call-line.ts';
import { resultText } from './result-lines.ts';
import { resultView } from './result-view.ts';

const { en } = callWords;
const range = { line: 3, col: 1, end_line: 3, end_col: 4 };
const file = { name: 'a.ts', path: 'src/a.ts', type: 'file', size: 3, modified: '2026-02-21T06:19:00Z' };
const ran = { success: true, stdout: 'one\ntwo\n', stderr: '', exit_code: 0, execution_time: 0.1 };
const commit = { id: 'abc', author: 'Ada', email: 'a@b.c', date: '2026-02-21T06:19:00Z', subject: 'Fix' };

/** A result of each kind, with what its row says. */
const cases: readonly (readonly [string, Record<string, JsonValue>, JsonValue, string, string, string])[] = [
  ['execute_command', { command: 'npm', args: ['test'] }, ran, 'terminal', 'Ran npm test', '2 lines'],
  [
    'shell_exec',
    { command: 'false | true' },
    { ...ran, success: false, exit_code: 1 },
    'terminal',
    'Ran false | true',
    'exit 1',
  ],
  [
    'shell_exec',
    { command: 'sleep 9' },
    { ...ran, success: false, exit_code: null, error: 'It took too long.', code: 'COMMAND_TIMEOUT' },
    'terminal',
    'Ran sleep 9',
    'stopped',
  ],
  [
    'read_file',
    { path: 'a.ts' },
    { success: true, content: 'a\nb', encoding: 'utf-8', size: 3, truncated: false },
    'text',
    'Read a.ts',
    '2 lines',
  ],
  [
    'read_file',
    { path: 'a.png' },
    {
      success: true,
      content: 'AAAA',
      encoding: 'base64',
      size: 3,
      truncated: false,
      media_type: 'image/png',
    },
    'picture',
    'Read a.png',
    'picture',
  ],
  [
    'list_directory',
    { path: '.' },
    { success: true, files: [file], total_count: 1, truncated: true },
    'listing',
    'Listed the project root',
    '1 entry, cut',
  ],
  [
    'search_files',
    { content: 'TODO', path: 'src' },
    {
      success: true,
      files: [{ ...file, matches: [{ line: 1, text: 'TODO' }] }],
      total_count: 1,
      truncated: false,
    },
    'matches',
    'Searched for TODO (src)',
    '1 match in 1 file',
  ],
  [
    'search_files',
    { pattern: '*.ts' },
    { success: true, files: [file], total_count: 1, truncated: false },
    'listing',
    'Searched for *.ts',
    '1 entry',
  ],
  [
    'edit_file',
    { path: 'src/a.ts', old: 'x', new: 'y' },
    {
      success: true,
      path: 'src/a.ts',
      size: 3,
      changed_files: [{ path: 'src/a.ts', operation: 'modified' }],
    },
    'changed',
    'Edited src/a.ts',
    '+1 −1',
  ],
  [
    'git_status',
    {},
    {
      success: true,
      branch: 'main',
      head: 'abc',
      upstream: null,
      ahead: 0,
      behind: 0,
      files: [],
      truncated: false,
    },
    'status',
    'Looked at the git status',
    'nothing changed',
  ],
  [
    'git_diff',
    {},
    {
      success: true,
      files: [
        {
          path: 'a.ts',
          state: 'modified',
          binary: false,
          hunks: [
            {
              old_start: 1,
              old_lines: 1,
              new_start: 1,
              new_lines: 1,
              header: '',
              lines: ['-one', '+two'],
            },
          ],
        },
      ],
      truncated: false,
    },
    'diff',
    'Compared with git',
    '1 file',
  ],
  [
    'git_log',
    {},
    { success: true, commits: [commit], truncated: false },
    'commits',
    'Read the git log',
    '1 commit',
  ],
  [
    'git_branch',
    {},
    { success: true, current: 'main', branches: [{ name: 'main', commit: 'abc', upstream: null }] },
    'branches',
    'Git branch',
    '1 branch',
  ],
  [
    'diagnostics',
    { path: 'a.ts' },
    { success: true, diagnostics: [], truncated: false },
    'diagnostics',
    'Checked a.ts for problems',
    'no problems',
  ],
  [
    'symbols',
    { path: 'a.ts' },
    { success: true, symbols: [{ name: 'f', kind: 'function', ...range, text: 'f()' }], truncated: false },
    'symbols',
    'Listed the symbols of a.ts',
    '1 symbol',
  ],
  [
    'references',
    { path: 'a.ts', line: 1, col: 1 },
    { success: true, locations: [{ path: 'a.ts', ...range, text: 'f()' }], truncated: false },
    'locations',
    'Found references to a.ts',
    '1 place',
  ],
  ['db__query', { query: 'x' }, { rows: [1] }, 'json', 'Used db__query', ''],
  ['db__query', { name: 'users' }, 'all of them', 'text', 'Used db__query users', '1 line'],
];

it.each(cases)('%s %j: its result is seen as what it is', (tool, params, result, kind, title, outcome) => {
  const view = resultView(tool, params, result);
  expect(view.kind).toBe(kind);
  expect(callTitle({ toolName: tool, params, status: 'completed' }, en)).toBe(title);
  expect(callOutcome(view, en)).toBe(outcome);
});

const changedFile = (operation: string) => ({
  success: true,
  path: 'a.md',
  size: 3,
  changed_files: [{ path: 'a.md', operation }],
});
const long = `${'x'.repeat(100)}\n`.repeat(30);

it.each([
  ['edit_file', { old: 'a\nb\nc', new: 'a\nB\nB2\nc' }, 'modified', '+2 −1'],
  ['edit_file', { old: 'a\nb\n', new: '' }, 'modified', '+0 −2'],
  ['edit_file', { old: 'a', new: 'b', replace_all: true }, 'modified', ''],
  // A long text is masked after a reload: the call must read the same before.
  ['edit_file', { old: 'a', new: long }, 'modified', ''],
  ['edit_file', { old: 'a', new: '[3030 bytes, digest 0123]' }, 'modified', ''],
  ['write_file', { content: 'a\nb\n' }, 'created', '+2 −0'],
  ['write_file', { content: 'a\nb\n' }, 'modified', ''],
])('%s %j: the lines that it changed, if the call tells them', (tool, params, operation, outcome) => {
  const view = resultView(tool, { path: 'a.md', ...params }, changedFile(operation));
  expect(callOutcome(view, en)).toBe(outcome);
});

it.each(builtInToolNames)('no result of %s is shown as JSON', (tool) => {
  const path = new URL(`../../protocol/fixtures/tools/${tool}.json`, import.meta.url);
  const { params, success } = JSON.parse(readFileSync(path, 'utf8'));
  for (const result of success) expect(resultView(tool, params[0], result).kind).not.toBe('json');
});

it('what has no other form is shown as names and values', () => {
  const pdf = { success: true, content: 'AAAA', encoding: 'base64', size: 3, truncated: false };
  const view = resultView('read_file', { path: 'a.pdf' }, { ...pdf, media_type: 'application/pdf' });
  expect(resultText(view, en)).toBe('media_type: application/pdf\nsize: 3');
});

it('a diff of git has the lines of its hunks', () => {
  const [tool, params, result] = cases.find(([name]) => name === 'git_diff') ?? cases[0] ?? ['', {}, null];
  const view = resultView(tool, params, result);
  expect(view.kind === 'diff' && view.files[0]?.lines).toEqual([
    { kind: 'hunk', text: '@@ -1,1 +1,1 @@' },
    { kind: 'removed', text: 'one', before: 1 },
    { kind: 'added', text: 'two', after: 1 },
  ]);
});

it('a result that lacks what its tool promises is shown as it came', () => {
  for (const tool of builtInToolNames)
    expect(resultView(tool, {}, { surprise: true })).toEqual({ kind: 'json', value: { surprise: true } });
  expect(resultView('git_log', {}, { success: false, error: 'no repository', code: 'GIT_FAILED' }).kind).toBe(
    'json',
  );
});

describe('a title', () => {
  it('has the tense of the state, and fits in a line', () => {
    const call = { toolName: 'execute_command', params: { command: 'npm', args: ['test'] } };
    expect(callTitle({ ...call, status: 'awaiting_approval' }, en)).toBe('Run npm test');
    expect(callTitle({ ...call, status: 'executing' }, en)).toBe('Running npm test');
    expect(callTitle({ ...call, status: 'executing' }, callWords.ru)).toBe('Выполняет npm test');
    const long = { toolName: 'shell_exec', params: { command: `echo ${'x'.repeat(500)}\nrm -rf .` } };
    expect(callTitle({ ...long, status: 'completed' }, en)).toHaveLength('Ran '.length + 200);
  });

  it('[UI-6] shows hidden characters', () => {
    const call = { toolName: 'read_file', params: { path: 'a\u202eb' }, status: 'completed' } as const;
    expect(callTitle(call, en)).toBe('Read a⟨U+202E⟩b');
  });
});

describe('the output of a command', () => {
  const plain = (output: string) => styledLines(output).map((line) => line.map(({ text }) => text).join(''));

  it('has the colours of its sequences, over several lines', () => {
    expect(styledLines('\u001b[1;31mred\n still\u001b[0m plain')).toEqual([
      [{ text: 'red', style: { bold: true, color: 'red' } }],
      [
        { text: ' still', style: { bold: true, color: 'red' } },
        { text: ' plain', style: {} },
      ],
    ]);
  });

  it.each([
    ['\u001b[91mx', 'bright-red'],
    ['\u001b[38;5;2mx', 'green'],
    ['\u001b[38;5;12mx', 'bright-blue'],
    ['\u001b[38;5;196mx', 'bright-red'],
    ['\u001b[38;5;240mx', 'bright-black'],
    ['\u001b[38;2;0;150;0mx', 'green'],
    ['\u001b[38;2;255;255;0mx', 'bright-yellow'],
    ['\u001b[38;2;20;0;0mx', 'bright-black'],
    ['\u001b[31m\u001b[39mx', undefined],
    ['\u001b[48;5;1mx', undefined],
  ])('%j is drawn as %s', (output, color) => {
    expect(styledLines(output)[0]?.at(-1)?.style.color).toBe(color);
  });

  it('[UI-6] keeps every other sequence in the text, and hides nothing but what was written over', () => {
    expect(plain('a\u001b[2Jb\u001b]0;title\u0007c')).toEqual(['a\u001b[2Jb\u001b]0;title\u0007c']);
    expect(plain('10%\r50%\r100%\r\nnext\n')).toEqual(['100%', 'next']);
    expect(plain('\u001b[8mhidden')).toEqual(['hidden']);
    expect(plain('')).toEqual(['']);
  });
});

describe('who decided', () => {
  const decision = (change: Partial<CallDecision>): CallDecision => ({
    status: 'approved',
    approvedBy: 'user',
    scope: null,
    device: null,
    reason: null,
    message: null,
    ...change,
  });

  it.each<[Partial<CallDecision>, boolean | undefined, string]>([
    [{ device: 'VS Code' }, true, 'You approved this'],
    [{ device: 'VS Code' }, false, 'You approved this in VS Code'],
    [{ device: 'Chrome on Linux' }, false, 'You approved this in Chrome on Linux'],
    [{ device: 'terminal on vm' }, false, 'You approved this in the terminal'],
    [{ device: 'the phone', status: 'rejected' }, undefined, 'You rejected this on the phone'],
    [{}, undefined, 'You approved this'],
    [{}, false, 'You approved this on another device'],
    [{ device: 'token browser' }, false, 'You approved this with the token “browser”'],
    [{ scope: 'once' }, true, 'You approved this'],
    [{ scope: 'always' }, true, 'You approved this and always from now on'],
    [{ scope: 'session', approvedBy: 'config' }, true, 'Allowed in this conversation'],
    [{ scope: 'toString', approvedBy: 'config' }, true, 'Allowed by a rule or grant of yours'],
    [{ status: 'timeout' }, false, 'Nobody decided in time'],
    [{ status: 'cancelled' }, false, 'Withdrawn before you decided'],
  ])('%j here: %s', (change, isHere, text) => {
    expect(decisionText(decision(change), isHere, en)).toBe(text);
  });
});

it.each([
  [{ status: 'failed', error: { code: 'DENIED_BY_POLICY' } }, 'blocked'],
  [{ status: 'failed', error: { code: 'READ_FAILED' } }, 'failed'],
  [{ status: 'completed', exitCode: 2 }, 'nonzero'],
  [{ status: 'completed', exitCode: 0 }, 'completed'],
  [{ status: 'completed', isUndone: true }, 'undone'],
  [{ status: 'cancelled' }, 'cancelled'],
  [{ status: 'cancelled', isNotStarted: true }, 'not_started'],
] as const)('the state of %j is %s', (change, state) => {
  expect(
    callState({ isUndone: false, isNotStarted: false, exitCode: undefined, error: null, ...change }),
  ).toBe(state);
});

it('[RN-5] the output of a background job ends with its ports, and how to open them', () => {
  const job = {
    success: true,
    stdout: 'ready\n',
    stderr: '',
    running: true,
    exit_code: null,
    ports: [3000, 5173],
  };
  expect(resultView('shell_output', { job_id: 'job_1' }, job)).toEqual({
    kind: 'terminal',
    output: 'ready\n→ localhost:3000 · countersign open 3000\n→ localhost:5173 · countersign open 5173',
    exitCode: null,
  });
  expect(resultView('shell_output', { job_id: 'job_1' }, { ...job, ports: [] })).toMatchObject({
    output: 'ready\n',
  });
});
