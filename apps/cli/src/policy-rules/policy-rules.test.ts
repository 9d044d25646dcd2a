import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@countersign/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../main.ts';
import { FakeScreen, fakeTerminal } from '../screen/screen-fixture.test-data.ts';
import { ServerFixture } from '../server-fixture.test-data.ts';

let server: ServerFixture;
let person: Client;
let path: string;
beforeAll(async () => {
  server = await ServerFixture.start();
  person = await server.client();
  await person.createProject({ body: { name: 'p', workspace: server.workspace } });
  path = join(server.folder, 'config/countersign/policy.json');
  writeFileSync(join(server.workspace, 'package.json'), '{ "scripts": { "test": "echo tested" } }');
});
afterAll(() => server.close());
beforeEach(() => save({ version: 1, rules: [] }));

function save(policy: object | string): void {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(path, typeof policy === 'string' ? policy : JSON.stringify(policy), { mode: 0o600 });
}
const rules = () => (JSON.parse(readFileSync(path, 'utf8')) as { rules: { id: string }[] }).rules;

/** One command at a terminal, with what the person types. */
async function atTerminal(input: string, ...argv: string[]) {
  const terminal = { ...fakeTerminal({ input }), interactive: true };
  const status = await main(argv, terminal, server.env);
  return { status, out: terminal.out(), error: terminal.error() };
}

describe('[RK-5] countersign policy allow, ask and deny', () => {
  it('save a rule in the person’s own file, readable by them alone', async () => {
    expect(await server.run('policy', 'allow', 'npm', 'test', '*', '--yes')).toMatchObject({ status: 0 });
    expect(await server.run('policy', 'ask', '--path', 'docs/**', '--yes')).toMatchObject({ status: 0 });
    expect(await server.run('policy', 'deny', 'git push *', '--why', 'never', '--yes')).toMatchObject({
      status: 0,
    });
    expect(await server.run('policy', 'allow', '--path', 'src/**', '--yes')).toMatchObject({ status: 0 });
    expect(rules()).toEqual([
      { id: 'allow-npm-test', effect: 'allow', tool: '*', command: 'npm test *' },
      { id: 'ask-docs', effect: 'ask', tool: '*', path: 'docs/**' },
      { id: 'deny-git-push', effect: 'deny', tool: '*', command: 'git push *', why: 'never' },
      { id: 'allow-src', effect: 'allow', tool: expect.stringContaining('write_file'), path: 'src/**' },
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const list = await server.run('policy', 'list');
    expect(list.out).toContain(path);
    expect(list.out).toContain('deny  git push *  (deny-git-push)');
    expect(await server.run('policy', 'remove', 'ask-docs')).toMatchObject({ status: 0 });
    expect(rules().map(({ id }) => id)).not.toContain('ask-docs');
  });

  it('show what the rule would have decided, and save only after a yes', async () => {
    await person.executeTool({
      body: { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } },
    });
    const no = await atTerminal('n\n', 'policy', 'deny', '--path', '*.md');
    expect(no).toMatchObject({ status: 1, out: expect.stringContaining('asks (MEDIUM) → denied') });
    expect(rules()).toEqual([]);
    expect(await atTerminal('y\n', 'policy', 'deny', '--path', '*.md')).toMatchObject({ status: 0 });
    expect(rules()).toHaveLength(1);
  });

  it('say the same to programs', async () => {
    const dry = await server.run('policy', 'deny', 'git push *', '--json', '--dry-run');
    expect(JSON.parse(dry.out)).toMatchObject({
      saved: false,
      rule: { id: 'deny-git-push' },
      path,
      backtest: {},
    });
    expect(rules()).toEqual([]);
    const saved = await server.run('policy', 'deny', 'git push *', '--json');
    expect(JSON.parse(saved.out)).toMatchObject({ saved: true });
    const again = await server.run('policy', 'deny', 'git push *', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ saved: false, rule: { id: 'deny-git-push' } });
    expect(rules()).toHaveLength(1);
    expect(JSON.parse((await server.run('policy', 'list', '--json')).out)).toMatchObject({ path });
  });

  it('need no server', async () => {
    const env = { ...server.env, COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_TOKEN: 'x' };
    const terminal = fakeTerminal();
    expect(await main(['policy', 'deny', 'git push', '--yes'], terminal, env)).toBe(0);
    expect(terminal.out()).toContain('Not tried on recorded calls');
    expect(rules()).toHaveLength(1);
  });

  it.each([
    [[], 'USAGE'],
    [['x', '--max-risk', 'CRITICAL'], 'USAGE'],
    [['--path', '../x'], 'POLICY_INVALID'],
    [['--tool', 'no_such_tool'], 'POLICY_INVALID'],
    [['--path', '{a,b}'.repeat(9)], 'POLICY_INVALID'],
    [['x', '--id', 'taken'], 'POLICY_INVALID'],
  ])('%j is an error, and nothing is saved', async (words, code) => {
    save({ version: 1, rules: [{ id: 'taken', effect: 'deny', tool: 'git_push' }] });
    expect(await server.run('policy', 'allow', ...words, '--yes')).toMatchObject({
      status: 2,
      error: expect.stringContaining(`[${code}]`),
    });
    expect(rules()).toHaveLength(1);
  });

  it('leave a broken file as it is', async () => {
    save('{ "version": 1, "rules": [], "mistake": 1 }');
    for (const words of [['deny', 'x', '--yes'], ['remove', 'x'], ['list']])
      expect(await server.run('policy', ...words)).toMatchObject({
        status: 2,
        error: expect.stringContaining('mistake'),
      });
    expect(readFileSync(path, 'utf8')).toBe('{ "version": 1, "rules": [], "mistake": 1 }');
  });
});

