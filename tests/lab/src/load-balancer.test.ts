import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { LoadBalancer } from './load-balancer.ts';
import { freePort } from './server-process.ts';

const noFaults = { lost: 0, unanswered: 0, duplicated: 0, delayed: 0, delayMs: 0 };
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** A node that answers with its name and records its requests. */
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

async function balancerFor(...ports: number[]): Promise<LoadBalancer> {
  const balancer = await LoadBalancer.open();
  balancer.use(ports);
  opened.unshift(balancer);
  return balancer;
}

const get = async (url: string): Promise<string> => (await fetch(url)).text();
const post = (url: string): Promise<string> =>
  fetch(url, { method: 'POST', body: 'x' }).then(
    (response) => response.text(),
    () => 'no answer',
  );

it('sends requests to the nodes in turn, with the Host header of the client', async () => {
  const [one, two] = [await node('one'), await node('two')];
  const { url, given } = await balancerFor(one.port, two.port);
  expect([await get(`${url}/a`), await get(`${url}/b`), await get(`${url}/c`)]).toEqual([
    'one',
    'two',
    'one',
  ]);
  expect(one.asked[0]).toBe(`GET /a ${new URL(url).host} `);
  expect([given.get(one.port), given.get(two.port)]).toEqual([2, 1]);
});

it('skips a node that is down, and answers 503 when all are', async () => {
  const one = await node('one');
  const gone = await freePort();
  const { url } = await balancerFor(gone, one.port);
  expect([await get(url), await get(url)]).toEqual(['one', 'one']);
  const none = await balancerFor(gone);
  const answer = await fetch(none.url, { method: 'POST', body: 'x' });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'UNAVAILABLE']);
});

it('never sends a request to a second node once one has begun to take it', async () => {
  const broken = await node('broken', (_request, response) => response.destroy());
  const other = await node('other');
  const { url } = await balancerFor(broken.port, other.port);
  expect(await post(url)).toBe('no answer');
  expect(other.asked).toEqual([]);
});

it('loses, duplicates and delays requests until its faults are switched off', async () => {
  const one = await node('one');
  const balancer = await balancerFor(one.port);
  balancer.faults = { ...noFaults, lost: 1 };
  expect(await post(balancer.url)).toBe('no answer');
  expect(one.asked).toHaveLength(0);
  balancer.faults = { ...noFaults, unanswered: 1 };
  expect(await post(balancer.url)).toBe('no answer');
  expect(one.asked).toHaveLength(1);
  balancer.faults = { ...noFaults, duplicated: 1 };
  expect(await post(balancer.url)).toBe('one');
  await expect.poll(() => one.asked.length).toBe(3);
  expect(await get(balancer.url)).toBe('one'); // reads are not duplicated
  expect(one.asked).toHaveLength(4);
  balancer.faults = { ...noFaults, delayed: 1, delayMs: 300 };
  const startedAt = performance.now();
  expect(await post(balancer.url)).toBe('one');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(290);
  balancer.stopFaults();
  expect(balancer.faults).toEqual(noFaults);
});

it('passes a stream on as it arrives, and cuts it', async () => {
  const streaming = await node('', (_request, response) => response.write('first'));
  const balancer = await balancerFor(streaming.port);
  const reader = (await fetch(balancer.url)).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first');
  balancer.cut();
  await expect(reader?.read()).rejects.toThrow();
});
