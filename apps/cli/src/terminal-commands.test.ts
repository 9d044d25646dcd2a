/** Whole commands against the real server, with the real runner, at a screen that tests can read and press keys on. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@countersign/client';
import { personsFolders, type RunnerApi, WorkspaceRunner, workspaceAt } from '@countersign/tool-runner';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';
import { widthOf } from './screen/text-width.ts';
import { linesOfJson, ServerFixture } from './server-fixture.test-data.ts';

const launcher = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url));
let server: ServerFixture;
let client: Client;
beforeAll(async () => {
  server = await ServerFixture.start();
  client = await server.client();
});
afterEach(() => server?.endSessions());
afterAll(() => server?.close());

/** Waits longer than a card must be visible before a key counts. */
const halfSecond = () => new Promise((resolve) => setTimeout(resolve, 520));
const press = async (screen: FakeScreen, ...keys: string[]) => {
  for (const key of keys) {
    await halfSecond();
    screen.send(key);
  }
};
const fileText = (name: string) => readFileSync(join(server.workspace, name), 'utf8');
const projectId = async () => {
  const { projects } = await client.listProjects();
  return projects.find(({ workspace }) => workspace === server.workspace)?.project_id ?? '';
};
/** A call of an outside agent, in a session of its own. */
const call = async (tool_name: string, tool_params: Record<string, string>) => {
  const params = { project_id: await projectId() };
  const { session } = await client.createSession({ params, body: {} });
  return client.executeTool({ body: { tool_name, tool_params, session_id: session.session_id } });
};
const write = (path: string, content = 'new\n') => call('write_file', { path, content });
const statusOf = async (tool_id: string) =>
  (await client.getExecution({ params: { tool_id } })).execution.status;
const until = async (holds: () => Promise<boolean>) => {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > 120_000) throw new Error('It does not come about.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe('signing in', () => {
  it('[RE-5] keeps the token for the person alone, and a link works once', async () => {
    const path = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign', 'credentials.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await server.run('sign-in', server.link)).toMatchObject({
      status: 1,
      error: expect.stringContaining('UNAUTHENTICATED'),
    });
    expect(await server.run('sign-in', 'nonsense')).toMatchObject({
      status: 2,
      error: expect.stringContaining('not a sign-in link'),
    });
    expect(await server.run('sign-in')).toMatchObject({
      status: 2,
      error: expect.stringContaining('There is no sign-in link'),
    });
    const atScreen = fakeTerminal({ screen: new FakeScreen(), input: 'A-code-that-is-not-known' });
    expect(await main(['sign-in'], atScreen, server.env)).toBe(1);
    expect(atScreen.error()).toContain('UNAUTHENTICATED');
    expect((await server.run('sign-in', '--help')).out).toContain('countersign sign-out');
  });

  it('[RE-5] accepts a pasted token if the server prints no link, but not on the command line', async () => {
    const { token } = await client.createToken({
      body: { name: 'of an issuer', scope: 'front_end', expires_in_seconds: 3_600 },
    });
    expect(await server.run('sign-in', token)).toMatchObject({
      status: 2,
      error: expect.stringContaining('does not belong on a command line'),
    });
    const path = mkdtempSync(join(tmpdir(), 'countersign-token-'));
    const env = { ...server.env, XDG_CONFIG_HOME: path, COUNTERSIGN_TOKEN: undefined };
    const { origin } = new URL(server.link);
    const signIn = async (input: string) => {
      const terminal = fakeTerminal({ input });
      const status = await main(['sign-in', '--server', origin, '--json'], terminal, env);
      return { status, said: `${terminal.out()}${terminal.error()}` };
    };
    expect(await signIn(`${token.slice(0, -4)}AAAA\n`)).toMatchObject({
      status: 1,
      said: expect.stringContaining('UNAUTHENTICATED'),
    });
    expect(await signIn(`${token}\n`)).toMatchObject({
      status: 0,
      said: expect.stringMatching(/"expires_at":"20\d\d-/),
    });
    const kept = readFileSync(join(path, 'countersign', 'credentials.json'), 'utf8');
    expect(JSON.parse(kept).servers[origin].token).toBe(token);
    rmSync(path, { recursive: true });
  });

  it('[RE-5] takes no secret in an address, and no token over plain http', async () => {
    for (const url of [
      'http://me:secret@127.0.0.1',
      'http://127.0.0.1/?token=x',
      'ftp://x',
      'http://example.org',
    ]) {
      expect(await server.run('history', '--server', url)).toMatchObject({
        status: 2,
        error: expect.stringContaining('[USAGE]'),
      });
    }
    const allowed = { ...server.env, COUNTERSIGN_ALLOW_HTTP: '1', COUNTERSIGN_URL: 'http://example.org' };
    const terminal = fakeTerminal();
    expect(await main(['history'], terminal, allowed)).toBe(2);
    expect(terminal.error()).toContain('not signed in to http://example.org');
  });
});