describe('[RK-5] countersign policy edit', () => {
  /** A program that writes this text over the file that it is given. */
  function editor(text: string): string {
    const program = join(server.folder, 'editor.sh');
    writeFileSync(join(server.folder, 'edited.json'), text);
    writeFileSync(program, `#!/bin/sh\ncp ${join(server.folder, 'edited.json')} "$1"\n`);
    chmodSync(program, 0o755);
    return program;
  }
  async function edit(text: string, input = 'y\n') {
    const terminal = { ...fakeTerminal({ input }), interactive: true };
    const status = await main(['policy', 'edit'], terminal, { ...server.env, EDITOR: editor(text) });
    return { status, out: terminal.out(), error: terminal.error() };
  }
  const rule = { id: 'a', effect: 'deny', tool: 'git_push' };

  it('keeps what is valid, and shows which rules come and go', async () => {
    save({ version: 1, rules: [{ id: 'old', effect: 'ask', tool: 'git_push' }] });
    const done = await edit(JSON.stringify({ version: 1, rules: [rule] }));
    expect(done.status).toBe(0);
    expect(done.out).toMatch(/- ask {2}git_push {2}\(old\)[\s\S]*\+ deny {2}git_push {2}\(a\)/);
    expect(rules()).toEqual([rule]);
  });

  it.each(['{', '{ "version": 1, "rulez": [] }'])(
    'does not keep %s, and loses neither text',
    async (text) => {
      save({ version: 1, rules: [rule] });
      const { status, error } = await edit(text, 'n\n');
      expect(status).toBe(2);
      expect(error).toContain('[POLICY_INVALID]');
      const copy = /kept in (\S+\.json)/.exec(error)?.[1] ?? '';
      expect(readFileSync(copy, 'utf8')).toBe(text);
      expect(rules()).toEqual([rule]);
    },
  );

  it('opens a broken file, to correct it', async () => {
    save('{ broken');
    expect(await edit(JSON.stringify({ version: 1, rules: [rule] }))).toMatchObject({ status: 0 });
    expect(rules()).toEqual([rule]);
  });

  it('does not overwrite what another program has saved meanwhile', async () => {
    const program = join(server.folder, 'slow-editor.sh');
    const other = JSON.stringify({ version: 1, rules: [rule] });
    writeFileSync(program, `#!/bin/sh\necho '{"version": 1}' > "$1"\necho '${other}' > ${path}\n`);
    chmodSync(program, 0o755);
    const terminal = { ...fakeTerminal({ input: 'y\n' }), interactive: true };
    expect(await main(['policy', 'edit'], terminal, { ...server.env, EDITOR: program })).toBe(2);
    expect(terminal.error()).toContain('[POLICY_CHANGED]');
    expect(rules()).toEqual([rule]);
  });

  it('says how to name an editor', async () => {
    expect(await server.run('policy', 'edit')).toMatchObject({
      status: 2,
      error: expect.stringContaining('EDITOR'),
    });
  });
});

