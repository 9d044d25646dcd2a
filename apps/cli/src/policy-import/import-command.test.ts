import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../main.ts';
import { fakeTerminal } from '../screen/screen-fixture.test-data.ts';
import { linesOfJson, ServerFixture } from '../server-fixture.test-data.ts';

let folder: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-import-')));
  env = { HOME: folder, LANG: 'C', COUNTERSIGN_URL: 'http://127.0.0.1:9' };
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, text: string | object): string {
  const full = join(folder, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, typeof text === 'string' ? text : JSON.stringify(text), { mode: 0o600 });
  return full;
}
async function run(...argv: string[]) {
  const terminal = fakeTerminal();
  const status = await main(['policy', 'import', ...argv], terminal, env);
  return { status, out: terminal.out(), error: terminal.error() };
}
/** Runs the command at a terminal, with one answer for each question. */
async function answering(answers: readonly string[], ...argv: string[]) {
  const left = [...answers];
  const asked: string[] = [];
  const terminal = {
    ...fakeTerminal(),
    interactive: true,
    async *typed(prompt: string) {
      asked.push(prompt);
      yield left.shift() ?? '';
    },
  };
  const status = await main(['policy', 'import', ...argv], terminal, env);
  return { status, out: terminal.out(), asked };
}
const saved = () => {
  try {
    const path = join(folder, '.config/countersign/policy.json');
    return (JSON.parse(readFileSync(path, 'utf8')) as { rules: { id: string }[] }).rules.map(({ id }) => id);
  } catch {
    return [];
  }
};
const settings = {
  permissions: {
    allow: ['Bash(npm test)', 'Bash(npm run test:*)', 'Bash(sudo x)'],
    deny: ['Bash(rm:*)', 'WebFetch'],
  },
};