describe('connect', () => {
  it('[RN-1] [AP-8] runs what is approved with a key, and shows what happened', async () => {
    const { screen, ended } = server.open(['connect', server.workspace]);
    await screen.shows(`Connected to ${server.address}`);
    const { tool_id } = await write('a.md', '# A\n');
    await screen.shows('+ # A');
    expect(existsSync(join(server.workspace, 'a.md'))).toBe(false);
    await press(screen, 'y');
    await screen.shows(/✓ Agent wants to create a.md · approved here/i);
    await screen.shows('✓ Wrote a.md');
    expect(fileText('a.md')).toBe('# A\n');
    const { decision } = await client.getExecution({ params: { tool_id } });
    expect(decision).toMatchObject({
      status: 'approved',
      by: { device: expect.stringMatching(/^terminal on/) },
    });
    screen.send('\u0003');
    expect(await ended).toBe(0);
    expect(screen.text).toContain('Ended.');
    expect(screen.isTaken).toBe(false);
  });

  it('[AP-9] gives the runner a token that can only run, and revokes it in the end', async () => {
    const { screen, ended } = server.open(['connect', server.workspace]);
    await screen.shows('Connected');
    const live = (await client.listTokens()).tokens.filter(
      ({ name, revoked_at }) => name.startsWith('runner of') && revoked_at === null,
    );
    expect(live.map(({ scope }) => scope)).toEqual(['runner']);
    screen.send('\u0003');
    await ended;
    const { tokens } = await client.listTokens();
    expect(
      tokens.filter(({ name, revoked_at }) => name.startsWith('runner of') && revoked_at === null),
    ).toEqual([]);
  });

  it('[AP-2] [AP-5] [AP-6] rejects with a message, edits, and shows decisions made elsewhere', async () => {
    const editor = join(server.folder, 'editor');
    writeFileSync(editor, '#!/bin/sh\nsed -i s/draft/final/ "$1"\n');
    chmodSync(editor, 0o700);
    const { screen } = server.open(['connect', server.workspace], { EDITOR: editor });
    await screen.shows('Connected');

    const rejected = await write('b.md');
    await screen.shows('wants to create b.md');
    await screen.shows('+ new');
    await press(screen, 'n');
    screen.type('use another name');
    await press(screen, '\r');
    await screen.shows('rejected here');
    const { decision } = await client.getExecution({ params: { tool_id: rejected.tool_id } });
    expect(decision).toMatchObject({ status: 'rejected', message: 'use another name' });

    await write('c.md', 'draft\n');
    await screen.shows('+ draft');
    await press(screen, 'e');
    await screen.shows('+ final');
    await press(screen, 'y');
    await screen.shows('✓ Wrote c.md');
    expect(fileText('c.md')).toBe('final\n');

    const elsewhere = await write('d.md');
    await screen.shows('wants to create d.md');
    const approvalId = elsewhere.approval_id ?? '';
    const { approval } = await client.getApproval({ params: { approval_id: approvalId } });
    await client.confirm({
      params: { approval_id: approvalId },
      body: { ...(approval.digest !== null && { digest: approval.digest }), device: 'phone' },
    });
    await screen.shows('approved on phone');
    await screen.hides('y approve');
  });

  it('[RK-1] [AP-4] asks twice for HIGH, and grants a class after looking at the history', async () => {
    const { screen } = server.open(['connect', server.workspace]);
    await screen.shows('Connected');
    writeFileSync(join(server.workspace, 'old.txt'), 'old\n');
    await call('delete_file', { path: 'old.txt' });
    await screen.shows('- old');
    await press(screen, 'y');
    await screen.shows('HIGH risk. Look again');
    await press(screen, 'y');
    await screen.shows('✓ Deleted old.txt');
    expect(existsSync(join(server.workspace, 'old.txt'))).toBe(false);

    await call('write_file', { path: 'src/x.ts', content: '1' });
    await screen.shows('wants to create src/x.ts');
    await screen.shows('+ 1');
    await press(screen, 'a');
    await screen.shows('4  Changes under src/ in this conversation');
    await press(screen, '4');
    await screen.shows(/calls/);
    await press(screen, 'y');
    await screen.shows('✓ Wrote src/x.ts');
    expect((await client.listGrants()).grants).toMatchObject([{ scope: 'class', pattern: 'src/**' }]);
  });

  it('[RN-2] accepts decisions made here if the ceiling requires that', async () => {
    const config = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign');
    writeFileSync(join(config, 'ceiling.json'), '{"version": 1, "decide_here": ["MEDIUM"]}', { mode: 0o600 });
    const { screen, ended } = server.open(['connect', server.workspace]);
    await screen.shows('Connected');
    const { tool_id } = await write('ceiling.md', 'here\n');
    await screen.shows('+ here');
    await press(screen, 'y');
    await screen.shows('✓ Wrote ceiling.md');
    expect(await statusOf(tool_id)).toBe('completed');
    screen.send('\u0003');
    await ended;
    writeFileSync(join(config, 'ceiling.json'), '{"version": 1, "decide_here": []}', { mode: 0o600 });
  });

  it('[RN-10] joins as a front end where another terminal is the runner', async () => {
    const first = server.open(['connect', server.workspace, '--no-prompt']);
    await first.screen.shows('Connected');
    expect(first.screen.text).toContain('Approvals are decided elsewhere.');
    expect(await server.run('connect', server.workspace)).toMatchObject({
      status: 1,
      error: expect.stringContaining('terminal on'),
    });
    const second = server.open(['connect', server.workspace, '--lang', 'ru']);
    await second.screen.shows('Этот терминал только показывает и решает.');
    await second.screen.shows('Подключено');
    await write('e.md');
    await second.screen.shows('+ new');
    await press(second.screen, 'y');
    await second.screen.shows('одобрено здесь');
    await first.screen.shows('✓ Wrote e.md');
    expect(fileText('e.md')).toBe('new\n');
    for (const { screen, ended } of [second, first]) {
      screen.send('\u0003');
      expect(await ended).toBe(0);
    }
  });

  it('[RN-10] hands the workspace to an editor when idle, and takes it back afterwards', async () => {
    const { screen, ended } = server.open(['connect', server.workspace]);
    await screen.shows('Connected');
    const folders = personsFolders(server.env);
    const start = () =>
      new WorkspaceRunner({
        runnerId: 'editor',
        workspace: workspaceAt(server.workspace, { folders }),
        configFolder: folders.config,
        api: {} as RunnerApi,
        dialogProvider: undefined,
        logger: { debug() {}, info() {}, error() {} },
        program: 'VS Code',
        takesOver: true,
      });
    const { approval_id } = await write('g.md');
    await screen.shows('wants to create g.md');
    expect(start).toThrow('has a runner already'); // the runner is not idle: the person looks at a card
    await client.reject({
      params: { approval_id: approval_id ?? '', project_id: await projectId() },
      body: {},
    });
    let editor: WorkspaceRunner | undefined;
    await until(async () => {
      try {
        editor = start();
      } catch {
        return false;
      }
      return true;
    });
    await screen.shows('VS Code is the runner of this workspace now.');
    const holder = join(workspaceAt(server.workspace, { folders }).stateFolder, 'journal.sqlite.holder');
    rmSync(holder);
    mkdirSync(holder); // the lock cannot be made, as on a full disk
    await editor?.dispose();
    await screen.shows('EISDIR');
    rmdirSync(holder);
    await screen.shows(/comes back after it[\s\S]*Runner for/);
    const { tool_id } = await call('read_file', { path: 'e.md' });
    await until(async () => (await statusOf(tool_id)) === 'completed');
    screen.send('\u0003');
    expect(await ended).toBe(0);
  });

  it('prints events for programs, and asks nothing', async () => {
    const terminal = fakeTerminal();
    const ended = main(['connect', server.workspace, '--json'], terminal, server.env);
    await until(async () => terminal.out().includes('"stream":"open"'));
    const { tool_id, approval_id } = await write('f.md');
    await until(
      async () =>
        (await client.getApproval({ params: { approval_id: approval_id ?? '' } })).approval.digest !== null,
    );
    const shown = linesOfJson((await server.run('approvals', 'list', '--json')).out)[0];
    const sent = await server.run(
      'approvals',
      'approve',
      String(approval_id),
      '--digest',
      String(shown?.digest),
      '--json',
    );
    expect(linesOfJson(sent.out)).toEqual([
      { outcome: 'recorded', success: true, approval_id, status: 'approved' },
    ]);
    await until(async () => (await statusOf(tool_id)) === 'completed');
    await until(async () => terminal.out().includes('"tool.result"'));
    process.emit('SIGTERM');
    expect(await ended).toBe(0);
    const events = linesOfJson(terminal.out());
    expect(events[0]).toMatchObject({ runner: { workspace: server.workspace } });
    expect(events.flatMap(({ event }) => event ?? [])).toContain('approval.resolved');
  });

  it('[AP-9] works with a runner’s own token, which decides nothing, and with no less', async () => {
    const tokenOf = async (scope: 'runner' | 'front_end') =>
      (await client.createToken({ body: { name: scope, scope } })).token;
    const runner = {
      ...server.env,
      COUNTERSIGN_URL: server.address,
      COUNTERSIGN_TOKEN: await tokenOf('runner'),
    };
    const project = (await client.listProjects()).projects.find(
      ({ workspace }) => workspace === server.workspace,
    );
    const unnamed = fakeTerminal();
    expect(await main(['connect', server.workspace], unnamed, runner)).toBe(2);
    expect(unnamed.error()).toContain('Name one with --project');
    const { screen, ended } = server.open(
      ['connect', server.workspace, '--no-prompt', '--project', project?.project_id ?? ''],
      { COUNTERSIGN_URL: server.address, COUNTERSIGN_TOKEN: runner.COUNTERSIGN_TOKEN },
    );
    await screen.shows('Connected');
    screen.send('\u0003');
    expect(await ended).toBe(0);
    const frontEnd = { ...runner, COUNTERSIGN_TOKEN: await tokenOf('front_end') };
    mkdirSync(join(server.folder, 'unknown'));
    const unable = fakeTerminal();
    expect(await main(['connect', join(server.folder, 'unknown')], unable, frontEnd)).toBe(2);
    expect(unable.error()).toContain('may not make one');
    const refused = fakeTerminal();
    expect(await main(['connect', server.workspace], refused, frontEnd)).toBe(1);
    expect(refused.error()).toContain('refused the connection');
  });

  it('says what is wrong before it starts', async () => {
    expect(await server.run('connect', join(server.folder, 'nowhere'))).toMatchObject({
      status: 2,
      error: expect.stringContaining('WORKSPACE_NOT_FOUND'),
    });
    expect(await server.run('connect', 'a', 'b')).toMatchObject({ status: 2 });
    expect(await server.run('connect', server.workspace, '--project', 'nobody')).toMatchObject({ status: 2 });
    expect((await server.run('connect', '--help')).out).toContain('--no-prompt');
  });
});

