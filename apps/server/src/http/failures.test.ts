import { connect } from 'node:net';
import { Engine, systemClock } from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import { errorBodySchema } from '@countersign/protocol';
import { openSqliteStore } from '@countersign/store';
import { LocalBus, projectRow } from '@countersign/testing';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { signToken, TestServer, testSecret } from '../testing/test-server.ts';
import { createServer } from './create-server.ts';

describe('what fails on our side', () => {
  it('[RE-3] is told with an id and nothing more, and is in the log under that id', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
    const server = await TestServer.start({}, { logger });
    const { tokens } = await server.person('ada');
    await server.send('GET', '/my/projects', { token: tokens.person }); // the token is known from here on
    await server.store.close();
    const { status, body, text } = await server.send('GET', '/my/projects', { token: tokens.person });
    expect(status).toBe(500);
    expect(errorBodySchema.parse(body)).toMatchObject({ code: 'INTERNAL', request_id: expect.any(String) });
    expect(text).not.toMatch(/at .*:\d+:\d+|sqlite|closed/i);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        request_id: body.request_id,
        err: expect.objectContaining({ stack: expect.any(String) }),
      }),
    );
    await server.close();
  });

  it('[OB-2] is not that a client goes away in the middle of its request', async () => {
    const lines: string[] = [];
    const logger = pino({ base: null }, { write: (line) => void lines.push(line) });
    const server = await TestServer.start({}, { logger });
    const { tokens } = await server.person('ada');
    await server.send('GET', '/my/projects', { token: tokens.person });
    const { hostname, port, host } = new URL(server.address);
    const served = new Promise((resolve) => server.running.app.server.once('request', resolve));
    const socket = connect(Number(port), hostname);
    const head = [
      'POST /my/projects HTTP/1.1',
      `Host: ${host}`,
      `Authorization: Bearer ${tokens.person}`,
      'Content-Type: application/json',
      'Content-Length: 100',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n{`);
    await served;
    socket.destroy();
    const left = () =>
      new Promise<number>((resolve) => {
        server.running.app.server.getConnections((_error, count) => resolve(count));
      });
    await expect.poll(left).toBeLessThanOrEqual(1);
    await server.close(); // every request has had its end
    expect(lines.filter((line) => line.includes('"level":50'))).toEqual([]);
  });

  it('[AG-1] is no agent: a message is refused with what is missing', async () => {
    const bus = new LocalBus();
    const store = await openSqliteStore({ path: ':memory:', bus });
    await store.write(function* (tx) {
      yield* tx.insert('projects', projectRow({ id: 'project', user_id: 'ada' }));
    });
    const masker = new SecretMasker({ digest: () => '' });
    const engine = new Engine({ store, bus, clock: systemClock, masker, onError: () => {} });
    const config = loadConfig({ env: {}, flags: { port: 0, database: ':memory:' } });
    const secret = new TextEncoder().encode(testSecret);
    const app = await createServer({ engine, store, bus, config, secret, logger: pino({ level: 'silent' }) });
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${address}/my/projects/project/chat/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await signToken('ada', 'person')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ content: 'hello' }),
    });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      503,
      'MODEL_NOT_CONFIGURED',
    ]);
    expect((await fetch(`${address}/metrics`)).status).toBe(404);
    await app.close();
    engine.close();
  });
});
