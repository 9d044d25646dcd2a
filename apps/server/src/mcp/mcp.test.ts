import type { ApprovalRow } from '@countersign/engine';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { officialClients } from '../testing/mcp-clients.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

const polling = { interval: 10 };

let server: TestServer;
let ada: Person;
const open: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  server = await TestServer.start({ mcpHoldSeconds: 1 });
  ada = await server.person('ada');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close().catch(() => {})));
  await server.close();
});

const write = { path: 'src/a.ts', content: 'x' };

describe.each(Object.entries(officialClients))('/mcp for %s', (_name, connectTo) => {
  const connect = async (more: Partial<Parameters<typeof connectTo>[0]> = {}) => {
    const client = await connectTo({ address: server.address, token: ada.tokens.agent, ...more });
    open.push(client);
    return client;
  };

  it('[TL-1] lists the catalogue with titles, schemas and hints, without what the policy denies', async () => {
    const client = await connect();
    const rule = {
      id: 'no-shell',
      effect: 'deny',
      tool: 'shell_*',
      why: 'no',
      matches: [],
      does_not_match: [],
    };
    const put = await server.send('PUT', '/my/policy', {
      token: ada.tokens.person,
      body: { version: 1, rules: [rule] },
    });
    expect(put.status).toBe(200);
    const tools = await client.listTools();
    const available = await server.send('GET', `/my/projects/${ada.projectId}/tools/available`, {
      token: ada.tokens.agent,
    });
    const names = available.body.tools.map(({ name }: { name: string }) => name);
    expect(tools.map(({ name }) => name)).toEqual([...names, 'wait_for_call', 'cancel_call']);
    expect(names).not.toContain('shell_exec');
    const hints = (name: string) => tools.find((tool) => tool.name === name)?.annotations;
    expect([hints('read_file'), hints('delete_file'), hints('wait_for_call')]).toMatchObject([
      { readOnlyHint: true, destructiveHint: false },
      { readOnlyHint: false, destructiveHint: true },
      { readOnlyHint: true },
    ]);
    expect(tools.find(({ name }) => name === 'read_file')).toMatchObject({
      title: 'Read file',
      inputSchema: { type: 'object', required: ['path'] },
    });
  });

  it('[UI-5] reads at once, and returns a failure as an error', async () => {
    await server.runner(ada, {
      execute: ({ tool_params }) =>
        tool_params.path === 'a.txt'
          ? { status: 'completed', result: { success: true, content: 'hello' }, execution_time_ms: 2 }
          : {
              status: 'failed',
              error: { code: 'FILE_NOT_FOUND', message: 'It is gone.', recoverable: true },
              execution_time_ms: 1,
            },
    });
    const client = await connect();
    const read = await client.call('read_file', { path: 'a.txt' });
    const expected = {
      status: 'success',
      result: { success: true, content: 'hello' },
      execution_time_ms: 2,
      call_id: expect.any(String),
    };
    expect(read).toMatchObject({ structuredContent: expected });
    expect(read.isError).toBeFalsy();
    expect(read.content).toEqual([{ type: 'text', text: 'hello' }]);
    expect(await client.call('read_file', { path: 'b.txt' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'FILE_NOT_FOUND: It is gone.' }],
      structuredContent: { status: 'error', error: { code: 'FILE_NOT_FOUND' } },
    });
    expect(await client.call('read_file', { path: '/etc/passwd' })).toMatchObject({
      isError: true,
      structuredContent: { status: 'error', error: { code: 'PATH_OUTSIDE_WORKSPACE' } },
    });
    expect(await client.call('no_such_tool', {})).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'UNKNOWN_TOOL' } },
    });
  });

  it('[AP-5] writes once a person has approved, and hands a rejection with its words to the agent', async () => {
    const runner = await server.runner(ada);
    const client = await connect();
    const progress: unknown[] = [];
    const written = client.call('write_file', write, { onprogress: (one) => progress.push(one) });
    await approve(await pending());
    expect(await written).toMatchObject({ structuredContent: { status: 'success' } });
    expect(runner.executed.length).toBe(1);
    expect(progress.length).toBeGreaterThan(0);

    const refused = client.call('write_file', { ...write, path: 'b.ts' });
    const { id } = await pending();
    await decide(id, 'reject', { reason: 'wrong place', message: 'Put it below src/.' });
    expect(await refused).toMatchObject({
      isError: true,
      content: [
        {
          type: 'text',
          text: 'The person rejected this call: wrong place\nThey say: Put it below src/.',
        },
      ],
      structuredContent: { status: 'rejected', reason: 'wrong place', user_message: 'Put it below src/.' },
    });
    expect(runner.executed.length).toBe(1);
  });

  it('[UI-5] returns pending_approval after a while, and wait_for_call continues to wait', async () => {
    await server.runner(ada);
    const client = await connect();
    const held = await client.call('write_file', write);
    const { call_id } = held.structuredContent;
    expect(held.structuredContent).toMatchObject({ status: 'pending_approval', call_id: expect.any(String) });
    expect(held.isError).toBeFalsy();
    const { id } = await pending();
    expect(held.content[0].text).toContain(`${server.address}/#/approvals/${id}`);
    expect(held.content[0].text).toContain(`call_id: ${call_id}`);
    expect((await client.call('wait_for_call', { call_id })).structuredContent).toEqual(
      held.structuredContent,
    );
    const waited = client.call('wait_for_call', { call_id });
    await approve(await pending());
    expect(await waited).toMatchObject({ structuredContent: { status: 'success', call_id } });
    // A call that has ended can be waited for too.
    expect(await client.call('wait_for_call', { call_id })).toMatchObject({
      structuredContent: { status: 'success', call_id },
    });
  });

  it('[EX-8] cancels the call with the request, and with cancel_call', async () => {
    await server.runner(ada);
    const client = await connect();
    const given = new AbortController();
    const cancelled = client.call('write_file', write, { signal: given.signal });
    const { tool_id } = await pending();
    given.abort();
    await expect(cancelled).rejects.toThrow();
    await vi.waitFor(async () => expect(await statusOf(tool_id)).toBe('cancelled'), polling);

    const held = await client.call('write_file', write);
    const { call_id } = held.structuredContent;
    expect(await client.call('cancel_call', { call_id })).toMatchObject({
      structuredContent: { status: 'cancelled', call_id },
    });
    expect(await client.call('wait_for_call', { call_id })).toMatchObject({
      isError: true,
      structuredContent: { status: 'error', error: { code: 'EXECUTION_CANCELLED' } },
    });
    expect(await client.call('cancel_call', { call_id })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'ALREADY_FINAL' } },
    });
  });

  it('[AP-9] elicitation carries the link to its own approval, and no answer to it decides anything', async () => {
    const runner = await server.runner(ada);
    const asked: unknown[] = [];
    const answers = ['accept', 'decline', 'cancel'] as const;
    const client = await connect({
      onElicitation: (one) => {
        asked.push(one);
        return answers[asked.length - 1] ?? 'accept';
      },
    });
    const paths = ['a.ts', 'b.ts', 'c.ts'];
    const held = await Promise.all(paths.map((path) => client.call('write_file', { ...write, path })));
    expect(held.map(({ structuredContent }) => structuredContent.status)).toEqual(
      Array(3).fill('pending_approval'),
    );
    expect(runner.executed).toEqual([]);
    const rows = await server.store.read((tx) => tx.pendingApprovals('ada'));
    expect(rows).toHaveLength(3);
    const links = rows.map(({ id }) => ({ mode: 'url', url: `${server.address}/#/approvals/${id}` }));
    expect(asked).toHaveLength(3);
    expect(asked).toEqual(expect.arrayContaining(links.map((link) => expect.objectContaining(link))));
  });

  it('[AP-9] does not find calls of another agent, person or program', async () => {
    await server.runner(ada);
    const client = await connect();
    const { call_id } = (await client.call('write_file', write)).structuredContent;
    const mallory = await server.person('mallory');
    const again = await server.person('ada');
    for (const token of [mallory.tokens.agent, again.tokens.agent]) {
      const other = await connect({ token });
      for (const tool of ['wait_for_call', 'cancel_call']) {
        expect(await other.call(tool, { call_id })).toMatchObject({
          isError: true,
          structuredContent: { error: { code: 'NOT_FOUND' } },
        });
        expect(await other.call(tool, { call_id: '../x' })).toMatchObject({
          structuredContent: { error: { code: 'INVALID_PARAMS' } },
        });
      }
    }
    expect(await statusOf(call_id)).toBe('awaiting_approval');
  });

  it('[RE-2] says how to choose one of several projects, and a bound token has chosen', async () => {
    await server.runner(ada);
    await server.send('POST', '/my/projects', { token: ada.tokens.person, body: { name: 'second' } });
    const client = await connect();
    await expect(client.listTools()).rejects.toThrow('bound to a project');
    expect(await client.call('read_file', { path: 'a' })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'PROJECT_REQUIRED' } },
    });
    const made = await server.send('POST', '/my/tokens', {
      token: ada.tokens.person,
      body: { name: 'Claude Code', scope: 'agent', project_id: ada.projectId },
    });
    expect(made.body.details.project_id).toBe(ada.projectId);
    const bound = await connect({ token: made.body.token });
    expect((await bound.listTools()).length).toBeGreaterThan(10);
    expect(await bound.call('read_file', { path: 'a' })).toMatchObject({
      structuredContent: { status: 'success' },
    });
    const held = await bound.call('write_file', write);
    expect(held.structuredContent.status).toBe('pending_approval');
    expect((await pending()).agent).toBe('Claude Code');
  });

  it('[AP-10] a server that stops cancels nothing', async () => {
    await server.runner(ada);
    const client = await connect();
    client.call('write_file', write).catch(() => {}); // rejects when the server stops
    const { tool_id } = await pending();
    const statuses: string[] = [];
    const { bus } = server.running;
    bus.subscribe((hint) => {
      if (hint.kind === 'settled' && hint.toolId === tool_id) statuses.push('settled');
    });
    await server.running.close();
    expect(statuses).toEqual([]);
  });
});