describe('policy', () => {
  it('[RK-5] says what a rule would have decided on the recorded calls, before it is saved', async () => {
    const other = await ServerFixture.start();
    try {
      const person = await other.client();
      await person.createProject({ body: { name: 'p', workspace: other.workspace } });
      for (const path of ['a.md', 'b.md', 'c.txt'])
        await person.executeTool({ body: { tool_name: 'write_file', tool_params: { path, content: 'x' } } });
      const rule = { id: 'notes', effect: 'allow', tool: 'write_file', path: '*.md' };
      const file = join(other.folder, 'rule.json');
      writeFileSync(file, JSON.stringify(rule));
      const one = await other.run('policy', 'backtest', file);
      expect(one).toMatchObject({ status: 0, error: '' });
      expect(one.out).toContain('of 3 recorded calls, 2 match; 2 would have been decided otherwise');
      expect(one.out).toMatch(/asks \(MEDIUM\) → runs without asking .*b\.md/);

      // With a file of rules, programs get one line for each rule, and nothing is saved.
      writeFileSync(
        file,
        JSON.stringify({ version: 1, rules: [rule, { ...rule, id: 'no', effect: 'deny' }] }),
      );
      const all = await other.run('policy', 'backtest', file, '--json', '--since', '1h');
      const found = linesOfJson(all.out) as { rule: string; examples: { after: string }[] }[];
      expect(found.map(({ rule, examples }) => [rule, examples[0]?.after])).toEqual([
        ['notes', 'runs without asking'],
        ['no', 'denied'],
      ]);
      expect((await person.getPolicy()).policy.rules).toEqual([]);

      for (const [content, problem] of [
        ['{', 'is not JSON'],
        ['{"id": "x"}', 'effect'],
        ['null', 'expected object'],
      ] as const) {
        writeFileSync(file, content);
        expect(await other.run('policy', 'backtest', file)).toMatchObject({
          status: 2,
          error: expect.stringContaining(problem),
        });
      }
      expect(await other.run('policy', 'backtest')).toMatchObject({ status: 2 });
      expect(await other.run('policy', 'backtest', file, 'more')).toMatchObject({ status: 2 });
    } finally {
      await other.close();
    }
  });
});

