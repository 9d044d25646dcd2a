import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue, defaultLimits, type JsonValue } from '@countersign/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSignal, shownDigestOf, writeSignal } from './call-samples.test-data.ts';
import { systemClock } from './clock.ts';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import { cannotIsolate } from './isolation/isolation-fixture.test-data.ts';
import { openWorkspace, personsFolders, workspaceAt } from './open-workspace.ts';
import type { ExecutionSignal } from './runner-api.ts';
import { ToolHandler } from './tool-handler.ts';

let fixture: RunnerFixture;
const ends: (() => Promise<void> | void)[] = [];

beforeEach(() => {
  fixture = runnerFixture();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  fixture.remove();
});

it('finds the folders of the person as the XDG specification says', () => {
  expect(personsFolders({ HOME: '/home/ada' })).toEqual({
    home: '/home/ada',
    config: '/home/ada/.config/countersign',
    state: '/home/ada/.local/state/countersign',
  });
  expect(
    personsFolders({ HOME: '/home/ada', XDG_CONFIG_HOME: '/etc/ada', XDG_STATE_HOME: 'relative' }),
  ).toMatchObject({ config: '/etc/ada/countersign', state: '/home/ada/.local/state/countersign' });
  expect(personsFolders({}).home).not.toBe('');
});

it('takes a folder by its real name, with a state folder of its own', () => {
  const folders = { home: '/home/ada', config: '/c', state: '/s' };
  symlinkSync(fixture.files.root, join(fixture.files.outside, 'link'));
  const workspace = workspaceAt(join(fixture.files.outside, 'link'), { folders });
  expect(workspace).toEqual({
    root: fixture.files.root,
    stateFolder: expect.stringMatching(/^\/s\/[0-9a-f]{32}$/),
    limits: defaultLimits,
    home: '/home/ada',
    addedEnvironment: [],
  });
  expect(workspaceAt(fixture.files.outside, { folders }).stateFolder).not.toBe(workspace.stateFolder);
});

it('refuses a folder that is not there, and one that holds what is our own', () => {
  expect(() => workspaceAt(join(fixture.files.root, 'nowhere'))).toThrow('There is no directory');
  const state = join(fixture.files.root, 'state');
  const folders = { home: fixture.files.root, config: state, state };
  expect(() => workspaceAt(fixture.files.root, { folders })).toThrow(
    'it contains what Countersign itself keeps',
  );
  expect(() => workspaceAt('/', { folders })).toThrow('it contains what Countersign itself keeps');
});

it.each([
  ['listed', 0o311],
  ['entered', 0o444],
])('refuses a folder that may not be %s, before anything is opened in it', (_, mode) => {
  const closed = mkdtempSync(join(tmpdir(), 'closed-'));
  chmodSync(closed, mode);
  const isRoot = process.getuid?.() === 0;
  try {
    if (isRoot) process.seteuid?.(65_534); // root may read everything
    expect(() => workspaceAt(closed)).toThrow(`"${closed}" is not a usable path: you may not read it.`);
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(closed, 0o700);
    rmSync(closed, { recursive: true });
  }
});

it("[AP-9] refuses a folder that holds the person's configuration, with tokens in it, though the state is elsewhere", () => {
  const home = fixture.files.root;
  const folders = { home, config: join(home, '.config', 'countersign'), state: '/elsewhere' };
  const refused = `it contains what Countersign itself keeps (${folders.config}); open a folder below it`;
  expect(() => workspaceAt(home, { folders })).toThrow(refused);
  mkdirSync(join(home, '.config'));
  expect(() => workspaceAt(join(home, '.config'), { folders })).toThrow(refused);
  // By another name it is the same folder.
  symlinkSync(home, join(fixture.files.outside, 'home'));
  const linked = { ...folders, config: join(fixture.files.outside, 'home', '.config', 'countersign') };
  expect(() => workspaceAt(home, { folders: linked })).toThrow(linked.config);
  expect(workspaceAt(join(home, 'src'), { folders }).root).toBe(join(home, 'src'));
});

it('without any configuration, works in the folder where it stands', async () => {
  const { HOME, XDG_STATE_HOME, XDG_CONFIG_HOME } = process.env;
  const before = process.cwd();
  ends.push(() => {
    process.chdir(before);
    Object.assign(process.env, { HOME, XDG_STATE_HOME, XDG_CONFIG_HOME });
    for (const [name, value] of Object.entries({ HOME, XDG_STATE_HOME, XDG_CONFIG_HOME }))
      if (value === undefined) delete process.env[name];
  });
  const own = join(fixture.files.root, '..', 'own');
  Object.assign(process.env, { HOME: own, XDG_STATE_HOME: join(own, 's'), XDG_CONFIG_HOME: join(own, 'c') });
  process.chdir(fixture.files.root);
  const parts = openWorkspace({}, fixture.logger);
  ends.push(() => parts.dispose());
  expect(parts.workspace.root).toBe(fixture.files.root);
  expect(parts.configFolder).toBe(join(own, 'c', 'countersign'));
  expect(parts.clock).toBe(systemClock);
  // Every tool of the catalogue has its executor.
  const known = parts.executors.flatMap(({ tools }) => [...tools]).sort();
  expect(known).toEqual(catalogue.map(({ name }) => name).sort());
});

