import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '../testing/raw-request.ts';
import { type Person, signToken, TestServer } from '../testing/test-server.ts';

/** Asks for a call, looks at the first line of the answer and takes no more. */
function askAndStall(
  { address }: TestServer,
  token: string,
  toolId: string,
): Promise<{ status: string; socket: Socket }> {
  const { hostname, port, host } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.once('data', (part) => {
      socket.pause();
      resolve({ status: part.toString('latin1').slice(9, 12), socket });
    });
    const head = [`GET /my/tools/${toolId} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${token}`];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
  });
}

describe('[RE-4] a body of too many values', () => {
  it.each([
    [
      'in one list',
      `{"tool_name":"git_commit","tool_params":{"message":"m","files":[${'"a",'.repeat(60_000)}"a"]}}`,
    ],
    ['in many lists', `{"tool_name":"x","tool_params":{"a":[${'[1,[]],'.repeat(20_000)}1]}}`],
    ['nested deep', `{"tool_name":"x","tool_params":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`],
  ])('%s is refused on every way in, before anything is done with it', async (_what, text) => {
    const server = await TestServer.start();
    const eve = await server.person('eve');
    const post = async (path: string, body: string) => {
      const response = await fetch(server.address + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${eve.tokens.agent}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body,
      });
      return { status: response.status, text: await response.text() };
    };
    const rest = await post('/my/tools/execute', text);
    expect([rest.status, JSON.parse(rest.text).code]).toEqual([400, 'INVALID_BODY']);
    const { tool_name: name, tool_params: args } = JSON.parse(text.replace(/\[{1000,}\]+/, '0'));
    const params = text.includes('[[[[') ? text.slice(text.indexOf('{"a"'), -1) : JSON.stringify(args);
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${params}}}`;
    const mcp = await post('/mcp', call);
    expect(mcp.status).toBe(400);
    expect(mcp.text).toContain('too many values');
    const { body } = await server.send('GET', '/my/tools/history', { token: eve.tokens.person });
    expect(body.executions).toEqual([]);
    await server.close();
  });
});

/** A call whose answer does not fit in a connection's buffers. */
async function largeCall(server: TestServer, token: string): Promise<string> {
  const tool_params = { path: 'a.md', content: 'x'.repeat(7_000_000) };
  const { body } = await server.send('POST', '/my/tools/execute', {
    token,
    body: { tool_name: 'write_file', tool_params },
  });
  return body.tool_id;
}

describe('[RE-4] responses that the client does not read', () => {
  it('are limited for an agent, and its person can still read', async () => {
    const server = await TestServer.start({ callBodyBytes: 8_000_000 });
    const eve = await server.person('eve');
    const sockets: Socket[] = [];
    try {
      const tool_id = await largeCall(server, eve.tokens.agent);
      const statuses: string[] = [];
      for (let count = 0; count < 5; count += 1) {
        const { status, socket } = await askAndStall(server, eve.tokens.agent, tool_id);
        statuses.push(status);
        sockets.push(socket);
      }
      expect(statuses).toEqual(['200', '200', '200', '429', '429']);
      const persons = () => server.send('GET', `/my/tools/${tool_id}`, { token: eve.tokens.person });
      expect((await persons()).status).toBe(200);
      expect((await persons()).status).toBe(200);
      // Once they are gone, there is room again.
      for (const socket of sockets) socket.destroy();
      const again = () => server.send('GET', `/my/tools/${tool_id}`, { token: eve.tokens.agent });
      await expect.poll(async () => (await again()).status).toBe(200);
    } finally {
      for (const socket of sockets) socket.destroy();
      await server.close();
    }
  });

  it('end with their connection, and what only waits does not', async () => {
    const server = await TestServer.start({ streamHeartbeatSeconds: 600 });
    const { server: http } = server.running.app;
    expect(http.timeout).toBe(30_000);
    http.timeout = 300; // applies to connections that are opened from here on
    const eve = await server.person('eve');
    const stream = await server.listen('/my/stream', { token: eve.tokens.person });
    await stream.untilListening();
    try {
      const tool_id = await largeCall(server, eve.tokens.agent);
      const { socket } = await askAndStall(server, eve.tokens.agent, tool_id);
      const connections = () =>
        new Promise<number>((resolve) => http.getConnections((_error, count) => resolve(count)));
      const before = await connections();
      await expect.poll(connections).toBeLessThan(before);
      socket.resume();
      await new Promise((resolve) => socket.once('close', resolve)); // closed before the whole response arrived
      expect(socket.bytesRead).toBeLessThan(7_000_000);
      expect(stream.ended).toBe(false);
    } finally {
      await server.close();
    }
  });
});

describe('[RE-4] [AP-9] large bodies of one person', () => {
  let server: TestServer;
  let ada: Person;
  let eve: Person;
  beforeAll(async () => {
    server = await TestServer.start({ largeBodyBytesPerSecond: 100_000 });
    ada = await server.person('ada');
    eve = await server.person('eve');
  });
  afterAll(() => server.close());

  const write = (token: string, bytes: number) =>
    server.send('POST', '/my/tools/execute', {
      token,
      body: { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x'.repeat(bytes) } },
    });

  it('come one after the other: a flood of them gets 429, small ones and those of others are taken', async () => {
    const { tokens } = eve;
    const second = await signToken('eve', 'agent');
    const flood = await Promise.all(
      [tokens.agent, second, tokens.agent, second].map((token) => write(token, 3_000_000)),
    );
    expect(flood.map(({ status }) => status).toSorted()).toEqual([200, 429, 429, 429]);
    const refused = flood.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(10);
    expect((await write(tokens.agent, 50_000)).status).toBe(200);
    expect((await write(tokens.person, 3_000_000)).status).toBe(200);
    expect((await write(ada.tokens.agent, 3_000_000)).status).toBe(200);
  });

  it('are not sent out over and over: the next answer of that kind waits, a list of approvals does not', async () => {
    const joe = await server.person('joe');
    const { tool_id, approval_id } = (await write(joe.tokens.agent, 3_000_000)).body;
    const get = (path: string) => server.send('GET', path, { token: joe.tokens.person });
    const answers = await Promise.all(Array.from({ length: 5 }, () => get(`/my/tools/${tool_id}`)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 429, 429, 429, 429]);
    const { body, text } = await get('/my/approvals');
    expect(body.approvals).toMatchObject([{ approval_id, tool_params: {}, omitted: ['tool_params'] }]);
    expect(text.length).toBeLessThan(64 * 1024);
    // An agent that reads its own large call does not use up the person's limit.
    const agents = await Promise.all(
      [1, 2].map(() => server.send('GET', `/my/tools/${tool_id}`, { token: joe.tokens.agent })),
    );
    expect(agents.map(({ status }) => status).toSorted()).toEqual([200, 429]);
    const other = await server.send('GET', `/my/tools/${tool_id}`, { token: ada.tokens.person });
    expect(other.status).toBe(404);
  });

  it('count as the maximum if their size is not declared: one is accepted, and the next waits', async () => {
    const bob = await server.person('bob');
    const text = JSON.stringify({
      tool_name: 'write_file',
      tool_params: { path: 'a.md', content: 'x'.repeat(3_000_000) },
    });
    const parts = function* () {
      for (let at = 0; at < text.length; at += 100_000) {
        const chunk = text.slice(at, at + 100_000);
        yield `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
      }
      yield '0\r\n\r\n';
    };
    const sendUnsaid = () =>
      sendRaw(server.address, {
        method: 'POST',
        path: '/my/tools/execute',
        headers: {
          Authorization: `Bearer ${bob.tokens.agent}`,
          'Content-Type': 'application/json',
          'Transfer-Encoding': 'chunked',
        },
        body: parts(),
      });
    expect((await sendUnsaid()).status).toBe(200);
    expect((await sendUnsaid()).status).toBe(429);
    expect((await write(bob.tokens.agent, 100_000)).status).toBe(429);
  });
});