describe('chat', () => {
  const say = (...argv: string[]) => server.open(['chat', '--workspace', server.workspace, ...argv]);

  it('tells how a call went, in a terminal and for programs', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    writeFileSync(join(server.workspace, 'read.md'), 'what is written here\n');
    const plain = await server.run(
      'chat',
      '--workspace',
      server.workspace,
      '--new',
      '/read_file path=read.md',
    );
    expect(plain).toMatchObject({ status: 0, out: expect.stringContaining('what is written here') });
    expect(plain.error).toContain('✓ Read read.md · 1 line');

    const json = await server.run(
      'chat',
      '--workspace',
      server.workspace,
      '--json',
      '/read_file path=read.md',
    );
    const events = linesOfJson(json.out).map(({ event }) => event);
    expect(events).toEqual(
      expect.arrayContaining(['message.created', 'tool.call', 'tool.result', 'agent.state']),
    );
    expect(linesOfJson(json.out).at(-1)).toMatchObject({ event: 'agent.state', data: { state: 'idle' } });

    const asked = say('--new', '/write_file', 'path=g.md', 'content=G');
    await asked.screen.shows('+ G');
    await press(asked.screen, 'y');
    expect(await asked.ended).toBe(0);
    expect(asked.screen.text).toContain('write_file: g.md 1 bytes');
  });

  it('is a conversation: lines are typed, cards are decided, Ctrl-C stops, Ctrl-D leaves', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const { screen, ended } = say('--new');
    await screen.shows('Ctrl-D leaves');
    screen.type('hello');
    screen.send('\r');
    await screen.shows('No language model is configured');
    await screen.shows('Enter sends');
    screen.send('\u001b[A');
    await screen.shows('hello▏');
    screen.send('\u0003');
    await screen.shows(/you {2}▏/);

    await write('h.md');
    await screen.shows('1 call waits for you · Tab decides');
    screen.send('\t');
    await screen.shows('wants to create h.md');
    await screen.shows('+ new');
    await press(screen, 'y');
    await screen.shows('approved here');
    await screen.shows('Enter sends');

    screen.send('\u001b[200~/write_file path=i.md content=I\u001b[201~');
    screen.send('\r');
    await screen.shows('wants to create i.md');
    screen.send('\u0003');
    await screen.shows('Write i.md · not started');
    await screen.shows('Enter sends'); // the run has ended
    expect(screen.text.split('You stopped this run.')).toHaveLength(2);
    expect(existsSync(join(server.workspace, 'i.md'))).toBe(false);
    screen.send('\u001b[B');
    screen.send('\u0004');
    expect(await ended).toBe(0);
  });

  it('[UI-6] shows the cards of its own conversation, and those of others when asked, with their name', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const params = { project_id: await projectId() };
    const { session } = await client.createSession({ params, body: { title: 'Tidy up' } });
    const other = { tool_name: 'write_file', tool_params: { path: 'other.md', content: 'theirs' } };
    await client.executeTool({ body: { ...other, session_id: session.session_id } });

    const { screen, ended } = say('--new', '/write_file path=mine.md content=mine');
    await screen.shows('+ mine');
    expect(screen.text).toContain('wants to create mine.md');
    expect(screen.text).not.toContain('other.md');
    expect(screen.text).not.toContain('In another conversation');
    await press(screen, 'y');
    expect(await ended).toBe(0);
    expect(existsSync(join(server.workspace, 'other.md'))).toBe(false);

    const typed = say('--new');
    await typed.screen.shows('Enter sends');
    typed.screen.type('/write_file path=second.md content=second');
    typed.screen.send('\r');
    await typed.screen.shows('+ second');
    await press(typed.screen, 'y');
    await typed.screen.shows('1 call waits for you · Tab decides');
    typed.screen.send('\t');
    await typed.screen.shows('In another conversation:');
    await typed.screen.shows('Tidy up');
    await typed.screen.shows('+ theirs');
    await press(typed.screen, 'y');
    await typed.screen.shows('Tidy up: Agent wants to create other.md · approved here');
    typed.screen.send('\u0004');
    expect(await typed.ended).toBe(0);
  });

  it('costs one key to approve, and none to read how a test failed', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const lines = "for (let i = 0; i < 30; i += 1) console.log('ok ' + i);";
    const fails = `${lines} console.error('AssertionError: 1 is not 2'); process.exit(1);`;
    writeFileSync(join(server.workspace, 'fails.js'), fails);
    const { screen, ended } = say('--new', '/run node fails.js');
    await screen.shows('Cannot be undone'); // the preview is there
    await press(screen, 'y'); // the only key
    expect(await ended).toBe(0);
    expect(screen.text).toMatch(/≠ Ran node fails\.js · exit 1 · approved here/);
    expect(screen.text).toContain('AssertionError: 1 is not 2');
  });

  it('takes a message while the agent works, queues it, and has commands and modes', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const go = join(server.workspace, 'go');
    const waits =
      "const fs = require('fs'); const t = setInterval(() => fs.existsSync('go') && clearInterval(t), 20);";
    writeFileSync(join(server.workspace, 'waits.js'), waits);
    const { screen, ended } = say('--new');
    await screen.shows('Ctrl-D leaves');
    screen.type('/run node waits.js');
    screen.send('\r');
    await screen.shows('Cannot be undone'); // the preview is there
    await press(screen, 'y');
    await screen.shows('Running node waits.js');
    screen.type('/list_directory path=.');
    await screen.shows('Enter queues it');
    screen.send('\r');
    await screen.shows('queued: /list_directory path=.');
    screen.send('\u001b[A'); // taken back, and queued again
    await screen.shows('path=.▏');
    screen.send('\r');
    await screen.shows('queued: /list_directory path=.');
    screen.type('/rename While it works'); // a command is not for the agent
    screen.send('\r');
    await screen.shows('Renamed to “While it works”.');
    writeFileSync(go, '');
    await screen.shows('✓ Listed the project root');
    await screen.shows('Ctrl-D leaves');
    rmSync(go);

    // The agent works for another front end.
    const { sessions } = await client.listSessions({ params: { project_id: await projectId() } });
    const session_id = sessions.find(({ title }) => title === 'While it works')?.session_id;
    await client.sendMessage({
      params: { project_id: await projectId() },
      body: { session_id, content: '/run node waits.js' },
    });
    await screen.shows('1 call waits for you');
    screen.type('/read_file path=not-there.md');
    screen.send('\r');
    await screen.shows('queued: /read_file path=not-there.md');
    await screen.shows('Cannot be undone'); // the card is drawn now, with its preview
    await press(screen, 'y');
    await screen.shows('Running node waits.js');
    writeFileSync(go, '');
    await screen.shows('Read not-there.md');
    await screen.shows(/Ctrl-D leaves +Ask/); // the mode is always there
    expect(screen.raw.match(/you {2}\/read_file path=not-there\.md(?!▏)/g)).toHaveLength(1);
    rmSync(go);

    screen.send('\u001b[Z');
    await screen.shows('Mode: Accept edits.');
    screen.type('/write_file path=unasked.md content=U');
    screen.send('\r');
    await screen.shows('✓ Wrote unasked.md');
    await screen.shows('Ctrl-D leaves');
    await screen.shows('1 file changed: unasked.md +1 −0  (/undo puts back)');
    screen.type('/undo');
    screen.send('\r');
    await screen.shows('Put back 1 change?');
    screen.send('y'); // typed ahead
    await press(screen, 'y');
    await screen.shows('Undone: Wrote unasked.md');
    expect(existsSync(join(server.workspace, 'unasked.md'))).toBe(false);
    screen.type('/rename Queue story');
    screen.send('\r');
    await screen.shows('Renamed to “Queue story”.');
    const exported = join(server.folder, 'queue-story.md');
    screen.type(`/export ${exported}`);
    screen.send('\r');
    await screen.shows('Written to');
    expect(readFileSync(exported, 'utf8')).toMatch(/^# Queue story\n[\s\S]*- Ran node waits\.js/);
    screen.send('\u000f');
    await screen.shows('Wrote unasked.md');
    const command = async (typed: string, shown: string) => {
      screen.type(typed);
      screen.send('\r');
      await screen.shows(shown);
    };
    await command('/search queue', 'Queue story\nTo go on in one: countersign chat --session ID');
    screen.type('/retry');
    screen.send('\r');
    await screen.shows(/1 file changed: unasked[\s\S]*1 file changed: unasked/);
    expect(existsSync(join(server.workspace, 'unasked.md'))).toBe(true);
    await command('/rewind', '  1  /write_file path=unasked.md content=U\n');
    await command('/rewind 1', 'Go back and put back 1 file?');
    await press(screen, 'y');
    await screen.shows('The agent no longer reads “/write_file path=unasked.md');
    expect(existsSync(join(server.workspace, 'unasked.md'))).toBe(false);
    await command('/delete', 'Delete this conversation?');
    await press(screen, 'n');
    await screen.shows('Nothing was deleted.');
    await command('/delete', 'Delete this conversation?');
    await press(screen, 'y');
    expect(await ended).toBe(0);
  });

  it('[AP-7] shows that a call failed because its preview failed, and why', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    writeFileSync(join(server.workspace, 'edited.md'), 'one\n');
    const { screen, ended } = say('--new', '/edit_file path=edited.md old=two new=three');
    await screen.shows('The text to replace does not occur in');
    expect(await ended).toBe(0);
    expect(screen.text).toContain('✗ Edit edited.md · failed');
    expect(screen.text).not.toMatch(/withdrawn|before anybody decided/); // the line of the call says it once
  });

  it('uses the person’s only project in any folder, and says so', async () => {
    const other = await ServerFixture.start();
    try {
      const person = await other.client();
      const make = (name: string) =>
        person.createProject({ body: { name, workspace: join(other.folder, name) } });
      // Nothing runs for this folder, whatever another server on this machine has.
      expect(await other.run('chat', '/help')).toMatchObject({
        status: 2,
        error: expect.stringContaining(`countersign up ${process.cwd()} is not running`),
      });
      await make('first');
      expect(await other.run('chat', '/help')).toMatchObject({
        status: 0,
        error: expect.stringContaining(`About ${join(other.folder, 'first')}, your only project`),
      });
      // The `up` of this folder has ended: the message is not for another server's project.
      const stopped = join(other.folder, 'stopped');
      mkdirSync(stopped);
      const folders = personsFolders(other.env);
      const { stateFolder } = workspaceAt(stopped, { folders });
      mkdirSync(stateFolder, { recursive: true });
      writeFileSync(join(stateFolder, 'up.json'), '{"port": 4999}');
      const before = process.cwd();
      process.chdir(stopped);
      try {
        expect(await other.run('chat', '/help')).toMatchObject({
          error: expect.stringContaining(`countersign up ${stopped} is not running`),
        });
      } finally {
        process.chdir(before);
      }
      await make('second');
      expect(await other.run('chat', '/help')).toMatchObject({
        status: 2,
        error: expect.stringContaining('is not running'),
      });
    } finally {
      await other.close();
    }
  });

  it('says which workspace to open when there is no runner, and what is missing', async () => {
    const lonely = join(server.folder, 'lonely');
    for (const folder of [join(lonely, 'inside'), join(server.folder, 'other')])
      mkdirSync(folder, { recursive: true });
    const { project } = await client.createProject({ body: { name: 'lonely', workspace: lonely } });
    const { screen, ended, error } = server.open(['chat', '--workspace', join(lonely, 'inside'), '/help']);
    await screen.shows('/read_file path=README.md');
    expect(await ended).toBe(0);
    expect(error()).toContain(`countersign connect ${lonely}`);
    expect(await server.run('chat', '--project', project.project_id, '/help')).toMatchObject({ status: 0 });
    const other = join(server.folder, 'other');
    expect(await server.run('chat', '--workspace', other, 'hi')).toMatchObject({
      status: 2,
      error: expect.stringContaining(`countersign up ${other} is not running`),
    });
    expect(await server.run('chat', '--workspace', other, '--server', server.address, 'hi')).toMatchObject({
      status: 2,
      error: expect.stringContaining('No project'),
    });
    expect(await server.run('chat', '--json')).toMatchObject({ status: 2 });
    expect((await server.run('chat', '--help')).out).toContain('--session');
    const failed = await server.run('chat', '--workspace', server.workspace, '--session', 'nobody', 'hi');
    expect(failed).toMatchObject({ status: 1, error: expect.stringContaining('NOT_FOUND') });
    // As a program of its own it exits, because there is nothing to wait for.
    const alone = ['chat', '--workspace', server.workspace, '--session', 'nobody', 'hi'];
    const program = promisify(execFile)(process.execPath, [launcher, ...alone], {
      env: { PATH: process.env.PATH, ...server.env },
      timeout: 120_000,
    });
    await expect(program).rejects.toMatchObject({ code: 1, killed: false });
    const inTerminal = say('--session', 'nobody', 'hi');
    expect(await inTerminal.ended).toBe(1);
    expect(inTerminal.screen.text).toContain('It failed:');
  });

  it('stops the run when it is interrupted, also without a screen', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const terminal = fakeTerminal();
    const ended = main(
      ['chat', '--workspace', server.workspace, '--new', '/write_file path=q.md content=Q'],
      terminal,
      server.env,
    );
    await until(async () => terminal.error().includes('waits for a decision'));
    expect(terminal.error()).toMatch(/countersign approvals show [0-9a-f-]{36}/);
    const listeners = process.listeners('SIGINT').filter((listener) => listener.name.includes('onSignal'));
    (listeners.at(-1) as () => void)();
    expect(await ended).toBe(130);
    expect(existsSync(join(server.workspace, 'q.md'))).toBe(false);
  });

  it('takes the message from standard input', async () => {
    const terminal = fakeTerminal({ input: '/help read_file\n' });
    expect(await main(['chat', '--workspace', server.workspace, '-'], terminal, server.env)).toBe(0);
    expect(terminal.out()).toContain('/read_file:');
  });
});

