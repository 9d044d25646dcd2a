import type { CountersignEvent } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Arrivals } from '../test/arrivals.ts';
import { FakeClock } from '../test/fake-clock.ts';
import { type Exchange, TestServer } from '../test/http-server.ts';
import { cancelEvent, encodeCancel, encodeEvent, encodeJson, encodeReset } from '../test/sse-encoder.ts';
import { createClient } from './client.ts';
import { type EventStream, openStream, type StreamOptions, type StreamState } from './event-stream.ts';

let server: TestServer;
let clock: FakeClock;
let opened: EventStream[];

beforeEach(async () => {
  server = await TestServer.start();
  clock = new FakeClock();
  opened = [];
});

afterEach(async () => {
  for (const stream of opened) stream.close();
  await server.stop();
});

interface Delivery {
  readonly event: CountersignEvent;
  readonly id: string | undefined;
}

function setup(options: Partial<StreamOptions> = {}) {
  const events = new Arrivals<Delivery>();
  const states = new Arrivals<StreamState>();
  const stream = openStream({
    baseUrl: server.baseUrl,
    token: () => 'secret',
    onEvent: (event, id) => events.add({ event, id }),
    onState: states.add,
    clock,
    random: () => 0,
    ...options,
  } as StreamOptions);
  opened.push(stream);
  const reasons = () =>
    events.all.map(({ event }) => ('reason' in event.data ? event.data.reason : event.event));
  const enters = (status: StreamState['status']) => states.nextWhere((state) => state.status === status);
  return { stream, events, states, reasons, enters };
}

/** Loses a connection that has been open for 10 s, so that the client reconnects at once. */
async function loseAfterLong(connection: Exchange): Promise<void> {
  clock.advance(10_000);
  connection.end();
  await connection.closed;
}

describe('an open stream', () => {
  it('delivers events in order, each with its id', async () => {
    const { stream, events, enters } = setup();
    const connection = await server.next();
    connection.stream(encodeCancel('one', 1) + encodeCancel('two', 3));

    expect(await events.next()).toEqual({ event: cancelEvent('one'), id: '1' });
    expect(await events.next()).toEqual({ event: cancelEvent('two'), id: '3' });
    await enters('open');
    expect(stream.state).toEqual({ status: 'open' });
    expect(stream.lastEventId).toBe('3');
    expect(connection).toMatchObject({
      method: 'GET',
      url: '/my/stream',
      headers: { authorization: 'Bearer secret', accept: 'text/event-stream' },
    });
    expect(connection.headers['last-event-id']).toBeUndefined();
  });

  it('accepts a client, a project and an event id to resume from', async () => {
    const client = createClient({ baseUrl: server.baseUrl, token: () => 'of the client' });
    setup({ client, projectId: 'p/1', lastEventId: '41' });
    const connection = await server.next();
    expect(connection).toMatchObject({
      url: '/my/projects/p%2F1/chat/stream',
      headers: { authorization: 'Bearer of the client', 'last-event-id': '41' },
    });
  });

  it('[EV-3] says which runner it is', async () => {
    setup({ projectId: 'p1', runner: { id: 'r1', workspace: '/home/a b', capabilities: ['lsp', 'git'] } });
    const { url } = await server.next();
    expect(url).toBe('/my/projects/p1/chat/stream?runner=r1&workspace=%2Fhome%2Fa+b&capabilities=lsp%2Cgit');
    setup({ runner: { id: 'r1', workspace: '/a', capabilities: [], instance: 'journal-1' } });
    expect((await server.next()).url).toContain('&instance=journal-1');
  });

  it('reads an event that comes byte by byte', async () => {
    const { events } = setup();
    const connection = (await server.next()).stream();
    for (const byte of new TextEncoder().encode(
      encodeCancel('naïve 👍\r\n\r\nid: 5', 1).replaceAll('\n', '\r\n'),
    )) {
      connection.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await events.next()).toEqual({ event: cancelEvent('naïve 👍\r\n\r\nid: 5'), id: '1' });
  });

  it('skips what it does not know and goes on', async () => {
    const unknown = vi.fn();
    const { events, stream } = setup({ onUnknown: unknown });
    (await server.next()).stream(
      encodeJson('tool.invented', { a: 1 }, 1) +
        encodeJson('tool.cancel', { reason: 7 }, 2) +
        encodeEvent({ name: 'tool.cancel', data: 'not JSON', id: '3' }) +
        encodeCancel('known', 4),
    );
    expect(await events.next()).toEqual({ event: cancelEvent('known'), id: '4' });
    expect(unknown.mock.calls.map(([{ name, data }]) => [name, data])).toEqual([
      ['tool.invented', '{"a":1}'],
      ['tool.cancel', '{"reason":7}'],
      ['tool.cancel', 'not JSON'],
    ]);
    expect(unknown.mock.calls[0]?.[0].problem).toBe('unknown event "tool.invented"');
    expect(stream.lastEventId).toBe('4');
  });

  it('outlives a listener that throws', async () => {
    const onListenerError = vi.fn();
    const delivered = new Arrivals<string | undefined>();
    const broken = new Error('broken');
    setup({
      onListenerError,
      onEvent: (_, id) => {
        delivered.add(id);
        if (id === '1') throw broken;
      },
    });
    (await server.next()).stream(encodeCancel('one', 1) + encodeCancel('two', 2));
    expect([await delivered.next(), await delivered.next()]).toEqual(['1', '2']);
    expect(onListenerError.mock.calls).toEqual([[broken]]);
  });

  it('logs a listener’s error if there is no onError', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { stream } = setup({
      onState: () => {
        throw new Error('broken');
      },
    });
    await server.next();
    stream.close();
    await stream.closed;
    expect(log).toHaveBeenCalledWith(new Error('broken'));
    log.mockRestore();
  });
});

