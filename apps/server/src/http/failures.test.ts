import { connect } from 'node:net';
import { errorBodySchema } from '@countersign/protocol';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { TestServer } from '../testing/test-server.ts';

describe('what fails on our side', () => {
  it('[RE-3] is reported with only an id, under which the log has the details', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
    const server = await TestServer.start({}, { logger });
    const { tokens } = await server.person('ada');
    await server.send('GET', '/my/projects', { token: tokens.person }); // the server caches the token from here on
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
    await server.close(); // resolves once every request has ended
    expect(lines.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
