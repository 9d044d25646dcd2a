/** `countersign mcp` and `countersign acp` while the `countersign up` of their folder stops and comes back (UI-5). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client as acpClient, methods, ndJsonStream, type SessionUpdate } from '@agentclientprotocol/sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';
import { launcher, Machine, type UpProcess } from './up-process.ts';

let machine: Machine;
let workspace: string;
let up: UpProcess;

beforeAll(async () => {
  machine = new Machine();
  workspace = machine.folder('shop', { 'price.ts': 'export const price = 1;\n' });
  await start();
  const terminal = new PseudoTerminal(['acp', '--pair'], machine.env);
  await terminal.shows('[y/N]');
  terminal.press('y\r');
  expect(await terminal.ended).toBe(0);
  // Another folder's server, the last one signed in to, keeps running; it does not know the shop folder.
  await started(machine.folder('elsewhere'));
});
afterAll(() => machine?.close());

async function start(): Promise<void> {
  up = await started(workspace);
}

/** Starts `up`, however long that takes on a busy machine. */
async function started(folder: string): Promise<UpProcess> {
  const starting = machine.up(folder, '--json');
  await until(() => starting.out.includes('\n'), {
    otherwise: () => `It is not ready: ${starting.out}${starting.errors}`,
  });
  return starting;
}

const stop = () => up.kill('SIGTERM');

const said = () =>
  `countersign up ${workspace} is not running. Start it in a terminal: countersign up ${workspace}`;

it('[UI-5] an MCP agent is told that up is not running, and continues when it is back', async () => {
  await stop();
  const agent = new Client({ name: 'agent', version: '1' });
  let changes = 0;
  agent.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  const args = [launcher, 'mcp'];
  const env = machine.env;
  await agent.connect(new StdioClientTransport({ command: process.execPath, args, cwd: workspace, env }));
  const read = () => agent.callTool({ name: 'read_file', arguments: { path: 'price.ts' } });
  const missing = {
    isError: true,
    structuredContent: { status: 'error', error: { code: 'UP_NOT_RUNNING', message: said() } },
  };
  await expect(agent.listTools()).rejects.toMatchObject({
    message: expect.stringContaining(said()),
    data: { code: 'UP_NOT_RUNNING' },
  });
  expect(await read()).toMatchObject(missing);
  expect(changes).toBe(0);

  await start();
  await until(() => changes > 0, { otherwise: () => 'It did not say that there are tools' });
  expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('read_file');
  expect(await read()).toMatchObject({ structuredContent: { status: 'success' } });

  await stop();
  expect(await read()).toMatchObject(missing);
  await expect(agent.listTools()).rejects.toThrow(said());
  await start();
  expect(await read()).toMatchObject({ structuredContent: { status: 'success' } });
  await agent.close();
});

it('[UI-5] an ACP editor is told that up is not running, and continues when it is back', async () => {
  await stop();
  const updates: SessionUpdate[] = [];
  let isAsked = false;
  let decide = () => {};
  const decided = new Promise<void>((resolve) => {
    decide = resolve;
  });
  const { stdin, stdout } = machine.piped('acp');
  const { agent } = acpClient({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, async () => {
      isAsked = true;
      await decided;
      return { outcome: { outcome: 'selected' as const, optionId: 'once' } };
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(stdout) as unknown as ReadableStream<Uint8Array>,
      ),
    );
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const open = () => agent.request(methods.agent.session.new, { cwd: workspace, mcpServers: [] });
  const missing = { message: expect.stringContaining(said()), data: { code: 'UP_NOT_RUNNING' } };
  await expect(open()).rejects.toMatchObject(missing);

  await start();
  const { sessionId } = await open();
  const say = (text: string) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  expect(await say('/read_file path=price.ts')).toEqual({ stopReason: 'end_turn' });

  await stop();
  await expect(say('/read_file path=price.ts')).rejects.toMatchObject(missing);
  await expect(open()).rejects.toMatchObject(missing);
  await start();
  expect(await say('/read_file path=price.ts')).toEqual({ stopReason: 'end_turn' });

  // During a prompt: the editor is told why nothing happens, the question stays open, and its answer counts afterwards.
  const written = say('/write_file path=price.ts content=2');
  await until(() => isAsked, { otherwise: () => 'It was not asked' });
  await stop();
  await until(() => JSON.stringify(updates).includes('is not running'), {
    otherwise: () => `It does not say why: ${JSON.stringify(updates)}`,
  });
  await start();
  decide();
  expect(await written).toEqual({ stopReason: 'end_turn' });
  expect(readFileSync(join(workspace, 'price.ts'), 'utf8')).toBe('2');
});
