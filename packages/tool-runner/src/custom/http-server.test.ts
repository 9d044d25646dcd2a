import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { ToolServersFixture } from './tool-servers-fixture.test-data.ts';

// Real processes in real isolation, on a machine that may be busy.

/** MCP servers over HTTP, with the official server package and real sockets. */

let fixture: ToolServersFixture;
const servers: Server[] = [];
beforeEach(() => {
  fixture = new ToolServersFixture();
});
afterEach(async () => {
  await fixture.remove();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function mcpServer(): McpServer {
  const server = new McpServer({ name: 'remote', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  return server;
}

const headers = { authorization: 'Bearer top-secret-token' };

it('[RN-8] is reached at the address that the person configured, with their headers', async () => {
  const heard: IncomingMessage[] = [];
  const handler = toNodeHandler(createMcpHandler(mcpServer));
  const address = await listen((request, response) => {
    heard.push(request);
    if (request.headers.authorization === headers.authorization)
      void handler(request as NodeIncomingMessageLike, response);
    else response.writeHead(401).end();
  });
  fixture.configure({ remote: { url: `${address}/mcp`, headers }, stranger: { url: `${address}/mcp` } });
  await fixture.servers.start();
  expect(fixture.status('remote')).toMatchObject({ state: 'ready', network: true, runs: `${address}/mcp` });
  expect(await fixture.call('remote__add', { a: 2, b: 3 })).toMatchObject({ success: true, content: '5' });
  expect(heard.length).toBeGreaterThan(1);
  expect(fixture.status('stranger').state).toBe('failed');
  const told = JSON.stringify([fixture.servers.status, fixture.logger.lines, fixture.servers.tools]);
  expect(told).not.toContain('top-secret');
  expect(fixture.executor.preview({ tool: 'remote__add', params: {} }).preview).toEqual({
    kind: 'custom',
    server: 'remote',
    tool: 'add',
    summary: 'Adds two numbers.',
    runs: `${address}/mcp`,
    network: true,
    hints: [],
  });
});

it('[RN-8] is not followed to another address: no header of the person goes there', async () => {
  const stolen: unknown[] = [];
  const elsewhere = await listen((request, response) => {
    stolen.push(request.headers);
    response.writeHead(200).end();
  });
  const address = await listen((_request, response) => {
    response.writeHead(307, { location: `${elsewhere}/mcp` }).end();
  });
  fixture.configure({ moved: { url: `${address}/mcp`, headers } });
  await fixture.servers.start();
  expect(fixture.status('moved').state).toBe('failed');
  expect(stolen).toEqual([]);
});

it('[RN-8] that answers without end, or is not there, fails alone', async () => {
  const endless = await listen((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(1024 * 1024)));
    };
    response.on('drain', write).on('error', () => {});
    write();
  });
  fixture.configure({ endless: { url: endless }, gone: { url: 'http://127.0.0.1:9/mcp' } });
  await fixture.servers.start();
  expect(fixture.servers.status.map(({ name, state }) => [name, state])).toEqual([
    ['endless', 'failed'],
    ['gone', 'failed'],
  ]);
  expect(fixture.status('gone').problem).toBeTruthy();
});

it('[RN-8] that goes away fails the call, and is tried again', async () => {
  const handler = toNodeHandler(createMcpHandler(mcpServer));
  let isUp = true;
  const address = await listen((request, response) => {
    if (isUp) void handler(request as NodeIncomingMessageLike, response);
    else request.socket.destroy();
  });
  fixture.configure({ remote: { url: address } });
  await fixture.servers.start();
  isUp = false;
  expect(await fixture.failure('remote__add', { a: 1, b: 1 })).toMatch(/^TOOL_SERVER_FAILED/);
  isUp = true;
  await fixture.until(() => fixture.status('remote').state === 'ready', 'its next life');
  expect(await fixture.call('remote__add', { a: 1, b: 1 })).toMatchObject({ content: '2' });
});