describe('[RK-5] countersign policy import', () => {
  it('asks about each rule that could be saved, and saves what was ticked', async () => {
    put('.claude/settings.json', settings);
    const { out, asked, status } = await answering(['y', 'n', 'y'], 'claude', '--workspace', folder);
    expect(status).toBe(0);
    expect(asked.map((prompt) => prompt.trim())).toEqual([
      '1. Bash(rm:*)  y/N/q',
      '3. Bash(npm test)  y/N/q',
      '4. Bash(npm run test:*)  y/N/q',
    ]);
    expect(out).toContain('impossible: it is refused here, whatever a rule says');
    expect(out).toContain('narrower: what is HIGH under it is still asked');
    expect(saved()).toEqual(['claude-deny-rm', 'claude-allow-npm-run-test']);
    expect(out).toMatch(/What these deny is not in your rules now:\n {2}WebFetch\n$/);
  });

  it('saves nothing without a tick, and says which denials are left', async () => {
    const file = put('somewhere/settings.json', settings);
    for (const answers of [[], ['q'], ['n', '', 'no']]) {
      const { out } = await answering(answers, 'claude', file);
      expect(out).toContain('Nothing was saved.');
      expect(out).toContain('Bash(rm:*)\n  WebFetch');
    }
    expect(await run('claude', file)).toMatchObject({
      status: 0,
      out: expect.stringContaining('Nothing was saved.'),
    });
    expect(saved()).toEqual([]);
  });

  it('for programs: one rule a line; --all-exact takes what is exact or stricter', async () => {
    const file = put('settings.json', settings);
    const shown = linesOfJson((await run('claude', file, '--json')).out);
    expect(shown.map(({ text, fit }) => [text, fit])).toEqual([
      ['Bash(rm:*)', 'exact'],
      ['WebFetch', 'impossible'],
      ['Bash(npm test)', 'exact'],
      ['Bash(npm run test:*)', 'narrower'],
      ['Bash(sudo x)', 'impossible'],
    ]);
    expect(saved()).toEqual([]);
    await run('claude', file, '--json', '--all-exact');
    expect(saved()).toEqual(['claude-deny-rm', 'claude-allow-npm-test']);
    await run('claude', file, '--all-exact'); // a second import gives its rules new ids
    expect(new Set(saved()).size).toBe(saved().length);
  });

  it('looks in the usual places and in the project', async () => {
    const project = join(folder, 'project');
    put('.claude/settings.json', { permissions: { allow: ['Bash(npm test)'] } });
    put('project/.claude/settings.local.json', { permissions: { deny: ['Bash(rm:*)'] } });
    put('.codex/config.toml', 'approval_policy = "on-request"\n');
    put('.codex/rules/default.rules', 'prefix_rule(pattern = ["git", "status"])');
    put('.gemini/settings.json', { tools: { allowed: ['run_shell_command(git status)'] } });
    put(
      '.gemini/policies/a.toml',
      '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "rm"\ndecision = "deny"',
    );
    put('project/opencode.json', { permission: { bash: { 'git *': 'allow' } } });
    put('.config/Code/User/settings.json', '{ "chat.tools.terminal.autoApprove": { "npm test": true } }');
    for (const [source, texts] of [
      ['claude', ['Bash(npm test)', 'Bash(rm:*)']],
      ['codex', ['approval_policy = "on-request"', 'prefix_rule git status']],
      ['gemini', ['run_shell_command(git status)', 'run_shell_command commandPrefix "rm"']],
      ['opencode', ['bash: git *: allow']],
      ['vscode', ['terminal: npm test: true']],
    ] as const) {
      const { out } = await run(source, '--workspace', project, '--json');
      expect(linesOfJson(out).map(({ text }) => text)).toEqual(texts);
    }
  });

  it('says what is wrong, with a code, and saves nothing', async () => {
    const rubbish = put('rubbish.json', '\u0000 not { json');
    expect(await run('claude', rubbish)).toMatchObject({
      status: 2,
      error: expect.stringContaining('[IMPORT_UNREADABLE]'),
    });
    expect(await run('claude', join(folder, 'no-such-file'))).toMatchObject({
      error: expect.stringContaining('[IMPORT_UNREADABLE]'),
    });
    expect(await run('claude', folder)).toMatchObject({
      error: expect.stringContaining('[IMPORT_UNREADABLE]'),
    });
    expect(await run('codex', '--workspace', folder)).toMatchObject({
      error: expect.stringContaining('[IMPORT_NOTHING_FOUND]'),
    });
    expect(await run('cursor')).toMatchObject({ status: 2, error: expect.stringContaining('[USAGE]') });
    expect(await run()).toMatchObject({ status: 2 });
    put('.config/countersign/policy.json', '{');
    const file = put('settings.json', settings);
    expect(await run('claude', file, '--all-exact')).toMatchObject({
      status: 2,
      error: expect.stringContaining('[POLICY_INVALID]'),
    });
    expect(readFileSync(join(folder, '.config/countersign/policy.json'), 'utf8')).toBe('{');
  });

  it('shows control characters of a hostile file', async () => {
    const file = put('settings.json', {
      permissions: { allow: ['Bash(npm \u001b[2Jtest)', 'Bash(a\u202eb)'] },
    });
    const { out } = await run('claude', file);
    for (const sign of ['\u001b', '\u202e']) expect(out).not.toContain(sign);
  });

  it('says what each would have answered of the recorded history', async () => {
    const server = await ServerFixture.start();
    try {
      const person = await server.client();
      await person.createProject({ body: { name: 'p', workspace: server.workspace } });
      for (const args of [['test'], ['run', 'build']])
        await person.executeTool({
          body: { tool_name: 'execute_command', tool_params: { command: 'npm', args } },
        });
      const { out } = await server.run(
        'policy',
        'import',
        'claude',
        put('settings.json', settings),
        '--json',
      );
      const [, , literal] = linesOfJson(out) as { rules: { backtest: object; saved: boolean }[] }[];
      expect(literal?.rules).toMatchObject([
        {
          backtest: {
            considered: 2,
            matched: 1,
            would_change: 1,
            examples: [{ after: 'runs without asking' }],
          },
          saved: false,
        },
      ]);
    } finally {
      await server.close();
    }
  });
});
