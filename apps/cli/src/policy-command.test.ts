import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  meetsExpectation,
  securityCases,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';
import { widthOf } from './screen/text-width.ts';
import type { Terminal } from './terminal.ts';

const launcher = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url));
let workspace: TemporaryWorkspace;
let scratch: string;

beforeAll(() => {
  workspace = temporaryWorkspace();
  scratch = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
});
afterAll(() => {
  workspace.remove();
  rmSync(scratch, { recursive: true });
});

/** Runs the command here, with a terminal that only keeps what was written. */
async function countersign(args: readonly string[], input: string | Buffer = '', typed?: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    write: async (text) => {
      written.stdout += text;
    },
    writeError: (text) => {
      written.stderr += text;
    },
    color: false,
    interactive: typed !== undefined,
    async *typed() {
      yield* typed ?? [];
    },
  };
  const [command, action, ...rest] = args;
  const inWorkspace = action === 'check' || action === 'explain' || action === 'try';
  const named = inWorkspace && !rest.includes('--workspace') && !rest.includes('--help');
  const status = await main(
    named ? [command as string, action, '--workspace', workspace.root, ...rest] : args,
    terminal,
  );
  return { ...written, status };
}

/** Runs the command in a separate process, as a user would. */
function inSeparateProcess(args: readonly string[], input: string | Buffer = ''): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [launcher, ...args], { input, encoding: 'utf8', cwd: workspace.root });
}

const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('[RK-4] countersign policy check', () => {
  it('answers each call with one JSON line, in order, with the id it came with', async () => {
    const calls = [
      { id: 'a', tool: 'read_file', args: { path: 'README.md' } },
      { tool: 'write_file', args: { path: 'notes.md', content: 'x' } },
      { id: 7, tool: 'execute_command', args: { command: 'rm', args: ['-rf', '/'] } },
    ];
    const { stdout, stderr, status } = await countersign(
      ['policy', 'check', '--workspace', workspace.root],
      calls.map((call) => JSON.stringify(call)).join('\n'),
    );
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(linesOf(stdout)).toEqual([
      {
        id: 'a',
        decision: 'LOW',
        reasons: [expect.objectContaining({ rule: 'READ-1', why: expect.any(String) })],
      },
      { id: null, decision: 'MEDIUM', reasons: [expect.objectContaining({ rule: 'WRITE-2' })] },
      {
        id: 7,
        decision: 'REJECT',
        code: 'COMMAND_NOT_ALLOWED',
        reasons: [expect.objectContaining({ why: expect.any(String) })],
      },
    ]);
  });

  it('[VA-9] decides the cases of security/ that need no set-up as they expect', async () => {
    const commands = securityCases('commands').filter(({ input }) => !input.setup);
    const shell = securityCases('shell');
    const calls = [
      ...commands.map(({ id, input }) => ({
        id,
        tool: input.tool,
        args: { command: input.command, args: input.args },
      })),
      ...shell.map(({ id, input }) => ({
        id,
        tool: input.tool,
        args: { command: input.command, cwd: input.cwd },
      })),
    ];
    const { stdout } = await countersign(
      ['policy', 'check'],
      calls.map((call) => JSON.stringify(workspace.fill(call))).join('\n'),
    );
    const decided = new Map(
      (linesOf(stdout) as { id: string; decision: string }[]).map(({ id, decision }) => [id, decision]),
    );
    const wrong = [...commands, ...shell].filter(
      ({ id, expect: expected }) => !meetsExpectation(decided.get(id) ?? '', expected),
    );
    expect(wrong.map(({ id }) => [id, decided.get(id)])).toEqual([]);
  });

  it('reports invalid lines with a code and continues: exit status 2, no stack trace', async () => {
    const lines = [
      'not json',
      '[1]',
      'null',
      '{"tool": "read_file", "args": {"path": "README.md"}}',
      '{"tool": 5}',
      '{"tool":"read_file","args":[]}',
    ];
    const { stdout, stderr, status } = await countersign(['policy', 'check'], lines.join('\n'));
    expect(status).toBe(2);
    expect(
      (linesOf(stdout) as { decision: string; code?: string }[]).map(
        ({ decision, code }) => code ?? decision,
      ),
    ).toEqual(['INVALID_JSON', 'INVALID_JSON', 'INVALID_JSON', 'LOW', 'INVALID_JSON', 'INVALID_PARAMS']);
    expect(stderr.split('\n').filter((line) => line !== '')).toHaveLength(4);
    expect(stderr).toMatch(/^line 1: .*\[INVALID_JSON\]$/m);
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
  });

  it('reports an invalid id, and prints no part of the line unescaped', async () => {
    const deep = `{"id": ${'['.repeat(100_000)}${']'.repeat(100_000)}, "tool": "git_status"}`;
    const { stdout, stderr, status } = await countersign(
      ['policy', 'check'],
      `{"tool":"git_status"}\n${deep}\n\u001b]0;x\u0007\n{}`,
    );
    const answers = (linesOf(stdout) as { decision: string; code?: string }[]).map(
      ({ decision, code }) => code ?? decision,
    );
    expect({ status, answers }).toEqual({
      status: 2,
      answers: ['LOW', 'INVALID_JSON', 'INVALID_JSON', 'INVALID_JSON'],
    });
    expect(stderr).not.toContain('\u001b');
  });

  it('survives bytes that are not UTF-8, and an empty input', async () => {
    expect((await countersign(['policy', 'check'], Buffer.from([0xff, 0xfe, 0x0a, 0x00]))).status).toBe(2);
    expect(await countersign(['policy', 'check'], '')).toMatchObject({ stdout: '', status: 0 });
  });
});

