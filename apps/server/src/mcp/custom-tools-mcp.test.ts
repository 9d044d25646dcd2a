/** Custom tools, as an outside agent sees them. tests/e2e has the whole way, with real tool servers. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { officialClients } from '../testing/mcp-clients.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

const polling = { interval: 10 };
const beatSeconds = 1;

let server: TestServer;
let ada: Person;
const open: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  server = await TestServer.start({ mcpHoldSeconds: 5, streamHeartbeatSeconds: beatSeconds });
  ada = await server.person('ada');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close().catch(() => {})));
  await server.close();
});

/** Registers custom tools, as a runner's heartbeat does. */
async function register(person: Person, ...tools: readonly object[]): Promise<void> {
  const path = `/my/projects/${person.projectId}/runners/runner-1/heartbeat`;
  const custom_tools = tools.map((tool) => ({ description: 'A tool.', input_schema: {}, ...tool }));
  const body = { queued: [], executing: [], unacknowledged: [], custom_tools };
  const { status } = await server.send('POST', path, { token: person.tokens.runner, body });
  expect(status).toBe(200);
}

/** A client of protocol 2025 opens its stream after it has connected, so it may miss an early notification. */
const untilHeard = (heard: { readonly times: number }) =>
  vi.waitFor(async () => {
    await register(ada);
    await register(ada, { name: 'deploy__look', read_only: true });
    expect(heard.times).toBeGreaterThan(0);
  }, polling);

const deny = (tool: string) =>
  server.send('PUT', '/my/policy', {
    token: ada.tokens.person,
    body: {
      version: 1,
      rules: [{ id: 'no', effect: 'deny', tool, why: 'no', matches: [], does_not_match: [] }],
    },
  });

describe.each(Object.entries(officialClients))('/mcp for %s', (_name, connectTo) => {
  /** A client that listens, and how often it was told that the list has changed. */
  async function listening(token = ada.tokens.agent) {
    const heard = { times: 0 };
    const onToolsChanged = () => {
      heard.times += 1;
    };
    const client = await connectTo({ address: server.address, token, onToolsChanged });
    open.push(client);
    const names = async () => (await client.listTools()).map(({ name }) => name);
    return { client, heard, names };
  }

  it('[RN-8] is notified when custom tools are added, changed or removed, or the policy denies one', async () => {
    await server.runner(ada);
    const { client, heard, names } = await listening();
    expect(await names()).not.toContain('deploy__look');
    await untilHeard(heard);
    const look = (await client.listTools()).find(({ name }) => name === 'deploy__look');
    expect(look).toMatchObject({
      title: 'Deploy: look',
      annotations: { readOnlyHint: true, destructiveHint: false },
      inputSchema: { type: 'object' },
    });

    let before = heard.times;
    await register(
      ada,
      { name: 'deploy__look' },
      { name: 'deploy__ship', risk_level: 'HIGH', destructive: true },
    );
    await vi.waitFor(() => expect(heard.times).toBeGreaterThan(before), polling);
    const tools = await client.listTools();
    expect(tools.filter(({ name }) => name.startsWith('deploy__'))).toMatchObject([
      { annotations: { readOnlyHint: false } },
      { name: 'deploy__ship', annotations: { readOnlyHint: false, destructiveHint: true } },
    ]);

    before = heard.times;
    await deny('deploy__ship');
    await vi.waitFor(() => expect(heard.times).toBeGreaterThan(before), polling);
    expect(await names()).not.toContain('deploy__ship');
  });

  it('is not notified about another person, nor if the list stays the same', async () => {
    await server.runner(ada);
    const bob = await server.person('bob');
    await server.runner(bob);
    const { heard } = await listening();
    await untilHeard(heard);
    await new Promise((resolve) => setTimeout(resolve, beatSeconds * 1500)); // meanwhile the server has compared the lists again
    const before = heard.times;
    await register(bob, { name: 'bobs__own' });
    await register(ada, { name: 'deploy__look', read_only: true }); // registered again without a change
    await new Promise((resolve) => setTimeout(resolve, beatSeconds * 1500));
    expect(heard.times).toBe(before);
  });

  it('[RN-8] gets what a tool answers as what it is: pictures, sound, links and resources', async () => {
    const base64 = { encoding: 'base64', content: 'AAAA' };
    const items = [
      { type: 'image', mime_type: 'image/png', ...base64 },
      { type: 'audio', mime_type: 'audio/wav', ...base64 },
      { type: 'resource_link', uri: 'demo://1', name: 'One', mime_type: 'text/plain' },
      { type: 'resource_link', uri: 'demo://2' },
      { type: 'resource', uri: 'demo://3', mime_type: 'application/gzip', ...base64 },
      { type: 'resource', uri: 'demo://4', mime_type: 'text/plain' }, // its text is part of the `content` above
      { type: 'image', mime_type: 'image/png', encoding: 'base64', content: 'A' }, // not valid base64
      { type: 'image', mime_type: 'image/png', left_out: '9 characters of base64' },
    ];
    const result = { success: true, content: 'hello', items, structured_content: { sum: 3 } };
    await server.runner(ada, { execute: () => ({ status: 'completed', result, execution_time_ms: 1 }) });
    await register(ada, { name: 'demo__all', risk_level: 'LOW' });
    const client = await connectTo({ address: server.address, token: ada.tokens.agent });
    open.push(client);
    const called = await client.call('demo__all', {});
    expect(called.content).toEqual([
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'demo://1', name: 'One', mimeType: 'text/plain' },
      { type: 'resource_link', uri: 'demo://2', name: 'demo://2' },
      { type: 'resource', resource: { uri: 'demo://3', blob: 'AAAA', mimeType: 'application/gzip' } },
      { type: 'text', text: 'hello' }, // as a person would print it; all of it is in the structured content
    ]);
    expect(called.structuredContent).toMatchObject({
      status: 'success',
      result: {
        content: 'hello',
        structured_content: { sum: 3 },
        items: [
          { type: 'image', mime_type: 'image/png' },
          { type: 'audio' },
          { type: 'resource_link', uri: 'demo://1' },
          { type: 'resource_link' },
          { type: 'resource', uri: 'demo://3' },
          { type: 'resource', uri: 'demo://4' },
          { content: 'A' },
          { left_out: '9 characters of base64' },
        ],
      },
    });
    expect(JSON.stringify(called.structuredContent)).not.toContain('AAAA');
  });
});