it('[UI-5] offers prompts, a guide, and its own calls as resources', async () => {
  await server.runner(ada);
  const connectAs = async (token: string) => {
    const client = new Client({ name: 'a test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.address}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    );
    open.push(client);
    return client;
  };
  const client = await connectAs(ada.tokens.agent);
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(['plan_first', 'review_changes']);
  const { messages } = await client.getPrompt({ name: 'plan_first', arguments: { task: 'Add a test' } });
  expect(messages).toMatchObject([
    { role: 'user', content: { text: expect.stringMatching(/^Add a test\n/) } },
  ]);
  await expect(client.getPrompt({ name: 'plan_first' })).rejects.toThrow('"task" is missing');
  await expect(client.getPrompt({ name: 'nonsense' })).rejects.toThrow('no prompt');

  const read = async (from: Client, uri: string) => (await from.readResource({ uri })).contents[0];
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['countersign://guide']);
  expect(await read(client, 'countersign://guide')).toMatchObject({
    text: expect.stringContaining('wait_for_call'),
  });
  const [template] = (await client.listResourceTemplates()).resourceTemplates;
  expect(template?.uriTemplate).toBe('countersign://calls/{call_id}');

  const held = await client.callTool({ name: 'write_file', arguments: write });
  const { call_id } = held.structuredContent as { call_id: string };
  const uri = `countersign://calls/${call_id}`;
  expect(await read(client, uri)).toMatchObject({ text: expect.stringContaining('pending_approval') });
  await approve(await pending());
  await vi.waitFor(
    async () =>
      expect(await read(client, uri)).toMatchObject({ text: expect.not.stringContaining('pending') }),
    polling,
  );
  const other = await connectAs((await server.person('ada')).tokens.agent);
  await expect(read(other, uri)).rejects.toThrow();
  for (const wrong of ['countersign://calls/../x', 'countersign://policy', 'file:///etc/passwd'])
    await expect(read(client, wrong)).rejects.toThrow();
});

it('prints results as a person would, with the data beside them', async () => {
  const results: Record<string, object> = {
    'ls -F': { success: false, stdout: 'out\n', stderr: 'err\n', exit_code: 2, execution_time: 0.1 },
    pwd: { success: true, stdout: '', stderr: '', exit_code: 0, execution_time: 0.1 },
  };
  await server.runner(ada, {
    execute: ({ tool_params }) => ({
      status: 'completed',
      result: results[[tool_params.command, ...(tool_params.args as string[])].join(' ')] as never,
      execution_time_ms: 1,
    }),
  });
  const [connectTo] = Object.values(officialClients);
  const client = await connectTo?.({ address: server.address, token: ada.tokens.agent });
  if (client) open.push(client);
  const failed = await client?.call('execute_command', { command: 'ls', args: ['-F'] });
  expect(failed.content).toEqual([{ type: 'text', text: 'exit 2\nout\nerr' }]);
  expect(failed.structuredContent.result).toEqual(results['ls -F']);
  const silent = await client?.call('execute_command', { command: 'pwd', args: [] });
  expect(silent.content).toEqual([{ type: 'text', text: 'no output' }]);
});

it('a picture is a picture, and a part of one is a value to join (founding documents: tools-specification)', async () => {
  const picture = { success: true, content: 'AAAA', encoding: 'base64', media_type: 'image/png' };
  const whole = { ...picture, size: 3, truncated: false };
  const part = { ...picture, size: 6, truncated: false, offset: 0, next_offset: 3 };
  await server.runner(ada, {
    execute: ({ tool_params }) => ({
      status: 'completed',
      result: tool_params.length === undefined ? whole : part,
      execution_time_ms: 1,
    }),
  });
  const [connectTo] = Object.values(officialClients);
  const client = await connectTo?.({ address: server.address, token: ada.tokens.agent });
  if (client) open.push(client);
  const read = await client?.call('read_file', { path: 'a.png' });
  expect(read.content[0]).toEqual({ type: 'image', data: 'AAAA', mimeType: 'image/png' });
  expect(read.content[1].text).not.toContain('AAAA');
  const first = await client?.call('read_file', { path: 'a.png', offset: 0, length: 3 });
  expect(first.content).toEqual([{ type: 'text', text: expect.any(String) }]);
  expect(first.structuredContent.result).toEqual(part);
});

/** The one request that waits, with its preview. */
async function pending(): Promise<ApprovalRow> {
  return vi.waitFor(async () => {
    const rows = await server.store.read(function* (tx) {
      const ids = (yield* tx.pendingApprovals('ada')).map(({ id }) => id);
      return (yield* tx.shownApprovals(ids)).map(({ approval }) => approval);
    });
    const [row] = rows;
    if (rows.length !== 1 || !row || row.digest === null) throw new Error(`${rows.length} wait`);
    return row;
  }, polling);
}

const approve = ({ id, digest }: ApprovalRow) => decide(id, 'approve', { digest });

async function decide(id: string, how: string, body: object): Promise<void> {
  const path = `/my/projects/${ada.projectId}/approvals/${id}/${how}`;
  expect((await server.send('POST', path, { token: ada.tokens.front_end, body })).status).toBe(200);
}

const statusOf = async (toolId: string) =>
  (await server.store.read((tx) => tx.get('tool_executions', toolId)))?.status;
