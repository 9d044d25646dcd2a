import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { officialClients } from '../testing/mcp-clients.ts';
import { sendRaw } from '../testing/raw-request.ts';
import { type Person, signToken, TestServer } from '../testing/test-server.ts';

let server: TestServer;
let ada: Person;
beforeAll(async () => {
  server = await TestServer.start({ mcpHoldSeconds: 30, callBodyBytes: 10_000 });
  ada = await server.person('ada');
});
afterAll(() => server.close());

const accept = { accept: 'application/json, text/event-stream' };
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

interface PostOptions {
  /** Null: none is sent. */
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly to?: TestServer;
}

const post = (body: unknown, { token = ada.tokens.agent, headers = {}, to = server }: PostOptions = {}) =>
  to.send('POST', '/mcp', { token: token ?? undefined, body, headers: { ...accept, ...headers } });

/** The id of a new session. */
async function begin(token: string, to = server): Promise<string> {
  const answered = await post(initialize, { token, to });
  expect(answered.status).toBe(200);
  return answered.headers.get('mcp-session-id') ?? '';
}

const list = async (session: string, token: string, to = server): Promise<number> => {
  const headers = { 'mcp-session-id': session };
  return (await post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, { token, headers, to })).status;
};

/** A session that listens; `ended` resolves when the server has ended it. */
async function listen(token: string, to = server) {
  const session = await begin(token, to);
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'text/event-stream',
    'mcp-session-id': session,
  };
  const response = await fetch(`${to.address}/mcp`, { headers });
  expect(response.status).toBe(200);
  const ended = response.text().then(
    () => true,
    () => true, // the server has cut the connection
  );
  return { session, ended };
}