describe('approvals, history and undo', () => {
  it('[AP-1] lists, shows and decides what waits', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const { approval_id, tool_id } = await write('j.md', 'first\n');
    const id = String(approval_id);
    await until(
      async () => (await client.getApproval({ params: { approval_id: id } })).approval.preview !== null,
    );
    const list = await server.run('approvals');
    expect(list.out).toMatch(/1 call waits for you\n\S{8} +MEDIUM +\S+ wants to create j.md/i);
    expect((await server.run('approvals', 'show', id.slice(0, 30))).out).toContain('+ first');
    expect(JSON.parse((await server.run('approvals', 'show', id, '--json')).out)).toMatchObject({
      approval_id: id,
    });
    expect(await server.run('approvals', 'approve', id)).toMatchObject({
      status: 2,
      error: expect.stringContaining('--digest'),
    });
    expect(await server.run('approvals', 'watch')).toMatchObject({ status: 2 });

    const one = server.open(['approvals', 'approve', id]);
    await one.screen.shows('+ first');
    await press(one.screen, 'y');
    expect(await one.ended).toBe(0);
    await until(async () => (await statusOf(tool_id)) === 'completed');
    expect(await server.run('approvals', 'reject', id)).toMatchObject({
      status: 1,
      error: expect.stringContaining('Too late'),
    });
    expect((await server.run('approvals', 'reject', id, '--json')).out).toContain('"outcome":"overruled"');

    const watched = server.open(['approvals', 'watch']);
    await watched.screen.shows('Waiting for approvals');
    const second = await write('k.md');
    await watched.screen.shows('+ new');
    expect(
      await server.run(
        'approvals',
        'reject',
        String(second.approval_id),
        '--reason',
        'no',
        '--message',
        'please not',
      ),
    ).toMatchObject({ status: 0, out: 'Rejected.\n' });
    await watched.screen.shows('rejected in the terminal');
    expect(await server.run('approvals', 'reject', String(second.approval_id))).toMatchObject({
      status: 0,
      out: 'That decision stands already.\n',
    });
    watched.screen.send('q');
    expect(await watched.ended).toBe(0);
    expect(await server.run('approvals')).toMatchObject({ out: 'Nothing waits for you.\n' });
    for (const argv of [
      ['approvals', 'burn'],
      ['approvals', 'show'],
      ['approvals', 'show', 'x'],
      ['approvals', 'list', 'a', 'b'],
    ]) {
      expect(await server.run(...argv)).toMatchObject({ status: 2 });
    }
    expect((await server.run('approvals', '--help')).out).toContain('--digest');
  });

  it('[RN-5] lists the ports of background jobs of this workspace, and says which there are not', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const command = 'exec python3 -m http.server 3456 --bind 127.0.0.1';
    const approval_id = String((await call('shell_background', { command })).approval_id);
    const shown = () => client.getApproval({ params: { approval_id } });
    await until(async () => (await shown()).approval.digest !== null);
    const digest = String((await shown()).approval.digest);
    await server.run('approvals', 'approve', approval_id, '--digest', digest, '--high');
    const open = (...argv: string[]) => server.run('open', ...argv, '--workspace', server.workspace);
    const listed = async () => (JSON.parse((await open('--json')).out) as { ports: object[] }).ports;
    await until(async () => (await listed()).length > 0);
    expect(await listed()).toMatchObject([{ port: 3456, command }]);
    expect((await open()).out).toContain(command);
    expect(await open('3457')).toMatchObject({ status: 2, error: expect.stringContaining('port 3457') });
    await server.endSessions();
    expect((await open()).out).toContain('No background job');
  });

  it('[RK-1] asks programs to say HIGH out loud, and takes other parameters', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    writeFileSync(join(server.workspace, 'l.txt'), 'x');
    const { approval_id } = await call('delete_file', { path: 'l.txt' });
    const { approval_id: other } = await write('m.md');
    const digestOf = async (id: string) =>
      (await client.getApproval({ params: { approval_id: id } })).approval.digest;
    await until(
      async () => (await digestOf(String(approval_id))) !== null && (await digestOf(String(other))) !== null,
    );
    expect((await server.run('approvals')).out).toContain('2 calls wait for you');
    const digest = String(await digestOf(String(approval_id)));
    const approve = ['approvals', 'approve', String(approval_id), '--digest', digest];
    expect(await server.run(...approve)).toMatchObject({
      status: 2,
      error: expect.stringContaining('--high'),
    });
    expect(await server.run(...approve, '--high')).toMatchObject({ status: 0, out: 'Approved.\n' });
    const changed = [
      'approvals',
      'approve',
      String(other),
      '--digest',
      String(await digestOf(String(other))),
    ];
    expect(await server.run(...changed, '--params', '{')).toMatchObject({
      status: 2,
      error: expect.stringContaining('INVALID_JSON'),
    });
    expect(await server.run(...changed, '--params', '{"path":"m.md","content":"edited"}')).toMatchObject({
      status: 0,
    });
    await until(async () => existsSync(join(server.workspace, 'm.md')));
    expect(fileText('m.md')).toBe('edited');
  });

  it('shows what was done, filtered, for people and programs', async () => {
    const all = await server.run('history', '--limit', '3');
    expect(all.out.split('\n')[0]).toMatch(/^. \d\d-\d\d \d\d:\d\d {2}(LOW|MEDIUM|HIGH)/);
    expect(all.out).toContain('There is more: --cursor ');
    const some = linesOfJson(
      (
        await server.run(
          'history',
          '--json',
          '--tool',
          'delete_file',
          '--status',
          'completed',
          '--risk',
          'HIGH',
          '--since',
          '1d',
          '--until',
          '2100-01-01',
        )
      ).out,
    );
    expect(some.length).toBeGreaterThan(0);
    expect(new Set(some.map(({ tool_name }) => tool_name))).toEqual(new Set(['delete_file']));
    expect(linesOfJson((await server.run('history', '--json', '--limit', '1')).out).at(-1)).toHaveProperty(
      'next_cursor',
    );
    expect(await server.run('history', '--session', 'nobody')).toMatchObject({ status: 0 });
    for (const [wrong, said] of [
      [['--limit', '0'], ''],
      [['--since', 'soon'], ''],
      [['--status', 'odd'], '"odd" is not one of pending, '],
      [['--risk', 'odd'], '"odd" is not one of LOW, MEDIUM, HIGH'],
    ] as const) {
      const refused = { status: 2, error: expect.stringContaining(said) };
      expect(await server.run('history', ...wrong)).toMatchObject(refused);
    }
    expect((await server.run('history', '--help')).out).toContain('--since');
  });

  it('[RN-3] restores a file, refuses if it was changed since, and restores it with --force', async () => {
    const runner = server.open(['connect', server.workspace]);
    await runner.screen.shows('Connected');
    writeFileSync(join(server.workspace, 'n.md'), 'before\n');
    const { tool_id } = await write('n.md', 'after\n');
    await runner.screen.shows('+ after');
    await press(runner.screen, 'y');
    await runner.screen.shows('✓ Wrote n.md');
    writeFileSync(join(server.workspace, 'n.md'), 'changed by hand\n');
    expect(await server.run('undo', tool_id)).toMatchObject({
      status: 1,
      error: expect.stringMatching(/n\.md.*Changed after the call[\s\S]*--force/),
    });
    expect(fileText('n.md')).toBe('changed by hand\n');
    const forced = await server.run('undo', tool_id, '--force');
    const [, undoId = ''] = /countersign undo --offline (\S+)/.exec(forced.error) ?? [];
    expect([forced.out, undoId]).toEqual(['Undone: Wrote n.md\n', expect.stringMatching(/./)]);
    expect(fileText('n.md')).toBe('before\n');
    expect(await server.run('undo', tool_id)).toMatchObject({
      status: 1,
      error: expect.stringContaining('undone already'),
    });
    // Undoing a call does not lose the person's own change: undoing the undo restores it.
    runner.screen.send('\u0003');
    await runner.ended;
    const back = await server.run('undo', '--offline', undoId, '--workspace', server.workspace, '--json');
    expect(linesOfJson(back.out)).toMatchObject([{ tool_id: undoId, status: 'completed', error: null }]);
    expect(fileText('n.md')).toBe('changed by hand\n');
  });

  it('[RN-3] restores all that a run changed', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    const chat = server.open([
      'chat',
      '--workspace',
      server.workspace,
      '--new',
      '/write_file path=o.md content=1',
    ]);
    await chat.screen.shows('+ 1');
    await press(chat.screen, 'y');
    await chat.ended;
    const [{ run_id } = {}] = linesOfJson(
      (await server.run('history', '--json', '--tool', 'write_file', '--limit', '1')).out,
    );
    expect(await server.run('undo', '--run', String(run_id))).toMatchObject({
      status: 0,
      out: 'Undone: Wrote o.md\n',
    });
    expect(existsSync(join(server.workspace, 'o.md'))).toBe(false);
    expect(await server.run('undo', '--run', String(run_id))).toMatchObject({
      status: 2,
      error: expect.stringContaining('Nothing in that run'),
    });
    for (const wrong of [[], ['a', 'b'], ['a', '--run', 'b'], ['a', '--timeout', '0']]) {
      expect(await server.run('undo', ...wrong)).toMatchObject({ status: 2 });
    }
    expect((await server.run('undo', '--help')).out).toContain('--force');
  });
});

