import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { officialClients } from '../testing/mcp-clients.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

let postgres: TemporaryPostgres;
let servers: readonly TestServer[];
let ada: Person;
/** Sends requests to the two servers in turn. */
const balancer = createServer((incoming, response) => {
  turn += 1;
  const { port } = new URL((servers[turn % 2] as TestServer).address);
  const { method, url: path, headers } = incoming;
  const host = `127.0.0.1:${port}`;
  const passed = request(
    { host: '127.0.0.1', port, method, path, headers: { ...headers, host } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  passed.on('error', () => response.destroy());
  response.once('close', () => passed.destroy());
  incoming.pipe(passed);
});
let turn = 0;

beforeAll(async () => {
  postgres = await temporaryPostgres();
  const database = await postgres.createDatabase();
  const settings = { database, streamHeartbeatSeconds: 1 };
  servers = [await TestServer.start(settings), await TestServer.start(settings)];
  ada = await (servers[0] as TestServer).person('ada');
  await (servers[0] as TestServer).runner(ada, {
    execute: () => ({ status: 'completed', result: { success: true, content: 'hello' } }),
  });
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  balancer.closeAllConnections();
  balancer.close();
  await Promise.all(servers.map((server) => server.close()));
  await postgres.stop();
});

it.each(Object.entries(officialClients))(
  '[UI-5] %s: a session needs no balancer that keeps it on one server',
  async (_name, connect) => {
    const { port } = balancer.address() as AddressInfo;
    let changes = 0;
    const client = await connect({
      address: `http://127.0.0.1:${port}`,
      token: ada.tokens.agent,
      onToolsChanged: () => {
        changes += 1;
      },
    });
    for (let i = 0; i < 6; i += 1) {
      expect((await client.listTools()).map(({ name }) => name)).toContain('read_file');
      const answer = await client.call('read_file', { path: `${i}.md` });
      expect(answer.structuredContent).toMatchObject({
        status: 'success',
        result: { success: true, content: 'hello' },
      });
      expect(answer.isError ?? false).toBe(false);
    }
    await (servers[0] as TestServer).running.engine.policies.replace('ada', {
      version: 1,
      rules: [{ id: 'no', tool: 'delete_file', effect: 'deny', why: 'never' }],
    });
    await expect.poll(() => changes).toBeGreaterThan(0);
    await (servers[1] as TestServer).running.engine.policies.replace('ada', { version: 1, rules: [] });
    await client.close();
  },
);