describe('/mcp', () => {
  it('[RE-5] refuses a request without a token, as a JSON-RPC error', async () => {
    const answered = await post(initialize, { token: null });
    expect(answered.status).toBe(401);
    expect(answered.headers.get('www-authenticate')).toBe('Bearer');
    expect(answered.body).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_000, data: { code: 'UNAUTHENTICATED' } },
    });
    const expired = await signToken('ada', 'agent', { expiresIn: '-1h' });
    expect((await post(initialize, { token: expired })).status).toBe(401);
  });

  it.each(['person', 'front_end', 'runner'] as const)('[AP-9] takes no token of a %s', async (scope) => {
    const answered = await post(initialize, { token: ada.tokens[scope] });
    expect([answered.status, answered.body.error.data.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('[AP-9] gives an agent no way to decide, over REST or MCP', async () => {
    await server.runner(ada);
    const made = await server.send('POST', '/my/tools/execute', {
      token: ada.tokens.agent,
      body: { tool_name: 'write_file', tool_params: { path: 'a.ts', content: 'x' } },
    });
    const { approval_id } = made.body;
    const project = `/my/projects/${ada.projectId}`;
    const attempts = [
      ['POST', `${project}/approvals/${approval_id}/approve`],
      ['POST', `${project}/approvals/${approval_id}/reject`],
      ['POST', `/my/approvals/${approval_id}/approve`],
      ['POST', `/my/approvals/${approval_id}/confirm`],
      ['POST', `/my/approvals/${approval_id}/reject`],
      ['POST', `${project}/approvals/${approval_id}/preview`],
      ['GET', '/my/approvals'],
      ['GET', `/my/approvals/${approval_id}`],
      ['POST', `${project}/tools/${made.body.tool_id}/start`],
      ['POST', `${project}/tools/${made.body.tool_id}/result`],
      ['POST', '/my/tokens'],
      ['PUT', '/my/policy'],
      ['GET', '/my/stream'],
    ] as const;
    for (const [method, path] of attempts) {
      const body = method === 'GET' ? undefined : {};
      const answered = await server.send(method, path, { token: ada.tokens.agent, body });
      expect([path, answered.status, answered.body.code]).toEqual([path, 403, 'FORBIDDEN']);
    }
    const [connect] = Object.values(officialClients);
    const client = await connect?.({ address: server.address, token: ada.tokens.agent });
    for (const name of ['approve', 'confirm', 'reject', 'approve_tool']) {
      expect(await client?.call(name, { approval_id })).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'UNKNOWN_TOOL' } },
      });
    }
    await client?.close();
    const row = await server.store.read((tx) => tx.get('approvals', approval_id));
    expect(row?.status).toBe('pending');
  });

  it('[RE-5] answers no other host and no page of another origin', async () => {
    const asked = JSON.stringify(initialize);
    const headers = {
      ...accept,
      authorization: `Bearer ${ada.tokens.agent}`,
      'content-type': 'application/json',
    };
    for (const wrong of [
      { host: 'evil.example' },
      { host: '127.0.0.1:1' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null' },
    ]) {
      const answered = await sendRaw(server.address, {
        method: 'POST',
        path: '/mcp',
        headers: { ...headers, ...wrong } as Record<string, string>,
        contentLength: asked.length,
        body: [asked],
      });
      expect([wrong, answered.status, answered.text]).toEqual([
        wrong,
        403,
        expect.stringContaining('ORIGIN_REFUSED'),
      ]);
    }
  });

  it('[RE-4] tells who sends something else what is wrong with it', async () => {
    const raw = async (text: string, more: Record<string, string> = {}) => {
      const response = await fetch(`${server.address}/mcp`, {
        method: 'POST',
        headers: {
          ...accept,
          authorization: `Bearer ${ada.tokens.agent}`,
          'content-type': 'application/json',
          ...more,
        },
        body: text,
      });
      return [response.status, ((await response.json()) as { error: { code: number } }).error.code];
    };
    expect(await raw('{broken')).toEqual([400, -32_700]);
    expect(await raw('')).toEqual([400, -32_700]);
    expect(await raw('{"__proto__": {"a": 1}}')).toEqual([400, -32_700]);
    expect(await raw('"text"')).toEqual([400, expect.any(Number)]);
    expect(await raw('{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}')).toEqual([
      400,
      expect.any(Number),
    ]);
    expect(await raw('[]')).toEqual([400, expect.any(Number)]);
    expect(await raw(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))).toEqual([
      400, -32_000,
    ]);
    expect(await raw('{}', { 'content-type': 'text/plain' })).toEqual([415, -32_000]);
    expect(await raw('{}', { 'mcp-protocol-version': '2026-07-28' })).toEqual([400, expect.any(Number)]);
    expect(await raw(JSON.stringify({ ...initialize, padding: 'x'.repeat(20_000) }))).toEqual([413, -32_000]);
    for (const method of ['PUT', 'PATCH']) {
      const answered = await server.send(method, '/mcp', { token: ada.tokens.agent, headers: accept });
      expect([answered.status, answered.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE']);
    }
  });

  it('keeps a bounded number of sessions, each for its own token', async () => {
    const { agent } = ada.tokens;
    const other = (await server.person('mallory')).tokens.agent;
    const others = await begin(other);
    const first = await begin(agent);
    expect([await list(first, agent), await list(first, other)]).toEqual([200, 404]);
    const many: string[] = [];
    for (let index = 0; index < 1_000; index += 50) {
      many.push(...(await Promise.all(Array.from({ length: 50 }, () => begin(agent)))));
    }
    // Only its own oldest sessions were closed.
    const statuses = [list(first, agent), list(many.at(-1) ?? '', agent), list(others, other)];
    expect(await Promise.all(statuses)).toEqual([404, 200, 200]);
    const alive = await Promise.all(many.slice(-100).map((session) => list(session, agent)));
    expect(alive.filter((status) => status === 200).length).toBeLessThanOrEqual(50);
  });

  it('ends a session that is not used, or that its client ends', async () => {
    const small = await TestServer.start({ mcpSessionIdleSeconds: 1, mcpSessions: 2 });
    try {
      const { agent } = (await small.person('ada')).tokens;
      const session = await begin(agent, small);
      const ended = await small.send('DELETE', '/mcp', {
        token: agent,
        headers: { 'mcp-session-id': session },
      });
      expect([ended.status, await list(session, agent, small)]).toEqual([200, 404]);
      const unused = await begin(agent, small);
      await vi.waitFor(async () => expect(await list(unused, agent, small)).toBe(404), {
        interval: 2_500, // longer than the idle time, because each look counts as a use
      });
    } finally {
      await small.close();
    }
  });

  it('[RE-4] a person who lets many agents in takes no sessions from others', async () => {
    const small = await TestServer.start({ mcpSessions: 210 });
    try {
      const first = (await small.person('ada')).tokens.agent;
      const session = await begin(first, small);
      await small.person('mallory');
      const agents = await Promise.all(Array.from({ length: 5 }, () => signToken('mallory', 'agent')));
      for (const agent of agents) await Promise.all(Array.from({ length: 45 }, () => begin(agent, small)));
      expect(await list(session, first, small)).toBe(200);
      const second = (await small.person('bob')).tokens.agent;
      expect(await list(await begin(second, small), second, small)).toBe(200);
    } finally {
      await small.close();
    }
  });

  it('refuses a session if there is no room, and closes no session of another person', async () => {
    const small = await TestServer.start({ mcpSessions: 1 });
    try {
      const first = (await small.person('ada')).tokens.agent;
      const second = (await small.person('mallory')).tokens.agent;
      const session = await begin(first, small);
      const refused = await post(initialize, { token: second, to: small });
      expect([refused.status, refused.body.error.data.code]).toEqual([503, 'UNAVAILABLE']);
      expect(await list(session, first, small)).toBe(200);
    } finally {
      await small.close();
    }
  });

  it('cuts off a revoked token at once, even in a held request', async () => {
    await server.runner(ada);
    const made = await server.send('POST', '/my/tokens', {
      token: ada.tokens.person,
      body: { name: 'soon gone', scope: 'agent' },
    });
    const { token, details } = made.body;
    const session = await begin(token);
    const params = { name: 'write_file', arguments: { path: 'z.ts', content: 'x' } };
    const held = post(
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params },
      { token, headers: { 'mcp-session-id': session } },
    ).then(
      () => 'answered',
      () => 'cut off',
    );
    await vi.waitFor(async () => {
      const rows = await server.running.engine.approvals.getPendingApprovals('ada');
      expect(rows.some(({ agent }) => agent === 'soon gone')).toBe(true);
    });
    await server.send('DELETE', `/my/tokens/${details.token_id}`, { token: ada.tokens.person });
    expect([await held, await list(session, token)]).toEqual(['cut off', 401]);
    // Its requests are withdrawn; those of others stay.
    const left = await server.running.engine.approvals.getPendingApprovals('ada');
    expect([left.some(({ agent }) => agent === 'soon gone'), left.length > 0]).toEqual([false, true]);
  });

  it('ends a client’s stream when its token is revoked or expires', async () => {
    const other = await TestServer.start({ streamHeartbeatSeconds: 1 });
    try {
      const bob = await other.person('bob');
      const made = await other.send('POST', '/my/tokens', {
        token: bob.tokens.person,
        body: { name: 'listener', scope: 'agent' },
      });
      const short = await signToken('bob', 'agent', { expiresIn: '2s' });
      const [revoked, over] = await Promise.all([listen(made.body.token, other), listen(short, other)]);
      await other.send('DELETE', `/my/tokens/${made.body.details.token_id}`, { token: bob.tokens.person });
      expect(await Promise.all([revoked.ended, over.ended])).toEqual([true, true]);
    } finally {
      await other.close();
    }
  });

  it('[RE-4] lets a client listen once in a session of its own, and in none of others', async () => {
    const { session, ended } = await listen(ada.tokens.agent);
    const get = async (token: string, headers: Record<string, string>) =>
      (await fetch(`${server.address}/mcp`, { headers: { ...headers, authorization: `Bearer ${token}` } }))
        .status;
    const stream = { accept: 'text/event-stream', 'mcp-session-id': session };
    const bob = await server.person('bob');
    expect([
      await get(ada.tokens.agent, stream),
      await get(bob.tokens.agent, stream),
      await get(ada.tokens.agent, { accept: 'text/event-stream' }),
      await get(ada.tokens.agent, { ...stream, accept: 'application/json' }),
      await get(ada.tokens.runner, stream),
      await get('nobody', stream),
    ]).toEqual([409, 404, 400, 406, 403, 401]);
    const headers = { 'mcp-session-id': session };
    await server.send('DELETE', '/mcp', { token: ada.tokens.agent, headers });
    expect(await ended).toBe(true);
  });

  it('[AP-9] binds a token to a project of its person only, and only an agent’s', async () => {
    const make = (body: object) =>
      server.send('POST', '/my/tokens', { token: ada.tokens.person, body: { name: 'x', ...body } });
    const mallory = await server.person('mallory');
    const imitating = await make({ scope: 'agent', name: 'Agent' });
    expect([imitating.status, imitating.body.code]).toEqual([400, 'INVALID_BODY']);
    const foreign = await make({ scope: 'agent', project_id: mallory.projectId });
    expect([foreign.status, foreign.body.code]).toEqual([404, 'NOT_FOUND']);
    const wide = await make({ scope: 'front_end', project_id: ada.projectId });
    expect([wide.status, wide.body.code]).toEqual([400, 'INVALID_BODY']);

    const second = await server.send('POST', '/my/projects', {
      token: ada.tokens.person,
      body: { name: 's' },
    });
    const { project_id: elsewhere } = second.body.project;
    const { token } = (await make({ scope: 'agent', project_id: elsewhere })).body;
    const projects = await server.send('GET', '/my/projects', { token });
    expect(projects.body.projects.map(({ project_id }: { project_id: string }) => project_id)).toEqual([
      elsewhere,
    ]);
    const body = { tool_name: 'read_file', tool_params: { path: 'a' }, session_id: ada.sessionId };
    for (const [method, path, sent] of [
      ['GET', `/my/projects/${ada.projectId}/tools/available`, undefined],
      ['POST', `/my/projects/${ada.projectId}/sessions`, {}],
      ['POST', '/my/tools/execute', body],
    ] as const) {
      expect([path, (await server.send(method, path, { token, body: sent })).status]).toEqual([path, 404]);
    }
  });

  it('[AP-4] refuses an agent in another caller’s session, whose grants it could use', async () => {
    const grace = await server.person('grace');
    await server.runner(grace);
    const call = (token: string, session_id: string | undefined, path: string) =>
      server.send('POST', '/my/tools/execute', {
        token,
        body: {
          tool_name: 'write_file',
          tool_params: { path, content: 'x' },
          ...(session_id !== undefined && { session_id }),
        },
      });
    const make = async (name: string): Promise<string> => {
      const body = { name, scope: 'agent' };
      return (await server.send('POST', '/my/tokens', { token: grace.tokens.person, body })).body.token;
    };
    const [first, second] = [await make('first'), await make('second')];
    const own = (await call(first, undefined, 'a.ts')).body;
    const persons = (await call(grace.tokens.person, grace.sessionId, 'a.ts')).body;
    for (const [token, session, status] of [
      [second, own.session_id, 404],
      [second, persons.session_id, 404],
      [first, own.session_id, 200],
      [second, undefined, 200],
    ] as const) {
      const answered = await call(token, session, 'b.ts');
      expect([session, answered.status]).toEqual([session, status]);
    }
    // Agents cannot use a conversation that the person opened, even if nothing was called in it yet.
    const path = `/my/projects/${grace.projectId}/sessions`;
    const { session } = (await server.send('POST', path, { token: grace.tokens.person, body: {} })).body;
    await server.store.write(function* (tx) {
      yield* tx.update('sessions', session.session_id, { last_message_at: 1 });
    });
    expect((await call(second, session.session_id, 'c.ts')).status).toBe(404);
  });

  it('counts each message of a batch', async () => {
    const small = await TestServer.start({ requestsPerSecond: 1 });
    try {
      const { agent } = (await small.person('ada')).tokens;
      const old = { ...initialize, params: { ...initialize.params, protocolVersion: '2025-03-26' } };
      const answered = await post(old, { token: agent, to: small });
      const headers = { 'mcp-session-id': answered.headers.get('mcp-session-id') ?? '' };
      const batch = (length: number) =>
        Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }));
      const few = await post(batch(2), { token: agent, to: small, headers });
      const many = await post(batch(20), { token: agent, to: small, headers });
      expect([few.status, many.status, many.body.error.data.code]).toEqual([200, 429, 'RATE_LIMITED']);
    } finally {
      await small.close();
    }
  });

  it('limits the number of held requests of one token', async () => {
    const linus = await server.person('linus');
    await server.runner(linus);
    const { agent } = linus.tokens;
    const session = await begin(agent);
    const made = await server.send('POST', '/my/tools/execute', {
      token: agent,
      body: { tool_name: 'write_file', tool_params: { path: 'held.ts', content: 'x' } },
    });
    const { tool_id } = made.body;
    const wait = (id: number) =>
      post(
        {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'wait_for_call', arguments: { call_id: tool_id } },
        },
        { token: agent, headers: { 'mcp-session-id': session } },
      );
    expect(made.status).toBe(200);
    let refused = 0;
    const waiting = Array.from({ length: 150 }, async (_, id) => {
      const { status } = await wait(10 + id);
      if (status === 429) refused += 1;
      return status;
    });
    await vi.waitFor(() => expect(refused).toBe(50));
    const cancelled = await server.send('POST', `/my/tools/${tool_id}/cancel`, { token: agent, body: {} });
    expect(cancelled.status).toBe(200);
    expect((await Promise.all(waiting)).filter((status) => status === 200).length).toBe(100);
    expect((await wait(1_000)).status).toBe(200); // the earlier requests no longer count
  });
});