describe('[RK-4] countersign policy explain', () => {
  it('says what happens and why, in words', async () => {
    const { stdout, status } = await countersign([
      'policy',
      'explain',
      'write_file',
      'path=notes.md',
      'content=hello',
    ]);
    expect(status).toBe(0);
    expect(stdout).toContain('MEDIUM risk: you are asked first');
    expect(stdout).toContain('Changes a source or document file: notes.md');
    expect(stdout).toContain('You have 5 minutes');
    expect(stdout).not.toContain('\u001b');
  });

  it('takes a command as it is typed, and JSON', async () => {
    expect((await countersign(['policy', 'explain', 'run', 'git', 'push', '--force'])).stdout).toContain(
      'HIGH risk',
    );
    expect((await countersign(['policy', 'explain', 'read_file', '{"path": "README.md"}'])).stdout).toContain(
      'LOW risk',
    );
    expect((await countersign(['policy', 'explain', 'shell_exec', 'command=rm -rf /'])).stdout).toContain(
      'Error code SHELL_CATASTROPHE',
    );
  });

  it('prints JSON for programs', async () => {
    const { stdout } = await countersign(['policy', 'explain', '--json', 'read_file', 'path=README.md']);
    expect(linesOf(stdout)).toEqual([expect.objectContaining({ decision: 'LOW' })]);
  });

  it('[AP-7] makes hidden characters visible', async () => {
    const { stdout } = await countersign(['policy', 'explain', 'read_file', 'path=a\u202eb\u001b[31m']);
    expect(stdout).toContain('a⟨U+202E⟩b⟨U+001B⟩[31m');
    expect(stdout).not.toContain('\u001b[31m');
  });

  it('applies a policy file only when one is named', async () => {
    const policy = join(scratch, 'policy.json');
    writeFileSync(
      policy,
      JSON.stringify({
        version: 1,
        rules: [{ id: 'mine', effect: 'allow', tool: 'write_file', path: '*.md' }],
      }),
    );
    const call = ['write_file', 'path=notes.md', 'content=x'];
    expect((await countersign(['policy', 'explain', '--policy', policy, ...call])).stdout).toContain(
      'ALLOWED by your own policy',
    );
    expect((await countersign(['policy', 'explain', ...call])).stdout).toContain('MEDIUM risk');
  });
});