describe('[RK-5] [UI-4] the file is honoured', () => {
  const call = async (tool_name: string, tool_params: Record<string, never> | object) => {
    const { tool_id } = await person.executeTool({ body: { tool_name, tool_params: tool_params as never } });
    return (await person.getExecution({ params: { tool_id } })).execution;
  };
  /** Repeats a call until its runner has the newest rules and the call has the expected status. */
  async function until(expected: string, tool: string, params: object): Promise<void> {
    await expect
      .poll(async () => {
        try {
          const execution = await call(tool, params);
          if (execution.approval_id !== null)
            await person.cancelExecution({ params: { tool_id: execution.tool_id } }).catch(() => {});
          return execution.approved_by ?? execution.status;
        } catch (error) {
          return (error as { code: string }).code;
        }
      })
      .toBe(expected);
  }

  it('by a runner of another server: it allows, adds a program, and denies; and no longer when it is gone', async () => {
    const { screen, ended } = server.open(['connect', server.workspace, '--no-prompt']);
    try {
      await until('awaiting_approval', 'execute_command', { command: 'npm', args: ['test'] });
      save({
        version: 1,
        rules: [
          { id: 'tests', effect: 'allow', tool: '*', command: 'npm test *' },
          { id: 'private', effect: 'deny', tool: '*', path: 'private/**' },
        ],
        programs: [{ name: 'make' }],
      });
      await until('config', 'execute_command', { command: 'npm', args: ['test'] });
      await until('DENIED_BY_POLICY', 'write_file', { path: 'private/a.md', content: 'x' });
      await until('awaiting_approval', 'execute_command', { command: 'make', args: ['test'] });
      const { tool_id } = await call('execute_command', { command: 'npm', args: ['test'] });
      await expect
        .poll(async () => (await person.getExecution({ params: { tool_id } })).execution.status)
        .toBe('completed');
      save({ version: 1, rules: [] });
      await until('awaiting_approval', 'execute_command', { command: 'npm', args: ['test'] });
      expect((await person.getPolicy()).policy.rules).toEqual([]); // the server keeps its own rules
    } finally {
      screen.send('\u0003');
      await ended;
    }
  });

  it('by countersign up: rules from the terminal take effect at once, and rules from the page are written to the file', async () => {
    const page = join(server.folder, 'page');
    mkdirSync(page);
    writeFileSync(join(page, 'index.html'), 'the page');
    save({ version: 1, rules: [{ id: 'tests', effect: 'allow', tool: '*', command: 'npm test *' }] });
    const folder = join(server.folder, 'other');
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "scripts": { "test": "echo tested" } }');
    const screen = new FakeScreen(160, 60);
    const env = { ...server.env, PATH: process.env.PATH ?? '', COUNTERSIGN_WEB_FOLDER: page };
    const ended = main(['up', folder, '--no-open'], fakeTerminal({ screen }), env);
    const before = person;
    try {
      await screen.shows(/Ctrl-C ends everything/);
      person = await server.client(); // `up` has signed this machine in to its own server
      expect(await call('execute_command', { command: 'npm', args: ['test'] })).toMatchObject({
        approved_by: 'config',
      });
      expect(await server.run('policy', 'deny', 'npm test', '--yes')).toMatchObject({ status: 0 });
      await until('DENIED_BY_POLICY', 'execute_command', { command: 'npm', args: ['test'] });
      const { policy, file } = await person.getPolicy();
      expect(file).toEqual({ path });
      const fromPage = { ...policy, rules: policy.rules.filter(({ effect }) => effect === 'allow') };
      await server.run('policy', 'deny', 'git push', '--yes');
      await expect(person.putPolicy({ body: { ...fromPage, replaces: policy } })).rejects.toMatchObject({
        code: 'POLICY_CHANGED',
      });
      expect(rules()).toHaveLength(3);
      const newest = (await person.getPolicy()).policy;
      await person.putPolicy({ body: { ...fromPage, replaces: newest } });
      expect(rules().map(({ id }) => id)).toEqual(['tests']);
      await until('config', 'execute_command', { command: 'npm', args: ['test'] });
      expect(existsSync(path)).toBe(true);
    } finally {
      person = before;
      screen.send('\u0003');
      await ended;
    }
  });
});
