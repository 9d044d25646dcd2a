import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@countersign/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort, ServerProcess } from '../../lab/src/server-process.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { pause, until } from '../../lab/src/waiting.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';

/** `countersign connect` behind a real pseudo terminal, with the real server and real files. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-e2e-terminal-')));
const workspace = join(folder, 'workspace');
mkdirSync(workspace);
const token = signToken('ada', 'person');
let port: number;
let server: ServerProcess;
const serve = async () => {
  server = new ServerProcess();
  await server.serve({ port, database: join(folder, 'countersign.db') });
};
beforeAll(async () => {
  port = await freePort();
  await serve();
});
const open: PseudoTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) await terminal.close();
  for (const { approval_id, project_id } of (await person().listApprovals()).approvals) {
    await person().reject({ params: { approval_id, project_id }, body: {} });
  }
});
afterAll(async () => {
  await server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({
  HOME: folder,
  XDG_CONFIG_HOME: join(folder, 'config'),
  XDG_STATE_HOME: join(folder, 'state'),
  COUNTERSIGN_URL: `http://127.0.0.1:${port}`,
  COUNTERSIGN_TOKEN: token,
});
const person = () => createClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => token });
async function connect(...argv: string[]): Promise<PseudoTerminal> {
  const terminal = new PseudoTerminal(['connect', workspace, ...argv], environment());
  open.push(terminal);
  await terminal.shows('Connected to');
  return terminal;
}
const write = (path: string, content: string) =>
  person().executeTool({ body: { tool_name: 'write_file', tool_params: { path, content } } });
/** Waits longer than a card must be visible before a key counts (UI-6). */
const waitUntilKeysCount = () => pause(700);

describe('countersign connect in a real terminal', () => {
  it('[UI-4] [AP-7] asks with a coloured diff, and a key runs what was shown', async () => {
    const terminal = await connect();
    writeFileSync(join(workspace, 'config.json'), '{"port": 3000}\n');
    await write('config.json', '{"port": 8080}\n');
    await terminal.shows('+ {"port": 8080}');
    expect(terminal.raw).toContain('\u001b[31m{"port": 3000}\u001b[0m');
    expect(terminal.raw).toContain('\u001b[32m{"port": 8080}\u001b[0m');
    await waitUntilKeysCount();
    terminal.press('y');
    await terminal.shows('✓ Wrote config.json');
    expect(readFileSync(join(workspace, 'config.json'), 'utf8')).toBe('{"port": 8080}\n');
    terminal.press('\u0003');
    expect(await terminal.ended).toBe(0);
    expect(terminal.raw.lastIndexOf('\u001b[?25h')).toBeGreaterThan(terminal.raw.lastIndexOf('\u001b[?25l'));
  });

  it('[UI-6] discards what was typed before the card came', async () => {
    const terminal = await connect();
    terminal.press('yyyyyyyy');
    const { approval_id } = await write('ahead.md', 'x\n');
    await terminal.shows('+ x'); // a key pressed at once is tested with a manual clock in terminal-approvals.test.ts
    await waitUntilKeysCount();
    const params = { approval_id: String(approval_id) };
    expect((await person().getApproval({ params })).approval.status).toBe('pending');
    terminal.press('n');
    await terminal.shows('Reject. For the agent:');
    await waitUntilKeysCount();
    terminal.press('\r');
    await terminal.shows('rejected here');
    expect(existsSync(join(workspace, 'ahead.md'))).toBe(false);
  });

  it('[UI-6] shows what a tool writes as text, without its escape sequences', async () => {
    const terminal = await connect();
    await write('hostile.md', 'a\u001b[2J\u009b2J\u202eb');
    await terminal.shows('a⟨U+001B⟩[2J⟨U+009B⟩2J⟨U+202E⟩b');
    expect(terminal.raw).not.toContain('\u001b[2J');
    expect(terminal.raw).not.toMatch(/[\u0080-\u009f\u202e]/);
  });

  it('[AP-10] [EV-2] reconnects when the server was killed, and shows pending requests again', async () => {
    const terminal = await connect();
    await write('again.md', 'still here\n');
    await terminal.shows('+ still here');
    await server.kill();
    await terminal.shows('The connection was lost');
    const lost = terminal.text.length;
    await serve();
    await terminal.shows('Connected to', lost);
    // A redrawn card must be visible for a while again before a key counts. A slow machine may also read two keys at
    // once, which discards both, so try until one counts.
    const isDone = async () => {
      if (terminal.text.includes('✓ Wrote again.md')) return true;
      await waitUntilKeysCount();
      terminal.press('y');
      return false;
    };
    await expect.poll(isDone, { interval: 2_000 }).toBe(true);
    expect(readFileSync(join(workspace, 'again.md'), 'utf8')).toBe('still here\n');
  });

  it('[RN-4] stops running calls when it is ended, and says so', async () => {
    const terminal = await connect();
    await person().executeTool({
      body: {
        tool_name: 'execute_command',
        tool_params: { command: 'node', args: ['-e', 'setTimeout(() => {}, 60000)'], timeout: 60 },
      },
    });
    await terminal.shows('HIGH');
    await terminal.shows('Runs');
    await waitUntilKeysCount();
    terminal.press('y');
    await terminal.shows('HIGH risk. Look again');
    await waitUntilKeysCount();
    terminal.press('y');
    await terminal.shows('approved here');
    const query = { tool_name: 'execute_command' };
    const status = async () => (await person().history({ query })).executions[0]?.status;
    await until(async () => (await status()) === 'executing', {
      otherwise: async () => `it is ${await status()}`,
    });
    terminal.press('\u0003');
    expect(await terminal.ended).toBe(0);
    expect(await status()).toBe('cancelled');
  });
});

it('[UI-4] asks nothing without a terminal, and prints JSON for programs', () => {
  const launcher = new URL('../../../apps/cli/bin/countersign.mjs', import.meta.url).pathname;
  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [launcher, ...argv], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...environment() },
    });
  const history = run('history', '--json', '--tool', 'write_file').stdout.trim().split('\n');
  expect(history.map((line) => JSON.parse(line).tool_name)).toContain('write_file');
  expect(JSON.parse(run('doctor', workspace, '--json').stdout)).toMatchObject({ ok: true });
  expect(run('approvals', 'watch')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('need a terminal'),
  });
});