describe('[EV-2] a stream that is lost', () => {
  it('resumes from the last id at once', async () => {
    const { events, states, enters } = setup();
    const first = await server.next();
    first.stream(encodeCancel('one', 1));
    await events.next();
    await loseAfterLong(first);

    const second = await server.next();
    expect(second.headers['last-event-id']).toBe('1');
    second.stream(encodeCancel('two', 2));
    await events.nextWhere(({ id }) => id === '2');
    await enters('waiting');
    await enters('open');
    expect(states.all.map(({ status }) => status)).toEqual([
      'connecting',
      'open',
      'waiting',
      'connecting',
      'open',
    ]);
    expect(states.all[2]).toMatchObject({ retryInMs: 0, error: { code: 'UNAVAILABLE', status: 0 } });
  });

  it('delivers nothing twice, also when the server sends it again', async () => {
    const { events, reasons } = setup();
    const first = await server.next();
    first.stream(encodeCancel('one', 9) + encodeCancel('two', 10) + encodeCancel('again', 10));
    await events.nextWhere(({ id }) => id === '10');
    await loseAfterLong(first);

    (await server.next()).stream(
      encodeCancel('again', 9) + encodeCancel('again', 10) + encodeCancel('three', 11),
    );
    await events.nextWhere(({ id }) => id === '11');
    expect(reasons()).toEqual(['one', 'two', 'three']);
  });

  it('delivers events without an id as they come, and keeps the last id', async () => {
    const { events, stream, reasons } = setup();
    (await server.next()).stream(encodeCancel('one', 1) + encodeCancel('delta') + encodeCancel('delta'));
    await events.next();
    await events.next();
    await events.next();
    expect(reasons()).toEqual(['one', 'delta', 'delta']);
    expect(stream.lastEventId).toBe('1');
  });

  it('resumes from an id that came without an event', async () => {
    const { stream } = setup();
    const first = await server.next();
    first.stream('id: 57\n\n');
    await vi.waitUntil(() => stream.lastEventId === '57');
    await loseAfterLong(first);
    expect((await server.next()).headers['last-event-id']).toBe('57');
  });

  it('drops an event that had not come whole', async () => {
    const { events, reasons } = setup();
    const first = await server.next();
    first.stream(encodeCancel('one', 1) + encodeCancel('two', 2).slice(0, -1));
    await events.next();
    await loseAfterLong(first);
    (await server.next()).stream(encodeCancel('two', 2));
    await events.next();
    expect(reasons()).toEqual(['one', 'two']);
  });

  it('starts over after stream.reset, and passes it to the listener', async () => {
    const { events, stream, reasons } = setup({ lastEventId: '900' });
    const first = await server.next();
    first.stream(encodeReset('too old') + encodeCancel('pending') + encodeCancel('two', 2));
    await events.nextWhere(({ id }) => id === '2');
    expect(reasons()).toEqual(['too old', 'pending', 'two']);
    expect(stream.lastEventId).toBe('2');
  });

  it('asks without an id when nothing came after stream.reset', async () => {
    const { events } = setup({ lastEventId: '900' });
    const first = await server.next();
    first.stream(encodeReset('too old'));
    await events.next();
    await loseAfterLong(first);
    expect((await server.next()).headers['last-event-id']).toBeUndefined();
  });

  it('takes the id of stream.reset itself, however small', async () => {
    const { events, stream } = setup({ lastEventId: '900' });
    (await server.next()).stream(encodeReset('restored', 5) + encodeCancel('six', 6));
    await events.nextWhere(({ id }) => id === '6');
    expect(stream.lastEventId).toBe('6');
  });
});

