import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../e2e/src/server-process.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { Random } from './random.ts';

const fair = { lost: 0, unanswered: 0, duplicated: 0, delayed: 0, delayMs: 0 };
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** A node that says its name, and counts what it was asked. */
async function node(name: string, listener?: RequestListener): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${request.headers.host} ${body}`);
      if (listener) listener(request, response);
      else response.end(name);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

async function proxyTo(...ports: number[]): Promise<FaultyProxy> {
  const proxy = await FaultyProxy.open(ports, new Random(1));
  opened.unshift(proxy);
  return proxy;
}

const get = async (url: string): Promise<string> => (await fetch(url)).text();
const post = (url: string): Promise<string> =>
  fetch(url, { method: 'POST', body: 'x' }).then(
    (response) => response.text(),
    () => 'no answer',
  );

it('asks the nodes in turn, each by its own address', async () => {
  const [one, two] = [await node('one'), await node('two')];
  const { url } = await proxyTo(one.port, two.port);
  expect([await get(`${url}/a`), await get(`${url}/b`), await get(`${url}/c`)]).toEqual([
    'one',
    'two',
    'one',
  ]);
  expect(one.asked[0]).toBe(`GET /a 127.0.0.1:${one.port} `);
});

it('passes a node over that is not there, and says so when none is', async () => {
  const one = await node('one');
  const gone = await freePort();
  const { url } = await proxyTo(gone, one.port);
  expect([await get(url), await get(url)]).toEqual(['one', 'one']);
  const none = await proxyTo(gone);
  const answer = await fetch(none.url, { method: 'POST', body: 'x' });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'UNAVAILABLE']);
});

it('never sends a request to a second node once one has begun to take it', async () => {
  const broken = await node('broken', (_request, response) => response.destroy());
  const other = await node('other');
  const { url } = await proxyTo(broken.port, other.port);
  expect(await post(url)).toBe('no answer');
  expect(other.asked).toEqual([]);
});

it('loses requests and answers, doubles and delays them, until the weather clears up', async () => {
  const one = await node('one');
  const proxy = await proxyTo(one.port);
  proxy.weather = { ...fair, lost: 1 };
  expect(await post(proxy.url)).toBe('no answer');
  expect(one.asked).toHaveLength(0);
  proxy.weather = { ...fair, unanswered: 1 };
  expect(await post(proxy.url)).toBe('no answer');
  expect(one.asked).toHaveLength(1);
  proxy.weather = { ...fair, duplicated: 1 };
  expect(await post(proxy.url)).toBe('one');
  await expect.poll(() => one.asked.length).toBe(3);
  expect(await get(proxy.url)).toBe('one'); // what only reads is not doubled
  expect(one.asked).toHaveLength(4);
  proxy.weather = { ...fair, delayed: 1, delayMs: 300 };
  const startedAt = performance.now();
  expect(await post(proxy.url)).toBe('one');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(290);
  proxy.clearUp();
  expect(proxy.weather).toEqual(fair);
});

it('passes a stream on as it comes, and cuts it', async () => {
  const streaming = await node('', (_request, response) => response.write('first'));
  const proxy = await proxyTo(streaming.port);
  const reader = (await fetch(proxy.url)).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first');
  proxy.cut();
  await expect(reader?.read()).rejects.toThrow();
});
