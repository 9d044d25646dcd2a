/**
 * An outside agent uses a person's custom tools: the official MCP client, `/mcp`, an approval, the runner of
 * `countersign up`, an isolated tool server from npm or of the person's own, and the result back to the agent (RN-8,
 * UI-5).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RemotePerson } from '../../lab/src/remote-person.ts';
import { until } from '../../lab/src/waiting.ts';
import { launcher, Machine, type ReadyLine } from './up-process.ts';
import { signInAsPerson } from './up-story.ts';

const { resolve } = createRequire(import.meta.url);
const fromNpm = (name: string): string =>
  join(dirname(resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');

let machine: Machine;
let workspace: string;
let ready: ReadyLine;
let person: RemotePerson;
let token: string;
const configured: Record<string, object> = {};
beforeAll(async () => {
  machine = new Machine();
  workspace = machine.folder('shop', { 'notes.md': 'hello\n' });
  configure({
    files: {
      command: 'node',
      args: [fromNpm('server-filesystem'), '.'],
      countersign: { risk: { list_directory: 'LOW' } },
    },
    everything: { command: 'node', args: [fromNpm('server-everything')] },
  });
  ready = await machine.up(workspace, '--json').ready();
  token = (JSON.parse(await printed('tokens', 'new', 'Research helper', '--json')) as { token: string })
    .token;
});
afterAll(() => machine?.close());

const open: { close(): Promise<unknown> }[] = [];
beforeEach(async () => {
  person = await signInAsPerson(JSON.parse(await printed('up', workspace, '--json')) as ReadyLine);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  person.close();
});

/** The output of a `countersign` command. */
async function printed(...args: string[]): Promise<string> {
  const ran = machine.run(...args);
  expect([await ran.ended, ran.errors]).toEqual(['0', expect.any(String)]);
  return ran.out;
}

function configure(servers: Record<string, object>): void {
  Object.assign(configured, servers);
  const folder = join(machine.home, '.config/countersign');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: configured }), { mode: 0o600 });
}

interface Outside {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  call(name: string, args?: object, more?: { signal?: AbortSignal; onprogress?: () => void }): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: the two packages have different types
  tools(): Promise<any[]>;
  /** How often it was told that the list of tools changed. */
  readonly heard: { times: number };
}

let radios = 0;
const who = { name: 'test', version: '1' };
const agents: Record<string, () => Promise<Outside>> = {
  'the MCP client 2.x at /mcp': async () => {
    const heard = { times: 0 };
    const onChanged = () => {
      heard.times += 1;
    };
    const client = new Client2(who, {
      versionNegotiation: { mode: 'auto' },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new Transport2(new URL(`${ready.address}/mcp`), { requestInit }));
    open.push(client);
    return {
      heard,
      tools: async () => (await client.listTools()).tools,
      call: (name, args = {}, more = {}) =>
        client.callTool({ name, arguments: args as Record<string, unknown> }, more),
    };
  },
  'the MCP SDK 1.x through countersign mcp': async () => {
    const heard = { times: 0 };
    const client = new Client1(who);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard.times += 1;
    });
    const args = [launcher, 'mcp', '--name', 'Over stdio'];
    const transport = new Stdio1({ command: process.execPath, args, cwd: workspace, env: machine.env });
    await client.connect(transport as never);
    open.push(client);
    return {
      heard,
      tools: async () => (await client.listTools()).tools,
      call: (name, args = {}, more = {}) =>
        client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, more),
    };
  },
};

/** The pending card of a tool, once its preview has arrived. */
async function cardOf(tool: string) {
  const request = await person.next('tool.approval_request', ({ tool_name, approval_id }) => {
    const isOver = person.all('approval.resolved').some((over) => over.approval_id === approval_id);
    return tool_name === tool && !isOver;
  });
  if (request.digest !== null) return { ...request, digest: request.digest };
  const updated = await person.next(
    'approval.updated',
    ({ approval_id, digest }) => approval_id === request.approval_id && digest !== null,
  );
  return { ...request, ...updated };
}

