import { createServer, get, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { PortForward } from './port-forward.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A web server as an agent may start it, and the port at which it is forwarded. */
async function forwarded() {
  const seen: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.on('end', () => {
      seen.push({ url: incoming.url ?? '', headers: incoming.headers, body });
      response.setHeader('set-cookie', ['countersign_stream=evil; Path=/my', 'theirs=1']);
      response.end('page');
    });
  });
  server.on('upgrade', (incoming, socket, head) => {
    seen.push({ url: incoming.url ?? '', headers: incoming.headers, body: '' });
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n');
    socket.write(head);
    socket.on('error', () => {}).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const inside = (server.address() as AddressInfo).port;
  const dial = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(inside, '127.0.0.1', () => resolve(socket)).once('error', reject);
    });
  const forward = new PortForward(dial);
  const port = await forward.listen(0);
  cleanUps.push(
    () => server.close(),
    () => forward.close(),
    () => server.closeAllConnections(),
  );
  return { server, forward, port, seen };
}

const ask = (port: number, headers: Record<string, string> = {}, body?: string) =>
  new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; text: string }>(
    (resolve, reject) => {
      const asking = request({
        port,
        host: '127.0.0.1',
        path: '/a?b=c',
        method: body === undefined ? 'GET' : 'POST',
        headers,
      });
      asking.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      });
      asking.on('error', reject).end(body);
    },
  );

it('[RN-5] forwards requests and their bodies, several on one connection', async () => {
  const { port, seen } = await forwarded();
  expect(await ask(port)).toMatchObject({ status: 200, text: 'page' });
  expect(await ask(port, {}, 'x'.repeat(300_000))).toMatchObject({ status: 200, text: 'page' });
  expect(seen.map(({ url, body }) => [url, body.length])).toEqual([
    ['/a?b=c', 0],
    ['/a?b=c', 300_000],
  ]);
});

it('[RE-5] neither sends our cookie to the agent nor lets the agent set it', async () => {
  const { port, seen } = await forwarded();
  const cookie = 'mine=1; countersign_stream=token; COUNTERSIGN_x=2; other=3';
  const { headers } = await ask(port, { cookie });
  expect(seen[0]?.headers.cookie).toBe('mine=1; other=3');
  expect(headers['set-cookie']).toEqual(['theirs=1']);
  await ask(port, { cookie: 'countersign_stream=token' });
  expect(seen[1]?.headers.cookie).toBeUndefined();
});

it('[RE-5] answers on this machine’s own names alone', async () => {
  const { port, seen } = await forwarded();
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', '169.254.169.254'])
    expect((await ask(port, { host })).status).toBe(403);
  for (const host of [`localhost:${port}`, '127.0.0.1', 'app.localhost', `[::1]:${port}`])
    expect((await ask(port, { host })).status).toBe(200);
  expect(seen.length).toBe(4);
});

it('[RN-5] forwards WebSockets, without our cookie', async () => {
  const { port, seen } = await forwarded();
  const text = await new Promise<string>((resolve, reject) => {
    const asking = get({
      port,
      host: '127.0.0.1',
      headers: { connection: 'upgrade', upgrade: 'echo', cookie: 'countersign_stream=token; a=1' },
    });
    asking.on('error', reject).on('upgrade', (_, socket) => {
      socket.setEncoding('utf8').once('data', (said: string) => {
        socket.destroy();
        resolve(said);
      });
      socket.write('hello');
    });
  });
  expect(text).toBe('hello');
  expect(seen[0]?.headers.cookie).toBe('a=1');
});

it('uses another port if its own is taken, and reports when nothing listens', async () => {
  const taken = createTcpServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => taken.close());
  const forward = new PortForward(() => Promise.reject(new Error('nothing listens there')));
  cleanUps.push(() => forward.close());
  const { port } = taken.address() as AddressInfo;
  const other = await forward.listen(port);
  expect(other).not.toBe(port);
  expect(await ask(other)).toMatchObject({ status: 502, text: 'Countersign: nothing listens there\n' });
});
