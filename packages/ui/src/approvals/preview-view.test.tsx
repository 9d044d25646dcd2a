// @vitest-environment happy-dom
import type { Preview } from '@countersign/protocol';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { PreviewView } from './preview-view.tsx';

afterEach(cleanup);

const file = {
  path: 'src/app.ts',
  operation: 'modified' as const,
  diff: '@@ -1,2 +1,2 @@\n same\n-const port = 8000;\n+const port = 8080;',
  truncated: true,
  size_before: 10,
  size_after: 10,
  unsaved: true,
};

const shown = (preview: Preview): string =>
  render(<PreviewView preview={preview} />).container.textContent ?? '';

describe('[AP-7] what will happen', () => {
  it('is a diff, in one column or two, with signs and marks', async () => {
    const { container } = render(<PreviewView preview={{ kind: 'diff', files: [file] }} />);
    expect(container.textContent).toContain('+1 −1');
    expect(container.textContent).toContain('compared with unsaved changes');
    expect(container.textContent).toContain('The diff was too long');
    expect([...container.querySelectorAll('.diff-changed')].map((mark) => mark.textContent)).toEqual([
      '0',
      '8',
    ]);
    expect(container.querySelectorAll('.diff-unified tr')).toHaveLength(3);
    await userEvent.click(screen.getByRole('button', { name: 'Side by side' }));
    expect(container.querySelectorAll('.diff-split tr')).toHaveLength(2);
    await userEvent.click(screen.getByRole('button', { name: 'Unified' }));
  });

  it('names the place of a hunk, unless the file begins with it', () => {
    const diff = '@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@ f()\n-c\n+d';
    const { container } = render(<PreviewView preview={{ kind: 'diff', files: [{ ...file, diff }] }} />);
    expect([...container.querySelectorAll('.diff-hunk')].map(({ textContent }) => textContent)).toEqual([
      '@@ -9,1 +9,1 @@ f()',
    ]);
  });

  it('[UI-1] what may scroll can be reached by keyboard', () => {
    const preview: Preview = { kind: 'delete', path: 'old.ts', size: 2048, head: 'first line' };
    const { container } = render(<PreviewView preview={preview} />);
    expect([...container.querySelectorAll('pre')].map(({ tabIndex }) => tabIndex)).toEqual([0]);
  });

  it('shows a long diff in part first, and all of it when asked', async () => {
    const diff = `@@ -0,0 +1,400 @@\n${Array.from({ length: 400 }, (_, n) => `+line ${n}`).join('\n')}`;
    const { container } = render(<PreviewView preview={{ kind: 'diff', files: [{ ...file, diff }] }} />);
    expect(container.querySelectorAll('tr')).toHaveLength(300);
    await userEvent.click(screen.getByRole('button', { name: 'Show all 400 lines' }));
    expect(container.querySelectorAll('tr')).toHaveLength(400);
    expect(container.textContent).not.toContain('Not all of it is in sight.');
  });

  it.each<[Preview, readonly string[]]>([
    [{ kind: 'diff', files: [{ ...file, diff: '', truncated: false }] }, ['The content stays the same.']],
    [
      { kind: 'delete', path: 'old.ts', size: 2048, head: 'first line' },
      ['Deletes old.ts (2048 bytes). It begins with:', 'first line'],
    ],
    [{ kind: 'delete', path: 'none.ts', size: 0, head: '' }, ['none.ts (0 bytes)', 'The file is empty.']],
    [{ kind: 'directory', path: 'src/new' }, ['Creates the folder src/new']],
    [
      {
        kind: 'command',
        commands: [
          ['npm', 'test', null],
          ['node', 'a b'],
        ],
        cwd: '.',
        network: true,
        reversible: false,
        scripts: ['test/run.js'],
      },
      [
        'Runsnpm test ⟨known only when it runs⟩',
        "Runsnode 'a b'",
        'Folderproject root',
        'Has network access to any host',
        'Cannot be undone',
        'Runs code fromtest/run.js',
      ],
    ],
    [
      { kind: 'command', commands: [['ls']], cwd: 'src', network: false, reversible: true, scripts: [] },
      ['Foldersrc', 'No network access'],
    ],
    [
      { kind: 'commit', message: 'Fix it', files: [file], hooks: ['pre-commit'] },
      ['MessageFix it', 'Hookspre-commit', '+1 −1'],
    ],
    [
      {
        kind: 'push',
        remote: 'origin',
        url: 'https://example.test/repo',
        branch: 'main',
        commits: [{ id: '0123456789abcdef', subject: 'Fix', author: 'Ada' }],
        hooks: [],
      },
      [
        'Pushes main to origin',
        'https://example.test/repo',
        '1 commit',
        '01234567 Fix  (Ada)',
        'No hooks run',
      ],
    ],
    [
      { kind: 'push', remote: 'o', url: 'u', branch: 'b', commits: [], hooks: ['pre-push'] },
      ['0 commits', 'Hookspre-push'],
    ],
    [
      { kind: 'custom', server: 'weather', summary: 'Asks for rain' },
      ['Tool of the MCP server weather', 'Asks for rain'],
    ],
    [
      {
        kind: 'custom',
        server: 'db',
        tool: 'drop',
        summary: 'Drops a table',
        runs: 'node /srv/db.ts',
        network: true,
        hints: ['destructive'],
      },
      [
        'Tool of the MCP server db: drop',
        'Drops a table',
        'Runsnode /srv/db.ts',
        'Has network access',
        'It says that it may destroy something.',
        "This tool's own program decides what it touches.",
      ],
    ],
    [
      {
        kind: 'custom',
        server: 'db',
        tool: 'look',
        summary: 'Looks',
        runs: 'db-server',
        network: false,
        hints: ['read_only'],
      },
      ['No network access', 'It says that it only reads.'],
    ],
    [{ kind: 'summary', summary: 'Makes a branch' }, ['Makes a branch']],
    [{ kind: 'unavailable', reason: 'the runner is old' }, ['No preview: the runner is old']],
  ])('%j', (preview, texts) => {
    const text = shown(preview);
    for (const part of texts) expect(text).toContain(part);
  });

  it('names a look-alike once, though the runner has named it before', () => {
    expect(shown({ kind: 'summary', summary: 'pа⟨U+0430⟩ypal' })).toBe('pа⟨U+0430⟩ypal');
    expect(shown({ kind: 'summary', summary: 'pаypal' })).toContain('а⟨U+0430⟩');
  });
});