async function approve(tool: string): Promise<void> {
  const { approval_id, project_id, digest } = await cardOf(tool);
  await person.client.approve({ params: { approval_id, project_id }, body: { digest: String(digest) } });
}

describe.each(Object.entries(agents))('%s', (_name, start) => {
  const untilListed = async (agent: Outside, name: string, isThere = true) =>
    until(async () => (await agent.tools()).some((tool) => tool.name === name) === isThere, {
      otherwise: async () =>
        `${name} should ${isThere ? '' : 'not '}be listed: ${JSON.stringify(await agent.tools())}`,
    });
  const approved = async (agent: Outside, tool: string, args: object = {}) => {
    const called = agent.call(tool, args);
    await approve(tool);
    return called;
  };

  it('[TL-1] sees custom tools with schema and hints, and its hints lower no risk', async () => {
    const agent = await start();
    await untilListed(agent, 'files__write_file');
    const tools = Object.fromEntries((await agent.tools()).map((tool) => [tool.name, tool]));
    expect(tools.files__write_file).toMatchObject({
      title: 'Files: write file',
      inputSchema: { type: 'object', required: ['path', 'content'] },
      annotations: { readOnlyHint: false, destructiveHint: true },
    });
    expect(tools.files__read_text_file).toMatchObject({
      description: expect.stringContaining('The person may be asked first.'),
      annotations: { readOnlyHint: true, destructiveHint: false },
    });
    // Its read-only hint does not avoid approval; LOW set by the person does.
    const read = agent.call('files__read_text_file', { path: 'notes.md' });
    expect(await cardOf('files__read_text_file')).toMatchObject({ risk_level: 'MEDIUM' });
    await approve('files__read_text_file');
    expect((await read).structuredContent).toMatchObject({
      status: 'success',
      result: { content: 'hello\n' },
    });
    const listed = await agent.call('files__list_directory', { path: '.' });
    expect(listed.structuredContent).toMatchObject({ status: 'success' });
  });

  it('[RN-8] gets every type of content that a tool returns', async () => {
    const agent = await start();
    await untilListed(agent, 'everything__get-tiny-image');
    const image = await approved(agent, 'everything__get-tiny-image');
    expect(image.content[0]).toMatchObject({ type: 'image', mimeType: 'image/png' });
    expect(Buffer.from(image.content[0].data, 'base64').subarray(1, 4).toString()).toBe('PNG');

    const links = await approved(agent, 'everything__get-resource-links', { count: 2 });
    expect(links.content).toMatchObject([
      { type: 'resource_link', uri: expect.stringContaining('demo://') },
      { type: 'resource_link' },
      { type: 'text' },
    ]);

    const data = 'data:text/plain,twice';
    const gzip = { name: 'a.gz', data, outputType: 'resource' };
    const file = await approved(agent, 'everything__gzip-file-as-resource', gzip);
    expect(file.content[0]).toMatchObject({ type: 'resource', resource: { mimeType: 'application/gzip' } });
    expect(gunzipSync(Buffer.from(file.content[0].resource.blob, 'base64')).toString()).toBe('twice');

    const text = { resourceType: 'Text', resourceId: 1 };
    const resource = await approved(agent, 'everything__get-resource-reference', text);
    expect(resource.structuredContent.result).toMatchObject({
      content: expect.stringContaining('Resource 1'),
      items: [{ type: 'resource', mime_type: 'text/plain' }],
    });

    const faults = await approved(agent, 'everything__get-structured-content', { location: 'New York' });
    expect(faults.structuredContent.result.structured_content).toMatchObject({
      temperature: expect.anything(),
    });
  });

  it('[AP-5] gets rejections with their reason, gets progress, and cancels', async () => {
    const agent = await start();
    const rejected = agent.call('files__write_file', { path: 'never.txt', content: 'x' });
    const { approval_id, project_id } = await cardOf('files__write_file');
    const body = { reason: 'no', message: 'Use notes.md.' };
    await person.client.reject({ params: { approval_id, project_id }, body });
    expect((await rejected).structuredContent).toMatchObject({
      status: 'rejected',
      reason: 'no',
      user_message: 'Use notes.md.',
    });

    const long = 'everything__trigger-long-running-operation';
    const given = new AbortController();
    let progress = 0;
    const onprogress = () => {
      progress += 1;
    };
    const running = agent.call(long, { duration: 60, steps: 120 }, { signal: given.signal, onprogress });
    running.catch(() => {});
    const { tool_id } = await cardOf(long);
    await approve(long);
    await until(() => progress > 3, { otherwise: () => `only ${progress} progress events` });
    given.abort();
    await until(
      async () =>
        (await person.client.getExecution({ params: { tool_id } })).execution.status === 'cancelled',
      { otherwise: () => 'It was not cancelled' },
    );
  });

  it('[RN-8] is told of a new tool, uses it with sound, and is told when it is removed', async () => {
    const agent = await start();
    await untilListed(agent, 'everything__echo');
    radios += 1;
    const name = `radio${radios}`;
    const folder = join(machine.home, name);
    await printed('tools', 'new', name, '--in', folder);
    writeFileSync(
      join(folder, `${name}.ts`),
      `import { createToolServer, defineTool, z } from '@countersign/tool-kit';
const play = defineTool({
  name: 'play',
  description: 'Plays a sound.',
  readOnly: true,
  parameters: z.object({ times: z.number() }),
  handler: ({ times }) => ({
    content: [
      { type: 'text', text: 'Played ' + times },
      { type: 'audio', data: Buffer.from('RIFF').toString('base64'), mimeType: 'audio/wav' },
    ],
  }),
});
createToolServer({ name: 'radio' }).registerTool(play).start();
`,
    );
    const before = agent.heard.times;
    configure({ [name]: { command: 'node', args: [join(folder, `${name}.ts`)] } });
    const heardAfter = (times: number) =>
      until(() => agent.heard.times > times, {
        otherwise: () => 'It was not told that the list changed',
      });
    await heardAfter(before);
    await untilListed(agent, `${name}__play`);
    const played = await approved(agent, `${name}__play`, { times: 2 });
    expect(played.content[0]).toEqual({
      type: 'audio',
      mimeType: 'audio/wav',
      data: Buffer.from('RIFF').toString('base64'),
    });
    expect(played.structuredContent.result).toMatchObject({ content: 'Played 2' });
    const wrong = await agent.call(`${name}__play`, { times: 'two' });
    expect(wrong).toMatchObject({
      isError: true,
      structuredContent: { status: 'error', error: { code: 'INVALID_PARAMS' } },
    });

    const with_ = agent.heard.times;
    delete configured[name];
    configure({});
    await heardAfter(with_);
    await untilListed(agent, `${name}__play`, false);
    expect((await agent.call(`${name}__play`, { times: 1 })).structuredContent).toMatchObject({
      status: 'error',
      error: { code: 'UNKNOWN_TOOL' },
    });
  });
});

it('[AP-9] revoking a token in the terminal disconnects its agent in the middle of a call', async () => {
  const made = JSON.parse(await printed('tokens', 'new', 'Short-lived', '--json')) as {
    token: string;
    token_id: string;
  };
  const mine = token;
  token = made.token;
  const agent = await (agents['the MCP client 2.x at /mcp'] as () => Promise<Outside>)();
  token = mine;
  let answer: unknown;
  agent.call('files__write_file', { path: 'never.txt', content: 'x' }).then(
    (answered) => {
      answer = answered;
    },
    () => {}, // rejects when the client's own timeout ends
  );
  const { approval_id } = await cardOf('files__write_file');
  await printed('tokens', 'revoke', made.token_id);
  const resolved = await person.next('approval.resolved', (over) => over.approval_id === approval_id);
  expect(resolved.status).toBe('cancelled');
  await expect(agent.tools()).rejects.toThrow();
  expect(answer).toBeUndefined();
});