describe('doctor', () => {
  it('[RN-2] [RN-5] says what there is and what is missing, and how to get it', async () => {
    const well = await server.run('doctor', server.workspace);
    expect(well.status).toBe(0);
    for (const word of [
      'Node.js',
      'Server',
      'Sign-in',
      'Runner',
      'Isolation',
      'Ceiling',
      'Policy',
      'git',
      'Language servers',
    ]) {
      expect(well.out).toContain(word);
    }
    const json = JSON.parse((await server.run('doctor', server.workspace, '--json')).out) as {
      ok: boolean;
      checks: { state: string }[];
    };
    expect(json.ok).toBe(true);
    expect(json.checks.length).toBeGreaterThan(8);
    expect((await server.run('doctor', '--help')).out).toContain('--json');
    expect(await server.run('doctor', 'a', 'b')).toMatchObject({ status: 2 });
  });

  it('[RN-5] finds programs that isolation hides, and adds them in one step', async () => {
    const tools = join(server.folder, 'sdk/bin');
    mkdirSync(tools, { recursive: true });
    writeFileSync(join(tools, 'their-compiler'), '#!/bin/sh\n', { mode: 0o755 });
    const file = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign', 'runner.json');
    const run = async (...argv: string[]) => {
      const terminal = fakeTerminal();
      const status = await main(['doctor', ...argv], terminal, { ...server.env, PATH: `${tools}:/usr/bin` });
      return { status, out: terminal.out() };
    };
    expect((await run(server.workspace)).out).toMatch(
      /! Programs .*their-compiler[^→]*→ countersign doctor --add-programs/s,
    );
    const before = JSON.parse((await run(server.workspace, '--json')).out) as { hidden_programs: object[] };
    expect(before.hidden_programs).toMatchObject([
      { path: ['~/sdk/bin'], readable: ['~/sdk'], programs: ['their-compiler'] },
    ]);
    expect(JSON.parse((await run(server.workspace, '--add-programs', '--json')).out)).toEqual({
      file,
      path: ['~/sdk/bin'],
      readable: ['~/sdk'],
    });
    expect((await run(server.workspace, '--add-programs')).out).toContain('nothing to add');
    expect((await run(server.workspace)).out).toMatch(/✓ Programs .*~\/sdk\/bin, ~\/sdk/);
    writeFileSync(file, '{"version": 1, "readable": ["~/.ssh", "~/gone"]}');
    expect(await run(server.workspace)).toMatchObject({
      status: 1,
      out: expect.stringContaining('which is sensitive'),
    });
    rmSync(file);
  });

  it('[TL-3] says which limits are in force and where each comes from (founding documents: local-tool-execution)', async () => {
    const file = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign', 'runner.json');
    const place = join(server.folder, 'without-runner'); // with a runner, the runner's own limits would be shown
    mkdirSync(place);
    const limits = { commandTimeoutMs: 600_000, entriesMax: 5, concurrencyLimit: 2 };
    writeFileSync(file, JSON.stringify({ version: 1, limits }), { mode: 0o600 });
    const { checks } = JSON.parse((await server.run('doctor', place, '--json')).out) as {
      checks: { name: string; says: string }[];
    };
    const said = Object.fromEntries(checks.map(({ name, says }) => [name.trim(), says]));
    expect(said).toMatchObject({
      commandTimeoutMs: '300000 (the server)',
      commandTimeoutDefaultMs: '30000 (built in)',
      fileSizeMaxBytes: '104857600 (built in)',
      entriesMax: `5 (${file})`,
      concurrencyLimit: `2 (${file})`,
      enableCaching: 'true (built in)',
    });
    writeFileSync(file, '{"version": 1, "limits": {"entriesMax": 0}}');
    expect(await server.run('doctor', place)).toMatchObject({
      status: 1,
      out: expect.stringContaining('limits.entriesMax'),
    });
    rmSync(file);
  });

  it('[UI-4] fits a narrow terminal', async () => {
    const screen = new FakeScreen(44, 40);
    const terminal = { ...fakeTerminal({ screen }), screen };
    expect(await main(['doctor', server.workspace], terminal, server.env)).toBe(0);
    expect(screen.text.split('\n').filter((line) => widthOf(line) > 44)).toEqual([]);
  });

  it('ends with 1 when something that is needed is missing', async () => {
    const folder = join(server.workspace, '.countersign');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'policy.json'), '{broken');
    const config = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign');
    writeFileSync(join(config, 'policy.json'), '{"version": 1, "rules": []}', { mode: 0o600 });
    writeFileSync(join(config, 'ceiling.json'), '{broken', { mode: 0o600 });
    chmodSync(join(config, 'credentials.json'), 0o644);
    const ill = await server.run('doctor', server.workspace, '--lang', 'ru');
    expect(ill.status).toBe(1);
    expect(ill.out).toContain('chmod 600');
    expect(ill.out).toContain('Чего-то нужного нет.');
    chmodSync(join(config, 'credentials.json'), 0o600);
    const nobody = {
      ...server.env,
      XDG_CONFIG_HOME: join(server.folder, 'empty'),
      COUNTERSIGN_URL: server.address,
    };
    const terminal = fakeTerminal();
    expect(await main(['doctor', server.workspace], terminal, nobody)).toBe(1);
    expect(terminal.out()).toContain('not signed in');
    const refused = fakeTerminal();
    expect(await main(['doctor', server.workspace], refused, { ...nobody, COUNTERSIGN_TOKEN: 'wrong' })).toBe(
      1,
    );
    expect(refused.out()).toContain('the token is refused');
    expect(await server.run('doctor', server.workspace, '--server', 'nonsense')).toMatchObject({ status: 1 });
    expect(await server.run('doctor', '/')).toMatchObject({ status: 1 });
  });
});