describe('trying again', () => {
  const waitingMs = async (enters: (status: 'waiting') => Promise<StreamState>) => {
    const state = await enters('waiting');
    return state.status === 'waiting' ? state.retryInMs : undefined;
  };

  it('comes at once, then after 1, 2, 4 … s, at most 20', async () => {
    const { enters } = setup();
    const pauses: (number | undefined)[] = [];
    for (let round = 0; round < 8; round += 1) {
      (await server.next()).destroy();
      const ms = await waitingMs(enters);
      pauses.push(ms);
      clock.advance(ms ?? 0);
    }
    expect(pauses).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000]);
  });

  it('spreads over half as much again, and never takes longer than 30 s', async () => {
    const { enters } = setup({ random: () => 1 });
    const pauses: (number | undefined)[] = [];
    for (let round = 0; round < 7; round += 1) {
      (await server.next()).refuse(503, 'UNAVAILABLE');
      const ms = await waitingMs(enters);
      pauses.push(ms);
      clock.advance(ms ?? 0);
    }
    expect(pauses).toEqual([0, 1_500, 3_000, 6_000, 12_000, 24_000, 30_000]);
  });

  it('comes at once again when a connection has been good for a while', async () => {
    const { enters } = setup();
    (await server.next()).destroy();
    (await server.next()).destroy();
    await enters('waiting');
    expect(await waitingMs(enters)).toBe(1_000);
    clock.advance(1_000);
    const good = (await server.next()).stream();
    await enters('open');
    await loseAfterLong(good);
    expect(await waitingMs(enters)).toBe(0);
  });

  it('is immediate when the person asks for it, and resets the back-off', async () => {
    const { stream, enters } = setup();
    for (const ms of [0, 1_000, 2_000]) {
      (await server.next()).destroy();
      expect(await waitingMs(enters)).toBe(ms);
      if (ms < 2_000) clock.advance(ms);
    }
    stream.retryNow();
    (await server.next()).destroy();
    expect(await waitingMs(enters)).toBe(0);
    (await server.next()).destroy();
    expect(await waitingMs(enters)).toBe(1_000);
    stream.retryNow();
    const good = (await server.next()).stream();
    await enters('open');
    stream.retryNow(); // has no effect on an open stream
    expect(stream.state).toEqual({ status: 'open' });
    await loseAfterLong(good);
    expect(await waitingMs(enters)).toBe(0);
  });

  it('comes at once when the server answers another request of the same client', async () => {
    const client = createClient({ baseUrl: server.baseUrl, token: () => 'secret', clock });
    const { enters, stream } = setup({ client });
    const ask = async (answer: (exchange: Exchange) => void) => {
      const asked = client.listRunners({}, { retry: { times: 0 } }).catch(() => {});
      answer(await server.next());
      await asked;
    };
    for (const ms of [0, 1_000, 2_000]) {
      (await server.next()).destroy();
      expect(await waitingMs(enters)).toBe(ms);
      if (ms < 2_000) clock.advance(ms);
    }
    await ask((exchange) => exchange.refuse(503, 'UNAVAILABLE'));
    expect(stream.state).toMatchObject({ status: 'waiting' });
    await ask((exchange) => exchange.answer(200, { success: true, runners: [] }));
    (await server.next()).refuse(503, 'UNAVAILABLE');
    expect(await waitingMs(enters)).toBe(4_000); // the back-off was not reset
    await ask((exchange) => exchange.answer(200, { success: true, runners: [] }));
    expect(stream.state).toMatchObject({ status: 'waiting' }); // the server asks us to wait
    stream.close();
    await stream.closed;
    expect(client.connection.onSuccess?.size).toBe(0);
  });

  it('does not hurry when the server takes connections only to drop them', async () => {
    const { enters } = setup();
    const pauses: (number | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      (await server.next()).stream().end();
      const ms = await waitingMs(enters);
      pauses.push(ms);
      clock.advance(ms ?? 0);
    }
    expect(pauses).toEqual([0, 1_000, 2_000]);
  });

  it('waits as long as the server hinted, also the first time', async () => {
    const { enters } = setup();
    const first = (await server.next()).stream('retry: 3000\n\n');
    await enters('open');
    await loseAfterLong(first);
    expect(await waitingMs(enters)).toBe(3_000);
    clock.advance(3_000);
    (await server.next()).destroy();
    expect(await waitingMs(enters)).toBe(3_000);
  });

  it('waits as long as Retry-After says', async () => {
    const { enters } = setup();
    (await server.next()).refuse(429, 'RATE_LIMITED', {}, { 'retry-after': '60' });
    expect(await waitingMs(enters)).toBe(60_000);
  });

  it('follows a response that is not a stream', async () => {
    const { enters } = setup();
    (await server.next()).answer(200, '<html>', { 'content-type': 'text/html' });
    expect(await enters('waiting')).toMatchObject({
      retryInMs: 0,
      error: { code: 'INTERNAL', message: 'The server answered with text/html instead of an event stream.' },
    });
  });

  it('follows an event without end', async () => {
    const { enters } = setup();
    const connection = (await server.next()).stream();
    connection.write('data: '.padEnd(1_100_000, 'x'));
    expect(await enters('waiting')).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    await connection.closed;
  });

  it('follows a token that could not be had this time', async () => {
    const token = vi.fn(() => 'secret');
    token.mockImplementationOnce(() => {
      throw new Error('offline');
    });
    const { enters } = setup({ token });
    expect(await enters('waiting')).toMatchObject({ error: { code: 'UNAUTHENTICATED', status: 0 } });
    (await server.next()).stream();
    await enters('open');
  });
});

