import { parseEvent } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, signToken, TestServer } from '../testing/test-server.ts';
import type { ReceivedEvent, TestStream } from '../testing/test-stream.ts';

let server: TestServer;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000, streamBufferBytes: 300_000 });
  ada = await server.person('ada');
  bob = await server.person('bob', '/bobs');
  await server.runner(ada);
});
afterAll(() => server.close());

const read = (person: Person, path = 'a.md') =>
  server.send('POST', '/my/tools/execute', {
    token: person.tokens.person,
    body: { tool_name: 'read_file', tool_params: { path }, session_id: person.sessionId },
  });
const idsOf = (stream: TestStream) =>
  stream.events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
const isResultOf = (toolId: string) => (event: ReceivedEvent) =>
  event.event === 'tool.result' && (event.data as { tool_id: string }).tool_id === toolId;

async function listen(
  person: Person,
  more: { lastEventId?: string; query?: string } = {},
): Promise<TestStream> {
  const { lastEventId, query = '' } = more;
  const stream = await server.listen(`/my/projects/${person.projectId}/chat/stream${query}`, {
    token: person.tokens.front_end,
    headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
  });
  await stream.untilListening();
  return stream;
}

describe('a stream', () => {
  it('[EV-4] is a plain event stream, with headers against caching, buffering and compression', async () => {
    const stream = await listen(ada);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    expect(stream.headers['content-encoding']).toBeUndefined();
    expect(stream.retry).toBe('1000');
  });

  it('[EV-1] carries what the protocol says, and ids that count', async () => {
    const stream = await listen(ada);
    const { body } = await read(ada);
    await stream.until(isResultOf(body.tool_id));
    await stream.until(({ event }) => event === 'tool.result_ack');
    expect(stream.events.map(({ event }) => event)).toEqual([
      'tool.call',
      'tool.call',
      'tool.result',
      'tool.result_ack',
    ]);
    // [DA-4] the acknowledgement carries the head of the audit chain
    expect(stream.events.at(-1)?.data).toMatchObject({
      audit_head: expect.stringMatching(/^\d+:[0-9a-f]{64}$/),
    });
    for (const { event, data } of stream.events) expect(parseEvent(event, data)).toMatchObject({ ok: true });
    const ids = idsOf(stream);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it('[EV-2] resumes after the client’s last event: nothing missed, nothing twice', async () => {
    const whole = await listen(ada);
    const first = await listen(ada);
    const one = (await read(ada, 'one.md')).body.tool_id;
    await first.until(isResultOf(one));
    first.close();
    const lastEventId = String(idsOf(first).at(-1));
    const two = (await read(ada, 'two.md')).body.tool_id;
    const second = await listen(ada, { lastEventId });
    const three = (await read(ada, 'three.md')).body.tool_id;
    await second.until(isResultOf(three));
    await whole.until(isResultOf(three));
    const upTo = idsOf(whole).at(-1) as number;
    const seen = [...idsOf(first), ...idsOf(second)].filter((id) => id <= upTo);
    expect(seen).toEqual(idsOf(whole));
    expect(second.events.some(isResultOf(two))).toBe(true);
  });

  it('[EV-2] takes the id from the query too', async () => {
    const before = await listen(ada);
    const { tool_id } = (await read(ada)).body;
    await before.until(isResultOf(tool_id));
    const again = await listen(ada, { query: '?last_event_id=0' });
    await again.until(isResultOf(tool_id));
    expect(idsOf(again)[0]).toBeLessThan(idsOf(before)[0] as number);
  });

  it.each(['999999999', 'not a number', '-1', '1e3'])(
    '[EV-2] says so when it does not know the id %s',
    async (lastEventId) => {
      const stream = await listen(ada, { lastEventId });
      expect(stream.events[0]).toMatchObject({ event: 'stream.reset', id: undefined });
    },
  );

  it('[EV-2] starts with what is pending for a client that comes without an id', async () => {
    const { body } = await server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: {
        tool_name: 'write_file',
        tool_params: { path: 'a.md', content: 'x' },
        session_id: ada.sessionId,
      },
    });
    const stream = await listen(ada);
    expect(stream.events).toMatchObject([
      { event: 'tool.approval_request', id: undefined, data: { approval_id: body.approval_id } },
    ]);
    await server.send('POST', `/my/tools/${body.tool_id}/cancel`, { token: ada.tokens.person, body: {} });
  });

  it('[RE-3] has nothing of another person', async () => {
    const bobs = await server.listen('/my/stream', { token: bob.tokens.person });
    await bobs.untilListening();
    const adas = await listen(ada);
    const { tool_id } = (await read(ada)).body;
    await adas.until(isResultOf(tool_id));
    const path = `/my/projects/${bob.projectId}/sessions`;
    await server.send('POST', path, { token: bob.tokens.person, body: {} });
    expect(bobs.events).toEqual([]);
  });

  it('[RE-3] of a runner belongs to its person: another person may use the same runner id, and gets nothing of the first', async () => {
    const bobs = await server.listen('/my/stream?runner=runner-1&workspace=/workspace', {
      token: bob.tokens.runner,
    });
    expect(bobs.status).toBe(200);
    await bobs.untilListening();
    expect((await read(ada)).body).toMatchObject({ status: 'completed' });
    expect(bobs.events).toEqual([]);
    bobs.close();
  });

  it('[EV-3] of a runner needs a token that may run', async () => {
    const query = '?runner=runner-3&workspace=/workspace';
    expect((await server.listen(`/my/stream${query}`, { token: ada.tokens.front_end })).status).toBe(403);
    expect((await server.listen('/my/stream?runner=runner-3', { token: ada.tokens.runner })).status).toBe(
      400,
    );
  });

  it('[EV-3] of a runner names the workspace of a project that has none', async () => {
    const eve = await server.person('eve', null);
    const own = await server.runner(eve, { runnerId: 'eves', workspace: '/eve' });
    const { body } = await server.send('GET', '/my/projects', { token: eve.tokens.person });
    expect(body.projects).toMatchObject([{ workspace: '/eve' }]);
    own.close();
  });

  it('[EV-4] lets 200 listeners hear the same, each once', async () => {
    const streams = await Promise.all(Array.from({ length: 200 }, () => listen(ada)));
    const { tool_id } = (await read(ada)).body;
    await Promise.all(streams.map((stream) => stream.until(isResultOf(tool_id))));
    const heard = streams.map((stream) => stream.events.filter(isResultOf(tool_id)).length);
    expect(heard).toEqual(Array(200).fill(1));
    for (const stream of streams) stream.close();
  });

  it('[EV-4] of a client that does not read is cut off, and other streams continue', async () => {
    const zoe = await server.person('zoe', '/zoes');
    const idle = await server.runner(zoe, { runnerId: 'zoes', workspace: '/zoes', execute: () => undefined });
    const [slow, quick] = [await listen(zoe), await listen(zoe)];
    slow.pause();
    const { tool_id } = await idle.nextSignal(() =>
      server.running.engine.executor.submit({
        userId: 'zoe',
        project: { id: zoe.projectId, user_id: 'zoe', name: 'p', workspace: '/zoes', created_at: 1 },
        sessionId: zoe.sessionId,
        toolName: 'read_file',
        toolParams: { path: 'a.md' },
        toolCallId: 'call_0',
        agent: 'Agent',
        requestedBy: 'test',
        context: { message_id: null, run_id: null, step: null, excerpt: '' },
      }),
    );
    const open = server.running.engine.streams.size;
    const path = `/my/projects/${zoe.projectId}/tools/${tool_id}/progress`;
    const body = { output: { stream: 'stdout', chunk: 'x'.repeat(32_000) } };
    // Sends until the sockets and the server's buffer are full. The quick client reads all the time.
    for (let sent = 0; sent < 2_000 && server.running.engine.streams.size === open; sent++) {
      expect((await server.send('POST', path, { token: zoe.tokens.runner, body })).status).toBe(200);
    }
    expect(server.running.engine.streams.size).toBe(open - 1);
    slow.resume();
    await slow.untilEnd();
    expect(quick.ended).toBe(false);
  });

  it('[EV-2] [EV-4] of a client that was away long brings all it missed, though that is more than the buffer', async () => {
    const eve = await server.person('eve', '/eves');
    const data = { project_id: eve.projectId, runner_id: 'r', workspace: '/eves', state: 'connected' };
    const timestamp = new Date(0).toISOString();
    // Some 6 MB, twenty times the buffer.
    const capabilities = Array.from({ length: 60 }, () => 'x'.repeat(50));
    const event = { event: 'runner.changed', data: { ...data, capabilities, timestamp } } as never;
    const missed = 2_000;
    await server.store.write(function* (tx) {
      yield* tx.update('projects', eve.projectId, { name: 'busy' });
      const events = Array.from({ length: missed }, () => ({ projectId: eve.projectId, event }));
      tx.announce('eve', { events });
    });
    const stream = await listen(eve, { lastEventId: '0' });
    const ids = idsOf(stream);
    const [first = 0] = ids;
    expect([stream.ended, ids]).toEqual([false, Array.from({ length: missed }, (_, i) => first + i)]);
    stream.close();
  });

  it('[EV-2] [EV-4] starts with all that is pending, though that is more than the buffer', async () => {
    const eve = await server.person('eve', '/eves');
    const { engine, store } = server.running;
    const project = await store.read((tx) => tx.get('projects', eve.projectId));
    if (!project) throw new Error('There is no project');
    const content = '"\u2028ä\u{1f600}'.repeat(800);
    const ids: (string | null)[] = [];
    for (let place = 0; place < 100; place += 1) {
      const { execution } = await engine.executor.submit({
        userId: 'eve',
        project,
        sessionId: `of-eve-${place}`,
        toolName: 'write_file',
        toolParams: { path: `${place}.md`, content },
        toolCallId: `call-${place}`,
        agent: 'Agent',
        requestedBy: 'run',
        context: { message_id: null, run_id: null, step: null, excerpt: 'please' },
      });
      ids.push(execution.approval_id);
    }
    const streams = await Promise.all([listen(eve), listen(eve), listen(eve)]);
    for (const { events } of streams) {
      expect(events.map(({ event, data }) => [event, (data as { approval_id: string }).approval_id])).toEqual(
        ids.map((id) => ['tool.approval_request', id]),
      );
      for (const { event, data } of events) {
        expect(parseEvent(event, data)).toMatchObject({ ok: true });
        expect(data).toMatchObject({ tool_params: { content }, remaining_ms: expect.any(Number) });
      }
    }
  });

  it('[RE-5] ends when its token is revoked, and the token is worth nothing from then on', async () => {
    const made = await server.send('POST', '/my/tokens', {
      token: ada.tokens.person,
      body: { name: 'phone', scope: 'front_end' },
    });
    const { token, details } = made.body;
    const stream = await server.listen('/my/stream', { token });
    await stream.untilListening();
    expect((await server.send('GET', '/my/projects', { token })).status).toBe(200);
    const revoked = await server.send('DELETE', `/my/tokens/${details.token_id}`, {
      token: ada.tokens.person,
    });
    expect(revoked.body).toEqual({ success: true });
    await stream.untilEnd();
    expect((await server.send('GET', '/my/projects', { token })).status).toBe(401);
    expect((await server.listen('/my/stream', { token })).status).toBe(401);
  });
});