it('[TL-3] [RN-1] lowers the limits, and raises none', () => {
  const { workspace, configFolder } = fixture;
  const parts = openWorkspace(
    {
      workspace,
      configFolder,
      commandTimeoutMs: 60_500,
      fileSizeMaxBytes: 200 * 1024 * 1024,
    },
    fixture.logger,
  );
  ends.push(() => parts.dispose());
  expect(parts.workspace.limits).toEqual({ ...defaultLimits, commandTimeoutMaxSeconds: 60 });
  const own = parts.verdict.decide('execute_command', { command: 'npm', args: ['test'], timeout: 61 });
  expect(own.verdict).toMatchObject({ decision: 'REJECT', code: 'TIMEOUT_TOO_LONG' });
});

/** The real thing: isolation, processes, files. */
function realHandler(): ToolHandler {
  const { api, logger, workspace, configFolder } = fixture;
  const handler = new ToolHandler(api, undefined, logger, { workspace, configFolder, runUnisolated: true });
  ends.push(() => handler.dispose());
  return handler;
}

async function approved(
  handler: ToolHandler,
  tool_name: string,
  tool_params: Record<string, JsonValue>,
  over: Partial<ExecutionSignal> = {},
): Promise<ExecutionSignal> {
  const own = handler.decide(tool_name, tool_params);
  if (!own.call) throw new Error(JSON.stringify(own.verdict));
  const risk_level = own.assessed?.decision ?? 'HIGH';
  const signal = writeSignal({ tool_name, tool_params, risk_level, ...over });
  return { ...signal, digest: await shownDigestOf(handler, signal), ...over };
}

it('[EX-1] runs a harmless command, a git read and an approved script', async () => {
  const handler = realHandler();
  const low = { command: 'cat', args: ['docs/notes.txt'] };
  const cat = await handler.handleToolExecutionSignal(
    readSignal({ tool_id: 'a', tool_name: 'execute_command', tool_params: low }),
  );
  expect(cat.output).toMatchObject({
    exit_code: 0,
    stdout: readFileSync(join(fixture.files.root, 'docs/notes.txt'), 'utf8'),
  });
  const status = await handler.handleToolExecutionSignal(
    readSignal({ tool_id: 'b', tool_name: 'git_status', tool_params: {} }),
  );
  expect(status.status).toBe('success');
  writeFileSync(
    join(fixture.files.root, 'scripts', 'make.js'),
    "require('fs').writeFileSync('made.txt', 'made')",
  );
  const signal = await approved(handler, 'execute_command', { command: 'node', args: ['scripts/make.js'] });
  const made = await handler.handleToolExecutionSignal({ ...signal, tool_id: 'c' });
  expect([made.status, readFileSync(join(fixture.files.root, 'made.txt'), 'utf8')]).toEqual([
    'success',
    'made',
  ]);
});

it.skipIf(cannotIsolate)(
  '[RN-5] a command reaches the ports of this machine that runner.json names, and no other',
  async () => {
    const port = async (): Promise<number> => {
      const server = createServer((_, response) => response.end('answer'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ends.push(() => new Promise((resolve) => void server.close(() => resolve())));
      return (server.address() as { port: number }).port;
    };
    const [named, other] = [await port(), await port()];
    const settings = { version: 1, reachable_ports: [named] };
    writeFileSync(join(fixture.configFolder, 'runner.json'), JSON.stringify(settings), { mode: 0o600 });
    const handler = realHandler();
    const fetching = async (at: number): Promise<unknown> => {
      // Without this parameter, curl asks the loopback of the conversation and needs no network.
      const params = { command: `curl -s http://127.0.0.1:${at}/ || echo refused`, network: true };
      const signal = await approved(handler, 'shell_exec', params);
      return (await handler.handleToolExecutionSignal({ ...signal, tool_id: `fetch ${at}`, network: true }))
        .output;
    };
    expect(await fetching(named)).toMatchObject({ stdout: 'answer' });
    expect(await fetching(other)).toMatchObject({
      stdout: expect.stringMatching(/refused|cannot be reached/),
    });
  },
);

it('[EX-8] dispose leaves no process and no file behind', async () => {
  const handler = realHandler();
  mkdirSync(join(fixture.files.root, 'out'));
  const line = 'touch out/started; sleep 100; touch out/ended';
  const running = handler.handleToolExecutionSignal(await approved(handler, 'shell_exec', { command: line }));
  await expect.poll(() => existsSync(join(fixture.files.root, 'out', 'started'))).toBe(true);
  await handler.dispose();
  expect((await running).status).toBe('cancelled');
  expect(readdirSync(join(fixture.files.root, 'out'))).toEqual(['started']);
  expect(readdirSync(fixture.files.root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});