describe('[EV-4] the watchdog', () => {
  it('counts a connection as dead after 45 s of silence', async () => {
    const { enters } = setup();
    const first = (await server.next()).stream();
    await enters('open');
    clock.advance(44_999);
    expect(server.requests.all).toHaveLength(1);
    clock.advance(1);
    expect(await enters('waiting')).toMatchObject({ retryInMs: 0, error: { code: 'REQUEST_TIMEOUT' } });
    await first.closed;
    await server.next();
  });

  it('is content with a heartbeat', async () => {
    const { events, enters, states } = setup();
    const connection = (await server.next()).stream();
    await enters('open');
    for (let beat = 1; beat <= 5; beat += 1) {
      clock.advance(30_000);
      connection.write(`: heartbeat\n\n${encodeCancel('so that the test knows it arrived')}`);
      await events.next();
    }
    expect(states.all.map(({ status }) => status)).toEqual(['connecting', 'open']);
  });

  it('also watches a server that does not answer at all', async () => {
    const { enters } = setup();
    const first = await server.next();
    clock.advance(45_000);
    expect(await enters('waiting')).toMatchObject({ error: { code: 'REQUEST_TIMEOUT' } });
    await first.closed;
  });
});

describe('a stream that is refused', () => {
  it('asks for a newer token once, and continues with it', async () => {
    const token = vi.fn((refused?: string) => (refused === undefined ? 'old' : 'new'));
    const { enters, states } = setup({ token });
    (await server.next()).refuse(401, 'UNAUTHENTICATED');
    const second = await server.next();
    second.stream();
    await enters('open');
    expect(second.headers.authorization).toBe('Bearer new');
    expect(states.all.map(({ status }) => status)).toEqual(['connecting', 'open']);
  });

  it('closes when the newer token is refused too', async () => {
    let made = 0;
    const { stream } = setup({ token: () => `token ${++made}` });
    (await server.next()).refuse(401, 'UNAUTHENTICATED');
    (await server.next()).refuse(401, 'UNAUTHENTICATED');
    expect(await stream.closed).toMatchObject({
      status: 'closed',
      why: 'unauthenticated',
      error: { status: 401, code: 'UNAUTHENTICATED' },
    });
    expect(stream.state).toEqual(await stream.closed);
    expect({ made, timers: clock.pending }).toEqual({ made: 2, timers: 0 });
  });

  it.each([
    [400, 'INVALID_QUERY'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
  ])('closes at a %i', async (status, code) => {
    const { stream } = setup();
    (await server.next()).refuse(status, code);
    expect(await stream.closed).toMatchObject({ status: 'closed', why: 'refused', error: { status, code } });
    expect(clock.pending).toBe(0);
  });

  it('closes without asking when no project can have that id', async () => {
    const { stream } = setup({ projectId: '..' });
    expect(await stream.closed).toMatchObject({ why: 'refused', error: { code: 'NOT_FOUND' } });
    expect(server.requests.all).toEqual([]);
  });
});

describe('closing', () => {
  const stopped = { status: 'closed', why: 'stopped' };

  it('leaves nothing open', async () => {
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, 'removeEventListener');
    const { stream, enters } = setup({ signal: stop.signal });
    const connection = (await server.next()).stream();
    await enters('open');
    stop.abort();
    expect(await stream.closed).toEqual(stopped);
    await connection.closed;
    expect(clock.pending).toBe(0);
    expect(removed).toHaveBeenCalled();
  });

  it('works while connecting', async () => {
    const { stream } = setup();
    const connection = await server.next();
    stream.close();
    expect(await stream.closed).toEqual(stopped);
    await connection.closed;
    expect(clock.pending).toBe(0);
  });

  it('works while waiting', async () => {
    const { stream, enters } = setup();
    (await server.next()).destroy();
    (await server.next()).destroy();
    await enters('waiting');
    await enters('waiting');
    stream.close();
    expect(await stream.closed).toEqual(stopped);
    expect(clock.pending).toBe(0);
  });

  it('works twice, and before anything began', async () => {
    const { stream, states } = setup({ signal: AbortSignal.abort() });
    stream.close();
    stream.close();
    expect(await stream.closed).toEqual(stopped);
    expect(states.all).toEqual([stopped]);
    expect(server.requests.all).toEqual([]);
  });

  it('from inside a listener delivers nothing more', async () => {
    const delivered: (string | undefined)[] = [];
    const { stream } = setup({
      onEvent: (_, id) => {
        delivered.push(id);
        stream.close();
      },
    });
    (await server.next()).stream(encodeCancel('one', 1) + encodeCancel('two', 2));
    expect(await stream.closed).toEqual(stopped);
    expect({ delivered, last: stream.lastEventId }).toEqual({ delivered: ['1'], last: '1' });
  });
});

it('works with the real clock', async () => {
  const { events, stream } = setup({ clock: undefined, random: undefined } as object);
  (await server.next()).stream(encodeCancel('one', 1)).end();
  await events.next();
  (await server.next()).stream(encodeCancel('two', 2));
  await events.next();
  stream.close();
  expect(await stream.closed).toEqual({ status: 'closed', why: 'stopped' });
});
