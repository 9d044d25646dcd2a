/**
 * Other vendors' agents and editors, as their users start them, beside `countersign up`: the real server and runner.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client as acpClient, methods, ndJsonStream, type SessionUpdate } from '@agentclientprotocol/sdk';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent, MCPServerStreamableHttp, Runner, setTracingDisabled } from '@openai/agents';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RemotePerson } from '../../lab/src/remote-person.ts';
import { until } from '../../lab/src/waiting.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';
import { callIdIn, ScriptedAgentModel } from './scripted-agent-model.ts';
import { launcher, Machine, type ReadyLine } from './up-process.ts';
import { signInAsPerson } from './up-story.ts';

const timeoutMs = 60_000;
setTracingDisabled(true);

let machine: Machine;
let workspace: string;
let ready: ReadyLine;
let person: RemotePerson;
let token: string;
beforeAll(async () => {
  machine = new Machine({ COUNTERSIGN_MCP_HOLD_SECONDS: '2' });
  workspace = machine.folder('shop', { 'price.ts': 'export const price = 1;\n' });
  ready = await machine.up(workspace, '--json').ready();
  const made = machine.run('tokens', 'new', 'Research helper', '--workspace', workspace, '--json');
  await made.ended;
  token = (JSON.parse(made.out) as { token: string }).token;
}, timeoutMs);
afterAll(() => machine?.close());

/** Each test has a new person who has received nothing yet. */
beforeEach(async () => {
  const again = machine.up(workspace, '--json');
  await again.ended;
  person = await signInAsPerson(JSON.parse(again.out) as ReadyLine);
  writeFileSync(at('price.ts'), 'export const price = 1;\n');
}, timeoutMs);
const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  person.close();
});

const at = (name: string) => join(workspace, name);
const price = () => readFileSync(at('price.ts'), 'utf8');
const edit = (to: number) => ({
  path: 'price.ts',
  old: 'price = 1',
  new: `price = ${to}`,
});

/** A pending request. */
const waiting = (fits: (params: string) => boolean) =>
  person.next('tool.approval_request', ({ tool_params, approval_id }) => {
    const isOver = person.all('approval.resolved').some((resolved) => resolved.approval_id === approval_id);
    return !isOver && fits(JSON.stringify(tool_params));
  });

async function decide(how: 'approve' | 'reject', fits: (params: string) => boolean): Promise<void> {
  const request = await waiting(fits);
  const { approval_id, project_id } = request;
  if (how === 'reject') {
    const body = { reason: 'too cheap', message: 'Make it 3.' };
    await person.client.reject({ params: { approval_id, project_id }, body });
    return;
  }
  const updated =
    request.digest === null
      ? await person.next(
          'approval.updated',
          (card) => card.approval_id === approval_id && card.digest !== null,
        )
      : request;
  const body = { digest: String(updated.digest) };
  await person.client.approve({ params: { approval_id, project_id }, body });
}

interface McpAgent {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  call(name: string, args: object, signal?: AbortSignal): Promise<any>;
}

const who = { name: 'test', version: '1' };
const requestInit = () => ({ headers: { authorization: `Bearer ${token}` } });
const agents: Record<string, () => Promise<McpAgent>> = {
  'the MCP client 2.x': async () => {
    const client = new Client2(who, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new Transport2(new URL(`${ready.address}/mcp`), { requestInit: requestInit() }));
    open.push(client);
    return {
      call: (name, args, signal) =>
        client.callTool({ name, arguments: args as Record<string, unknown> }, signal ? { signal } : {}),
    };
  },
  'the MCP SDK 1.x': async () => {
    const client = new Client1(who);
    const transport = new Transport1(new URL(`${ready.address}/mcp`), { requestInit: requestInit() });
    await client.connect(transport as never);
    open.push(client);
    return {
      call: (name, args, signal) =>
        client.callTool(
          { name, arguments: args as Record<string, unknown> },
          undefined,
          signal ? { signal } : {},
        ),
    };
  },
  'the MCP SDK 1.x through countersign mcp': async () => {
    const client = new Client1(who);
    const transport = new Stdio1({
      command: process.execPath,
      args: [launcher, 'mcp', '--name', 'Over stdio'],
      cwd: workspace,
      env: machine.env,
    });
    await client.connect(transport as never);
    open.push(client);
    return {
      call: (name, args, signal) =>
        client.callTool(
          { name, arguments: args as Record<string, unknown> },
          undefined,
          signal ? { signal } : {},
        ),
    };
  },
};