describe('[RE-4] the size of a body', () => {
  let server: TestServer;
  let ada: Person;
  beforeAll(async () => {
    server = await TestServer.start({ bodyBytes: 2_000, resultBodyBytes: 10_000, callBodyBytes: 20_000 });
    ada = await server.person('ada');
  });
  afterAll(() => server.close());

  const send = (path: string, bytes: number) =>
    server.send('POST', path, { token: ada.tokens.person, body: { padding: 'x'.repeat(bytes) } });

  it.each([
    ['/my/projects', 1_500, 400],
    ['/my/projects', 2_500, 413],
    ['/my/projects/PROJECT/chat/messages', 9_000, 400],
    ['/my/projects/PROJECT/chat/messages', 11_000, 413],
    ['/my/projects/PROJECT/tools/x/result', 11_000, 413],
    ['/my/tools/execute', 15_000, 400],
    ['/my/tools/execute', 25_000, 413],
    ['/my/approvals/x/approve', 15_000, 404],
    ['/my/approvals/x/approve', 25_000, 413],
    ['/my/approvals/x/confirm', 25_000, 413],
    ['/my/approvals/x/reject', 2_500, 413],
  ])('%s with %i bytes gets %i', async (path, bytes, status) => {
    const answered = await send(path.replace('PROJECT', ada.projectId), bytes);
    expect(answered.status).toBe(status);
    if (status === 413) expect(answered.body.code).toBe('BODY_TOO_LARGE');
  });

  it('is counted while it arrives if it was not declared', async () => {
    const chunk = 'x'.repeat(1_000);
    const parts = function* () {
      for (let i = 0; i < 5; i++) yield `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    };
    const answered = await sendRaw(server.address, {
      method: 'POST',
      path: '/my/projects',
      headers: {
        Authorization: `Bearer ${ada.tokens.person}`,
        'Content-Type': 'application/json',
        'Transfer-Encoding': 'chunked',
      },
      body: parts(),
    });
    expect(answered.status).toBe(413);
  });

  it('is not read at all without a token', async () => {
    const answered = await sendRaw(server.address, {
      method: 'POST',
      path: '/my/projects',
      headers: { 'Content-Type': 'application/json' },
      contentLength: 1_000_000_000, // and then nothing comes
    });
    expect(answered.status).toBe(401);
  });
});

describe('[RE-4] slow requests', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start({ headersTimeoutSeconds: 1, requestTimeoutSeconds: 2 });
  });
  afterAll(() => server.close());

  it.each([
    ['head', 'POST /sign-in HTTP/1.1\r\nHost: HOST\r\nContent-'],
    [
      'body',
      'POST /sign-in HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"co',
    ],
  ])('are ended when their %s does not come', async (_part, text) => {
    const { port, host } = new URL(server.address);
    const received = await new Promise<string>((resolve) => {
      let answer = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text.replace('HOST', host)));
      socket.on('data', (part) => {
        answer += part;
      });
      socket.on('error', () => {}).on('close', () => resolve(answer));
    });
    expect(received === '' || received.startsWith('HTTP/1.1 408')).toBe(true);
    if (received !== '')
      expect(JSON.parse(received.split('\r\n\r\n')[1] as string).code).toBe('REQUEST_TIMEOUT');
  });
});

describe('how often', () => {
  it('[RE-3] a token may call: 429 says when to come again, and runners are not held up by it', async () => {
    const server = await TestServer.start({ requestsPerSecond: 1 });
    const ada = await server.person('ada');
    const statuses: number[] = [];
    let last = await server.send('GET', '/my/projects', { token: ada.tokens.person });
    for (let i = 0; i < 50 && last.status === 200; i++) {
      statuses.push(last.status);
      last = await server.send('GET', '/my/projects', { token: ada.tokens.person });
    }
    expect(statuses.length).toBeGreaterThanOrEqual(5); // the burst is five times the rate
    expect([last.status, last.body.code, last.headers.get('retry-after')]).toEqual([
      429,
      'RATE_LIMITED',
      '1',
    ]);
    const path = `/my/projects/${ada.projectId}/tools/x/result`;
    const report = { token: ada.tokens.person, body: { status: 'completed', result: 1 } };
    expect((await server.send('POST', path, report)).status).toBe(404);
    expect((await server.send('GET', '/my/projects', { token: ada.tokens.front_end })).status).toBe(200);
    await server.close();
  });

  it('at overload new work gets 503 and when to come again; what decides and ends work is taken', async () => {
    const server = await TestServer.start({ maxBacklog: 10 });
    const ada = await server.person('ada');
    await server.runner(ada);
    const { store } = server.running;
    const call = (path: string) => {
      const body = { tool_name: 'write_file', tool_params: { path, content: 'x' } };
      return server.send('POST', '/my/tools/execute', { token: ada.tokens.agent, body });
    };
    const { approval_id } = (await call('a.md')).body;
    Object.defineProperty(store, 'backlog', { get: () => 10, configurable: true });
    const refused = await call('b.md');
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'UNAVAILABLE',
      '1',
    ]);
    const messages = `/my/projects/${ada.projectId}/chat/messages`;
    const said = await server.send('POST', messages, {
      token: ada.tokens.person,
      body: { content: 'hello' },
    });
    expect([said.status, said.body.code]).toEqual([503, 'UNAVAILABLE']);
    const reject = `/my/projects/${ada.projectId}/approvals/${approval_id}/reject`;
    expect((await server.send('POST', reject, { token: ada.tokens.person, body: {} })).status).toBe(200);
    Reflect.deleteProperty(store, 'backlog');
    expect((await call('c.md')).status).toBe(200);
    const { body } = await server.send('GET', '/my/tools/history', { token: ada.tokens.person });
    const paths = body.executions.map(
      ({ tool_params }: { tool_params: { path: string } }) => tool_params.path,
    );
    expect(paths).toEqual(['c.md', 'a.md']); // refused calls were not recorded
    await server.close();
  });

  it('an address may come without a valid token', async () => {
    const server = await TestServer.start({ anonymousRequestsPerSecond: 1 });
    const ada = await server.person('ada');
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++)
      statuses.push((await server.send('GET', '/my/projects', { token: 'wrong' })).status);
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(statuses[10]).toBe(429);
    expect((await server.send('POST', '/sign-in', { body: { code: 'x'.repeat(20) } })).status).toBe(429);
    // Somebody else behind the same address, with a token, is not held up.
    expect((await server.send('GET', '/my/projects', { token: ada.tokens.person })).status).toBe(200);
    await server.close();
  });
});