describe('at the end', () => {
  it('[RN-3] undoes from this machine’s journal when there is no server, then signs out', async () => {
    const config = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign');
    writeFileSync(join(config, 'ceiling.json'), '{"version": 1, "decide_here": []}', { mode: 0o600 });
    writeFileSync(join(server.workspace, '.countersign', 'policy.json'), '{"version": 1}');
    const log = join(server.folder, 'runner.log');
    const runner = server.open(['connect', server.workspace, '--log-file', log]);
    await runner.screen.shows('Connected');
    const missing = await call('read_file', { path: 'missing.md' });
    await runner.screen.shows(`error Tool error: ${missing.tool_id}`);
    const { tool_id } = await write('p.md', 'p\n');
    await runner.screen.shows('+ p');
    await press(runner.screen, 'y');
    await runner.screen.shows('✓ Wrote p.md');
    // [OB-2] Errors are shown without being asked for; the file has the rest.
    const lines = linesOfJson(readFileSync(log, 'utf8')).filter(({ call }) => call === tool_id);
    expect(lines.map(({ level, msg }) => `${level} ${String(msg).replace(tool_id, '…')}`)).toEqual(
      expect.arrayContaining([
        'info Tool approval request received: …, write_file, risk_level=MEDIUM',
        'info Tool execution signal received: …, write_file',
        'info Tool execution started: …, write_file',
        'info Tool execution completed: …',
      ]),
    );
    await server.stopServer();
    await runner.screen.shows('The connection was lost');
    runner.screen.send('\u0003');
    expect(await runner.ended).toBe(0);
    const undone = await server.run('undo', tool_id, '--workspace', server.workspace);
    expect(undone).toMatchObject({ status: 0, error: expect.stringContaining("this machine's journal") });
    expect(existsSync(join(server.workspace, 'p.md'))).toBe(false);
    expect(await server.run('undo', '--run', 'x')).toMatchObject({
      status: 1,
      error: expect.stringContaining('UNAVAILABLE'),
    });
    expect(await server.run('doctor', server.workspace)).toMatchObject({
      status: 1,
      out: expect.stringContaining('does not answer'),
    });

    expect(await server.run('sign-out', '--json')).toMatchObject({
      status: 0,
      out: `${JSON.stringify({ success: true, server: server.address, was_signed_in: true })}\n`,
    });
    expect((await server.run('sign-out', '--server', server.address)).out).toContain(
      'You were not signed in',
    );
    expect((await server.run('sign-out', '--help')).out).toContain('sign-out');
    expect(await server.run('history', '--server', server.address)).toMatchObject({
      status: 2,
      error: expect.stringContaining('not signed in'),
    });
  });
});