describe('what is typed wrongly', () => {
  it.each([
    [['policy', 'explain'], 'USAGE'],
    [['policy', 'explain', 'read_file', 'README.md'], 'USAGE'],
    [['policy', 'explain', 'read_file', '{"path"'], 'INVALID_JSON'],
    [['policy', 'explain', '--nonsense', 'read_file'], 'USAGE'],
    [['policy', 'explain', '--workspace', '/does/not/exist', 'read_file', 'path=x'], 'WORKSPACE_NOT_FOUND'],
    [['policy', 'explain', '--policy', '/does/not/exist', 'read_file', 'path=x'], 'POLICY_INVALID'],
    [['policy', 'explain', 'frobnicate'], 'UNKNOWN_TOOL'],
    [['policy', 'explain', 'read_file'], 'INVALID_PARAMS'],
    [['policy', 'check', 'something'], 'USAGE'],
    [['policy', 'dance'], 'USAGE'],
    [['dance'], 'USAGE'],
  ])('countersign %j ends with status 2 and %s', async (args, code) => {
    const { stderr, stdout, status } = await countersign(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: .* \\[${code}\\]\\n$`));
  });

  it('a policy file that is not valid changes nothing and says what is wrong', async () => {
    const policy = join(scratch, 'broken.json');
    writeFileSync(policy, '{"version": 1, "rules": [{"id": "x"}]}');
    const { stderr, status } = await countersign([
      'policy',
      'explain',
      '--policy',
      policy,
      'read_file',
      'path=x',
    ]);
    expect([status, stderr]).toEqual([2, expect.stringContaining('[POLICY_INVALID]')]);
  });
});

describe('help and a first look', () => {
  it('tells its version', async () => {
    expect(await countersign(['--version'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it.each([
    [[]],
    [['--help']],
    [['help']],
    [['policy']],
    [['policy', '--help']],
    [['policy', 'explain', '--help']],
  ])('countersign %j explains itself', async (args) => {
    const { stdout, status } = await countersign(args);
    expect([status, stdout]).toEqual([0, expect.stringContaining('countersign policy explain')]);
  });

  it('policy try shows decisions on a few calls when nobody is there to type', async () => {
    const { stdout, status } = await countersign(['policy', 'try']);
    expect(status).toBe(0);
    expect(stdout.match(/What happens/g)?.length).toBe(5);
  });

  it('policy explain breaks no word at 80 columns', async () => {
    const screen = new FakeScreen(80, 40);
    const terminal = { ...fakeTerminal({ screen, color: true }), screen };
    expect(await main(['policy', 'explain', 'run', 'npm', 'install', 'express'], terminal)).toBe(0);
    const lines = screen.text.split('\n');
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain(
      'Downloads packages and runs the code of third parties: their install scripts now, the rest when it is used',
    );
    expect(screen.raw).toContain('\u001b[2m(CMD-NPM-10)\u001b[0m');
  });

  it('policy try decides what is piped in, instead of its examples', async () => {
    const piped = 'run rm -rf build\n\nread_file path=README.md';
    const { stdout, status } = await countersign(['policy', 'try'], piped);
    expect(status).toBe(0);
    expect(stdout.match(/^ {2}> .*/gm)).toEqual(['  > run rm -rf build', '  > read_file path=README.md']);
  });

  it('policy backtest says what is wrong with a file', async () => {
    const broken = join(scratch, 'broken.json');
    writeFileSync(broken, '{');
    expect((await countersign(['policy', 'backtest', broken])).stderr).toContain('broken.json" is not JSON');
    const missing = join(scratch, 'missing.json');
    expect((await countersign(['policy', 'backtest', missing])).stderr).toContain('cannot be read');
    expect((await countersign(['policy', 'backtest'])).stderr).not.toContain('?.');
  });

  it.each([
    [['up', '--bogus'], 'countersign up --help'],
    [['history', '--bogus'], 'countersign history --help'],
    [['history', '--lang', 'de'], 'countersign history --help'],
    [['approvals', 'show'], 'Which approval?'],
  ])('%j is told what to read', async (args, told) => {
    const { stderr, status } = await countersign(args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(told)]);
  });

  it('policy try answers what a person types, until they end it', async () => {
    const { stdout, status } = await countersign(['policy', 'try'], '', [
      'read_file path=README.md',
      '',
      'run "unclosed',
    ]);
    expect(status).toBe(0);
    expect(stdout).toContain('Type a tool call; nothing is executed');
    expect(stdout).toContain('LOW risk: runs at once');
    expect(stdout).toContain('A " is not closed');
  });
});

describe('in a process of its own', () => {
  it('explains, checks and refuses as it does here', () => {
    expect(inSeparateProcess(['policy', 'explain', 'run', 'npm', 'test'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('MEDIUM risk'),
      stderr: '',
    });
    expect(inSeparateProcess(['policy', 'check'], 'rubbish\n{"tool":"git_status"}')).toMatchObject({
      status: 2,
      stdout: expect.stringContaining('"decision":"LOW"'),
      stderr: expect.stringMatching(/^line 1: .*\[INVALID_JSON\]\n$/),
    });
    expect(inSeparateProcess(['dance'])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/\[USAGE\]\n$/),
    });
  });

  it('ends quietly when its reader has closed the pipe', () => {
    const many = '{"tool":"git_status"}\n'.repeat(50_000);
    const { stderr, stdout } = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" "${launcher}" policy check | head -n 1`],
      {
        input: many,
        encoding: 'utf8',
        cwd: workspace.root,
      },
    );
    expect({ stderr, lines: stdout.split('\n').length }).toEqual({ stderr: '', lines: 2 });
  });
});