describe.each(Object.entries(agents))('%s', (_name, start) => {
  it(
    '[UI-5] reads, edits with approval, is rejected, waits, and cancels',
    async () => {
      const agent = await start();
      const read = await agent.call('read_file', { path: 'price.ts' });
      expect(read.structuredContent).toMatchObject({
        status: 'success',
        result: { content: 'export const price = 1;\n' },
      });

      const rejected = agent.call('edit_file', edit(2));
      await decide('reject', (params) => params.includes('price = 2'));
      expect((await rejected).structuredContent).toMatchObject({
        status: 'rejected',
        reason: 'too cheap',
        user_message: 'Make it 3.',
      });
      expect(price()).toContain('price = 1');

      const pending = (await agent.call('edit_file', edit(3))).structuredContent;
      expect(pending).toMatchObject({ status: 'pending_approval' });
      const waited = agent.call('wait_for_call', { call_id: pending.call_id });
      await decide('approve', (params) => params.includes('price = 3'));
      expect((await waited).structuredContent).toMatchObject({ status: 'success' });
      expect(price()).toContain('price = 3');

      const given = new AbortController();
      const cancelled = agent.call('write_file', { path: 'new.ts', content: '1' }, given.signal);
      cancelled.catch(() => {});
      const { tool_id } = await waiting((params) => params.includes('new.ts'));
      given.abort();
      await until(
        async () =>
          (await person.client.getExecution({ params: { tool_id } })).execution.status === 'cancelled',
        { otherwise: () => 'It was not cancelled' },
      );
      expect(existsSync(at('new.ts'))).toBe(false);
    },
    timeoutMs,
  );
});

it(
  '[UI-5] OpenAI Agents JS reads, is rejected, edits with approval, waits and cancels',
  async () => {
    const server = new MCPServerStreamableHttp({
      url: `${ready.address}/mcp`,
      name: 'countersign',
      requestInit: requestInit(),
      errorFunction: null,
    });
    await server.connect();
    open.push(server);
    const model = new ScriptedAgentModel([
      () => ({ call: 'read_file', args: { path: 'price.ts' } }),
      () => ({ call: 'edit_file', args: edit(4) }),
      () => ({ call: 'edit_file', args: edit(5) }),
      () => ({ call: 'edit_file', args: { path: 'price.ts', old: 'price = 5', new: 'price = 6' } }),
      (pending) => ({ call: 'cancel_call', args: { call_id: callIdIn(pending) } }),
      () => ({ call: 'write_file', args: { path: 'late.ts', content: 'late' } }),
      (pending) => ({ call: 'wait_for_call', args: { call_id: callIdIn(pending) } }),
      () => ({ say: 'Done.' }),
    ]);
    const agent = new Agent({ name: 'Shopkeeper', mcpServers: [server], model });
    const run = new Runner().run(agent, 'Set the price.', { maxTurns: 20 });
    await decide('reject', (params) => params.includes('price = 4'));
    await decide('approve', (params) => params.includes('price = 5'));
    // Nobody decides the third; the fourth is decided after the client has given up once.
    await until(() => model.seen.length >= 6, {
      otherwise: () => JSON.stringify(model.seen),
    });
    await decide('approve', (params) => params.includes('late.ts'));
    expect((await run).finalOutput).toBe('Done.');
    expect(model.offered).toEqual(expect.arrayContaining(['read_file', 'wait_for_call']));
    // As a person would print it.
    expect(model.seen).toEqual([
      'export const price = 1;',
      'The person rejected this call: too cheap\nThey say: Make it 3.',
      'changed price.ts',
      expect.stringMatching(/^pending_approval: /),
      expect.stringMatching(/^cancelled\n/),
      expect.stringMatching(/^pending_approval: /),
      'new late.ts',
    ]);
    expect([price(), readFileSync(at('late.ts'), 'utf8')]).toEqual(['export const price = 5;\n', 'late']);
  },
  timeoutMs,
);

it(
  '[UI-5] an ACP editor is paired, changes a file with approval, and attaches to the running runner',
  async () => {
    const terminal = new PseudoTerminal(['acp', '--pair', '--name', 'Zed'], machine.env);
    await terminal.shows('[y/N]');
    terminal.press('y\r');
    expect(await terminal.ended).toBe(0);
    const updates: SessionUpdate[] = [];
    const started = machine.piped('acp');
    const connection = acpClient({ name: 'editor' })
      .onRequest(methods.client.session.requestPermission, async () => {
        await new Promise((resolve) => setTimeout(resolve, 600)); // reading time
        return { outcome: { outcome: 'selected' as const, optionId: 'once' } };
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        updates.push(params.update);
      })
      .connect(
        ndJsonStream(
          Writable.toWeb(started.stdin) as WritableStream<Uint8Array>,
          Readable.toWeb(started.stdout) as unknown as ReadableStream<Uint8Array>,
        ),
      );
    const { agent } = connection;
    await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd: workspace, mcpServers: [] });
    const prompt = [
      { type: 'text' as const, text: '/edit_file path=price.ts old="price = 1" new="price = 7"' },
    ];
    expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual({
      stopReason: 'end_turn',
    });
    expect(price()).toBe('export const price = 7;\n');
    const kinds = new Set(updates.map(({ sessionUpdate }) => sessionUpdate));
    expect([...kinds]).toEqual(
      expect.arrayContaining(['tool_call', 'tool_call_update', 'agent_message_chunk']),
    );
    const resolved = await person.next('approval.resolved', ({ session_id }) => session_id === sessionId);
    expect(resolved).toMatchObject({ status: 'approved', device: expect.stringContaining('editor on') });
    connection.close();
    started.stdin.end();
    expect(await started.ended).toBe('0');
  },
  timeoutMs,
);