describe('the heartbeat of a stream', () => {
  it('[EV-4] is sent regularly, and ends a stream whose token has expired', async () => {
    const quick = await TestServer.start({ streamHeartbeatSeconds: 1 });
    const person = await quick.person('ada');
    const expires = await signToken('ada', 'front_end', { expiresIn: '2s' });
    const [short, long] = [
      await quick.listen('/my/stream', { token: expires }),
      await quick.listen('/my/stream', { token: person.tokens.front_end }),
    ];
    await long.untilComment('heartbeat');
    await short.untilEnd();
    expect(long.ended).toBe(false);
    await quick.close();
  });

  it('[RE-4] is refused to one person who has many open, and not to others', async () => {
    const small = await TestServer.start({ maxStreamsOfPerson: 2 });
    const eve = await small.person('eve');
    const ada = await small.person('ada');
    const { person, front_end, runner } = eve.tokens;
    for (const token of [person, front_end])
      await (await small.listen('/my/stream', { token })).untilListening();
    expect((await small.listen('/my/stream', { token: runner })).status).toBe(503);
    expect((await small.listen('/my/stream', { token: ada.tokens.person })).status).toBe(200);
    await small.close();
  });

  it('is refused to more listeners than there may be', async () => {
    const small = await TestServer.start({ maxStreams: 1 });
    const { tokens } = await small.person('ada');
    const first = await small.listen('/my/stream', { token: tokens.person });
    await first.untilListening();
    expect((await small.listen('/my/stream', { token: tokens.person })).status).toBe(503);
    await small.close();
  });
});
