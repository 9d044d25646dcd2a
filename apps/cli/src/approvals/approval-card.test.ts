import type { Preview } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { widthOf, withoutStyles } from '../screen/text-width.ts';
import { wordsFor } from '../words.ts';
import { drawCard, listLine, printedCard, resolutionLine, timeWords } from './approval-card.ts';
import { approval } from './approval-fixture.test-data.ts';
import { linesBelow } from './card-mode.ts';

const words = wordsFor({});
const frame = { columns: 60, rows: 30, color: false, words };
const cardWith = (preview: Preview | null, over = {}, isPreviewComing = false) =>
  printedCard(approval({ preview, ...over }), isPreviewComing, frame).join('\n');

describe('a card', () => {
  it('[AP-7] shows the call, its risk, the reasons, its origin and what will happen', () => {
    expect(printedCard(approval(), false, frame)).toEqual([
      '╭─ MEDIUM ──────────────────────────────────── 5:00 left ─',
      '│ Agent wants to change config.json',
      '│ ',
      '│ Why             Changes a source or document file:',
      '│                 config.json  (WRITE-2)',
      '│ Said            “Please raise the port.”  (step 1)',
      '│ ',
      '│ config.json',
      '│ changed · 15 → 15 bytes',
      '│ @@ -1 +1 @@',
      '│ - {"port": 3000}',
      '│ + {"port": 8080}',
      '│   \\ No newline at end of file',
      '│ ',
      `╰${'─'.repeat(58)}`,
    ]);
  });

  it('colours the risk and the diff, and nothing else changes', () => {
    const plain = printedCard(approval({ risk_level: 'HIGH' }), false, frame);
    const painted = printedCard(approval({ risk_level: 'HIGH' }), false, { ...frame, color: true });
    expect(painted.map(withoutStyles)).toEqual(plain);
    expect(painted.join('\n')).toContain('\u001b[31m- \u001b[0m\u001b[31m{"port": 3000}\u001b[0m');
    expect(painted.join('\n')).toContain('\u001b[32m+ \u001b[0m\u001b[32m{"port": 8080}\u001b[0m');
  });

  it('[AP-7] shows every changed line, even one that looks like the header of a diff', () => {
    const cardOf = (diff: string) =>
      cardWith({
        kind: 'diff',
        files: [
          { path: 'a.js', operation: 'modified', diff, truncated: false, size_before: 1, size_after: 1 },
        ],
      });
    const added = cardOf('--- /dev/null\n+++ b/a.js\n@@ -0,0 +1,2 @@\n+++ i; evil()\n+harmless()\n');
    expect(added).toContain('│ @@ -0,0 +1,2 @@\n│ + ++ i; evil()\n│ + harmless()\n');
    expect(added).not.toContain('b/a.js');
    const removed = cardOf('old mode 100755\n--- a/a.js\n+++ b/a.js\n@@ -1 +0,0 @@\n--- the guard\n');
    expect(removed).toContain('│   old mode 100755\n│ @@ -1 +0,0 @@\n│ - -- the guard\n');
  });

  it('[AP-7] shows where a command fetches from, and what', () => {
    const card = cardWith({
      kind: 'command',
      commands: [['git', 'fetch']],
      cwd: '.',
      network: true,
      reversible: false,
      scripts: [],
      fetches: { url: 'https://example.org/x.git', refs: ['refs/heads/*'] },
      repositories: ['/srv/x.git'],
    });
    expect(card).toMatch(/│ Fetches from +https:\/\/example\.org\/x\.git {2}refs\/heads\/\*\n/);
    expect(card).toMatch(/│ Repository +\/srv\/x\.git\n/);
  });

  it('[UI-6] no name of a parameter draws lines of its own', () => {
    const name = `x\n╰──────\n╭─ LOW ─\n│ Agent wants to read README.md\n│ ${'y'.repeat(500)}`;
    const card = cardWith(
      { kind: 'custom', server: 'db', summary: 'Writes' },
      { tool_name: 'db__write', tool_params: { [name]: 'drop', table: 'users' } },
    );
    expect(card.split('\n').filter((line) => /^[╰╭]/.test(line))).toHaveLength(2);
    expect(card.split('\n').every((line) => line.length <= frame.columns)).toBe(true);
    expect(card.replaceAll(/\n│ */g, '')).toContain(`${'y'.repeat(500)}": drop`);
    expect(card).toContain('│ table = users');
  });

  it('[AP-7] shows each kind of preview', () => {
    const file = {
      path: 'a.ts',
      operation: 'created',
      diff: '',
      truncated: true,
      size_before: null,
      size_after: 0,
      unsaved: true,
    } as const;
    const cards = {
      delete: cardWith({ kind: 'delete', path: 'old.txt', size: 5, head: 'first\n' }),
      empty: cardWith({ kind: 'delete', path: 'old.txt', size: 0, head: '' }),
      directory: cardWith({ kind: 'directory', path: 'src/new' }),
      command: cardWith(
        {
          kind: 'command',
          commands: [
            ['npm', 'run', "it's"],
            ['echo', null],
          ],
          cwd: '',
          network: false,
          reversible: false,
          scripts: ['package.json'],
        },
        { tool_params: { command: 'npm', args: [] }, network: true },
      ),
      shell: cardWith(
        {
          kind: 'command',
          commands: [['ls']],
          cwd: 'src',
          network: true,
          hosts: ['a.example', 'b.io:1'],
          reversible: true,
          scripts: [],
        },
        { tool_name: 'shell_exec', tool_params: { command: 'ls > out' }, network: true },
      ),
      commit: cardWith({ kind: 'commit', message: 'fix', files: [file], hooks: ['pre-commit'] }),
      push: cardWith({
        kind: 'push',
        remote: 'origin',
        url: 'https://x/y',
        branch: 'main',
        commits: [{ id: 'abcdef123456', subject: 's', author: 'Ada' }],
        hooks: [],
      }),
      custom: cardWith(
        { kind: 'custom', server: 'jira', summary: 'makes an issue' },
        { tool_params: { count: 3 } },
      ),
      ownTool: cardWith({
        kind: 'custom',
        server: 'db',
        tool: 'drop',
        summary: 'Drops a table',
        runs: 'node /srv/db.ts',
        network: false,
        hints: ['destructive', 'read_only'],
      }),
      summary: cardWith({ kind: 'summary', summary: 'makes a branch' }),
      unavailable: cardWith({ kind: 'unavailable', reason: 'no file' }),
      twoFiles: cardWith({ kind: 'diff', files: [file, file] }),
    };
    expect(cards.delete).toContain('Deletes old.txt (5 bytes). It begins with:\n│ - first');
    expect(cards.empty).toContain('The file is empty.');
    expect(cards.directory).toContain('Creates the folder src/new');
    expect(cards.command).toContain(
      `Runs            npm run 'it'\\''s'\n│                 echo ⟨known only when it runs⟩\n│ Folder          project root`,
    );
    expect(cards.command).toContain('Has network access to any host');
    expect(cards.shell).toContain('Has network access: a.example, b.io:1');
    expect(cards.command).toContain('Cannot be undone');
    expect(cards.shell).toContain('│ $ ls > out\n│ Runs            ls\n│ Folder          src');
    expect(cards.commit).toMatch(
      /Message {9}fix\n│ Hooks {11}pre-commit[\s\S]*new file · 0 bytes · compared with unsaved changes[\s\S]*stays the same[\s\S]*is cut here/,
    );
    expect(cards.push).toContain(
      'Pushes main to origin\n│ https://x/y\n│                 No hooks run\n│ 1 commit\n│ abcdef12  s  (Ada)',
    );
    expect(cards.custom).toMatch(
      /Tool of the MCP server jira\n│ makes an issue\n│ Parameters · write_file\n│ count = 3/,
    );
    expect(cards.ownTool).toContain(
      'Tool of the MCP server db: drop\n│ Drops a table\n│ Runs            node /srv/db.ts\n│                 No network access\n│                 It says that it only reads.\n│                 It says that it may destroy something.\n│                 This tool',
    );
    expect(cards.summary).toContain('makes a branch');
    expect(cards.unavailable).toContain('No preview: no file');
    expect(cards.twoFiles.match(/a\.ts/g)).toHaveLength(2);
  });

  it('[UI-6] lets no control character of a tool through', () => {
    const hostile = '\u001b[2J\u001b]0;title\u0007\rfake';
    const card = cardWith(
      { kind: 'delete', path: hostile, size: 1, head: hostile },
      {
        description: hostile,
        context: { message_id: null, run_id: null, step: null, excerpt: hostile },
        reasons: [{ rule: 'X', why: hostile, operand: hostile }],
      },
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    expect(card.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f]/);
  });

  it('shows a long preview through a window that can be moved, and cuts no line off', () => {
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i}`).join('\n');
    const long = approval({
      preview: { kind: 'delete', path: 'a', size: 1, head: `${lines}\n${'x'.repeat(100)}` },
    });
    const top = drawCard(long, { isPreviewComing: false, remainingMs: 1, scroll: 0, below: ['keys'] }, frame);
    expect(top.lines.length).toBeLessThanOrEqual(frame.rows);
    expect(top.lines.join('\n')).toContain(`lines 1–${top.page} of 53 · ↑ ↓ scroll · v print all`);
    const end = drawCard(
      long,
      { isPreviewComing: false, remainingMs: 1, scroll: 1_000, below: ['keys'] },
      frame,
    );
    const wholeLine = end.lines.slice(-7).join('').replace(/[^x]/g, '');
    expect(wholeLine).toBe('x'.repeat(100));
    expect(end.maxScroll).toBe(53 - end.page);
  });

  it.each([
    [100, 30],
    [40, 24],
    [40, 18],
    [30, 14],
  ])(
    '[UI-6] what and how risky stay in sight at %s columns and %s rows, and nothing is lost',
    (columns, rows) => {
      const small = { ...frame, columns, rows };
      const asked = approval({
        risk_level: 'HIGH',
        reasons: [
          { rule: 'CMD-1', why: 'runs code that is written in the command itself', operand: '-e' },
          { rule: 'CMD-2', why: 'runs a script of the workspace with Node.js' },
        ],
        context: { ...approval().context, excerpt: 'something was said before '.repeat(6) },
      });
      const others = { approval: asked, deadline: 0, tryingSince: null } as never;
      const view = {
        current: others,
        all: [others, others, others],
        remainingMs: () => 0,
        note: undefined,
        now: 0,
      };
      const below = linesBelow({ name: 'look' }, view, small);
      const seen = new Set<string>();
      for (let scroll = 0, maxScroll = 1; scroll <= maxScroll; scroll += 1) {
        const card = drawCard(asked, { isPreviewComing: false, remainingMs: 600_000, scroll, below }, small);
        maxScroll = card.maxScroll;
        expect(card.lines.length).toBeLessThanOrEqual(rows);
        expect(Math.max(...card.lines.map(widthOf))).toBeLessThan(columns);
        expect(card.lines[0]).toContain('HIGH');
        expect(card.lines.slice(1, 3).join(' ').replace('│ ', '')).toContain('Agent wants to change');
        for (const line of card.lines) seen.add(line);
      }
      const all = [...seen].join('\n');
      for (const word of ['(CMD-1)', '(CMD-2)', '8080', '(step 1)', 'y approve', '? help', '2 more wait'])
        expect(all).toContain(word);
    },
  );

  it('says what it waits for while there is no preview', () => {
    const coming = cardWith(null, { runner_id: null }, true);
    expect(coming).toContain('The preview is being made');
    expect(coming).toContain('path = config.json');
    expect(cardWith(null)).toContain('There is no preview yet.');
  });

  it('counts down, and says when the time is over', () => {
    expect(timeWords(61_000, words)).toBe('1:01 left');
    expect(timeWords(0, words)).toBe('time is over');
    const urgent = drawCard(
      approval({ revision: 2 }),
      { isPreviewComing: false, remainingMs: 5_000, scroll: 0, below: [] },
      { ...frame, color: true },
    );
    expect(urgent.lines[0]).toContain('\u001b[31m 0:05 left \u001b[0m');
    expect(urgent.lines[0]).toContain('revision 2');
  });

  it('is one line in a list', () => {
    const line = listLine(approval({ description: `${'long '.repeat(30)}` }), 5_000, true, 50, frame);
    expect(line).toBe('› MEDIUM  long long long long long lon…  0:05 left');
    expect(listLine(approval(), 5_000, false, 60, frame)).toMatch(
      /^ {2}MEDIUM {2}Agent wants to change config.json +0:05 left$/,
    );
  });

  it('[AP-2] ends in one line that says who decided', () => {
    const here = { device: 'terminal', words, color: false };
    const end = (status: string, device: string | null, grant_id: string | null = null) =>
      resolutionLine('It', { status, device, grant_id }, here);
    expect([
      end('approved', 'terminal'),
      end('approved', 'phone'),
      end('approved', null, 'grant-1'),
      end('rejected', 'terminal'),
      end('rejected', 'phone'),
      end('timeout', null),
      end('cancelled', null),
      resolutionLine(
        'It',
        {
          status: 'cancelled',
          device: null,
          grant_id: null,
          error: { code: 'EDIT_NO_MATCH', message: 'It is\u001b not there.', recoverable: true },
        },
        here,
      ),
      resolutionLine('It', { status: 'approved', device: 'terminal', grant_id: null }, here, 'granted (g)'),
    ]).toEqual([
      '✓ It · approved here',
      '✓ It · approved on phone',
      '✓ It · approved by what you granted',
      '✗ It · rejected here',
      '✗ It · rejected on phone',
      '– It · expired: nobody decided in time',
      '– It · withdrawn: the call was cancelled',
      '– It · failed before anybody decided: It is⟨U+001B⟩ not there. (EDIT_NO_MATCH)',
      '✓ It · approved here · granted (g)',
    ]);
  });
});
