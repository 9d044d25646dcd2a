// @vitest-environment happy-dom
import { resultView } from '@countersign/approvals';
import type { JsonValue } from '@countersign/protocol';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ResultView } from './result-view.tsx';

afterEach(cleanup);

const range = { line: 3, col: 1, end_line: 3, end_col: 4 };
const entry = { path: 'src/a.ts', name: 'a.ts', type: 'file', size: 3, modified: '2026-02-21T06:19:00Z' };
const commit = {
  id: '0123456789',
  author: 'Ada',
  email: 'a@b.c',
  date: '2026-02-21T06:19:00Z',
  subject: 'Fix',
};
const listing = { success: true, total_count: 1, truncated: false };
const file = { success: true, size: 3, truncated: false };

const draw = (tool: string, result: JsonValue, params: Record<string, JsonValue> = {}) =>
  render(<ResultView view={resultView(tool, params, result)} sought={String(params.content ?? '')} />)
    .container;

describe('a result is drawn as what it is', () => {
  it.each<[string, JsonValue, string]>([
    ['list_directory', { ...listing, files: [entry] }, 'src/a.ts3 bytes'],
    [
      'search_files',
      { ...listing, files: [{ ...entry, matches: [{ line: 7, text: 'let a' }] }] },
      'src/a.ts7let a',
    ],
    ['git_log', { success: true, commits: [commit], truncated: false }, '01234567 FixAda · '],
    [
      'git_status',
      {
        success: true,
        branch: 'main',
        head: 'abc',
        upstream: 'origin/main',
        ahead: 1,
        behind: 0,
        files: [{ path: 'a.md', staged: 'added', unstaged: 'modified' }],
        truncated: false,
      },
      'main origin/main 1 ahead, 0 behinda.mdstaged: new file, changed',
    ],
    [
      'diagnostics',
      {
        success: true,
        diagnostics: [{ ...range, severity: 'error', message: 'No such name', code: '2304', text: 'foo()' }],
        truncated: false,
      },
      '3Error No such name 2304foo()',
    ],
    [
      'symbols',
      { success: true, symbols: [{ ...range, name: 'greet', kind: 'function', text: '' }], truncated: false },
      '3greet function',
    ],
    [
      'references',
      { success: true, locations: [{ ...range, path: 'a.ts', text: 'greet()' }], truncated: false },
      'a.ts3greet()',
    ],
    [
      'git_branch',
      { success: true, current: 'main', branches: [{ name: 'main', commit: 'abcdef012', upstream: null }] },
      'main abcdef01',
    ],
    ['db__query', { rows: 3 }, '"rows": 3'],
  ])('%s', (tool, result, text) => expect(draw(tool, result).textContent).toContain(text));

  it('with the sought text marked in each line', () => {
    const files = [{ ...entry, matches: [{ line: 7, text: 'let greet = 1' }] }];
    const found = draw('search_files', { ...listing, files }, { content: 'greet' });
    expect(found.querySelector('.match')?.textContent).toBe('greet');
  });

  it('a diff of git with signs and colours', async () => {
    const hunk = { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, header: '' };
    const files = [
      {
        path: 'a.ts',
        state: 'modified',
        binary: false,
        hunks: [{ ...hunk, lines: ['-let a = 1;', '+let a = 2;'] }],
      },
    ];
    const diff = draw('git_diff', { success: true, files, truncated: false });
    expect(diff.textContent).toContain('a.tschanged+1 −1');
    await vi.waitFor(() => expect(diff.querySelector('.hljs-keyword')?.textContent).toBe('let'), 20_000);
    const lines = [...diff.querySelectorAll('.diff-text')].map(({ textContent }) => textContent);
    expect(lines).toEqual(['let a = 1;', 'let a = 2;']);
    expect([...diff.querySelectorAll('.diff-changed')].map(({ textContent }) => textContent)).toEqual([
      '1',
      '2',
    ]);
  });

  it('a file with numbered lines in the colours of its language, in part first', async () => {
    const content = Array.from({ length: 50 }, (_, n) => `const line${n} = ${n};`).join('\n');
    const read = draw('read_file', { ...file, content, encoding: 'utf-8', start_line: 5 }, { path: 'a.js' });
    expect(read.querySelectorAll('.code-line')).toHaveLength(40);
    expect(read.querySelector('.code-line')?.getAttribute('data-line')?.trim()).toBe('5');
    await vi.waitFor(() => expect(read.querySelector('.hljs-keyword')?.textContent).toBe('const'), 20_000);
    await userEvent.click(screen.getByRole('button', { name: 'Show all 50 lines' }));
    expect(read.querySelectorAll('.code-line')).toHaveLength(50);
  });

  it('[UI-6] hidden characters of highlighted code stay visible', async () => {
    const read = draw(
      'read_file',
      { ...file, content: 'const a = "\u202e";\nconst b = 1;', encoding: 'utf-8' },
      { path: 'a.js' },
    );
    await vi.waitFor(() => expect(read.querySelector('.hljs-keyword')).not.toBeNull(), 20_000);
    expect(read.querySelector('mark')?.textContent).toBe('⟨U+202E⟩');
  });

  it.each([
    ['image/png', 'iVBORw0KGgo=', 1],
    ['image/svg+xml', 'PHN2Zz48L3N2Zz4=', 0],
    ['image/png', '"><script>', 0],
  ])('a picture of %s', (media_type, content, pictures) => {
    const read = draw('read_file', { ...file, content, encoding: 'base64', media_type }, { path: 'a.png' });
    expect(read.querySelectorAll('img')).toHaveLength(pictures);
  });
});

describe('a terminal', () => {
  const terminal = (stdout: string) =>
    draw('shell_exec', { success: true, stdout, stderr: '', exit_code: 0, execution_time: 1 });

  it('shows the last lines first, then all of them', async () => {
    const shown = terminal(Array.from({ length: 1000 }, (_, n) => `line ${n}\n`).join(''));
    expect(shown.querySelector('pre')?.textContent).toMatch(/^line 988\n[\s\S]*line 999\n$/);
    await userEvent.click(screen.getByRole('button', { name: 'Show all 1000 lines' }));
    expect(shown.querySelector('pre')?.textContent).toMatch(/^line 0\n/);
    expect(shown.querySelectorAll('.terminal-block')).toHaveLength(5);
    expect(screen.queryByRole('button', { name: /^Show all/ })).toBeNull();
  });

  it('draws colours, and shows other control characters as what they are (UI-6)', () => {
    const shown = terminal('\u001b[1;31mred\u001b[0m plain\u001b[2Jbell\u0007');
    expect(shown.querySelector('.ansi-red.ansi-bold')?.textContent).toBe('red');
    expect(shown.textContent).toContain(' plain⟨U+001B⟩[2Jbell⟨U+0007⟩');
  });

  it('copies what it shows', async () => {
    const writeText = vi.fn(async () => {});
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText } });
    terminal('\u001b[31mone\u001b[0m\ntwo');
    await userEvent.click(screen.getByRole('button', { name: 'Copy' }));
    expect(writeText).toHaveBeenCalledWith('one\ntwo\n');
    expect(screen.getByRole('button').textContent).toBe('Copied');
  });

  it('without output says so', () => expect(terminal('').textContent).toBe('No output.'));
});
