import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestServer } from '../testing/test-server.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-shutdown-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a server that stops', () => {
  it('[AP-10] ends its streams, leaves open calls open, and the next server continues with them', async () => {
    const database = join(folder, 'a.db');
    const first = await TestServer.start({ database });
    const ada = await first.person('ada');
    const stream = await first.listen('/my/stream', { token: ada.tokens.front_end });
    await stream.untilListening();
    const { body } = await first.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } },
    });
    const seen = await stream.until(({ event }) => event === 'tool.approval_request');
    await first.close();
    await stream.untilEnd();
    expect(stream.events.map(({ event }) => event)).toEqual([
      'tool.call',
      'tool.call',
      'tool.approval_request',
    ]);

    const second = await TestServer.start({ database });
    const again = await second.listen('/my/stream', {
      token: ada.tokens.front_end,
      headers: { 'last-event-id': String(seen.id) },
    });
    await again.untilListening();
    expect(again.events).toEqual([]); // nothing missed, nothing twice, nothing decided meanwhile
    const approval = await second.send('GET', `/my/approvals/${body.approval_id}`, {
      token: ada.tokens.person,
    });
    expect(approval.body.approval).toMatchObject({ status: 'pending', tool_id: body.tool_id });
    const decided = await second.send('POST', `/my/approvals/${body.approval_id}/confirm`, {
      token: ada.tokens.person,
      body: {},
    });
    expect(decided.body).toMatchObject({ success: true, status: 'approved' });
    await second.close();
  });

  it('lets a request that runs finish, with what is true', async () => {
    const database = join(folder, 'a.db');
    const server = await TestServer.start({ database, executeWaitMs: 1_000 });
    const ada = await server.person('ada');
    await server.runner(ada, { execute: () => undefined });
    const answer = server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: { tool_name: 'read_file', tool_params: { path: 'a.md' } },
    });
    await server.untilExecuting();
    await server.close();
    const { status, body } = await answer;
    expect([status, body.status, body.result]).toEqual([200, 'executing', null]);

    const next = await TestServer.start({ database });
    const runner = await next.runner(ada); // it gets its unsettled call from the state (EX-7)
    await runner.stream.until(({ event }) => event === 'tool.result');
    const found = await next.send('GET', `/my/tools/${body.tool_id}`, { token: ada.tokens.person });
    expect(found.body.execution.status).toBe('completed');
    await next.close();
  });

  it('answers who still comes on an open connection, and hurries who does not go', async () => {
    const server = await TestServer.start({ shutdownSeconds: 1, requestTimeoutSeconds: 60 });
    const { port, host } = new URL(server.address);
    const head = `POST /sign-in HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`;
    const socket = connect(Number(port), '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    socket.write(head);
    await server.send('GET', '/healthz'); // by now the server has accepted the other request
    const ended = new Promise<void>((resolve) => {
      socket.on('error', () => {}).once('close', () => resolve());
    });
    await server.close();
    await ended;
  });

  it('does not wait for a connection on which nothing was asked', async () => {
    const server = await TestServer.start({ shutdownSeconds: 60, headersTimeoutSeconds: 60 });
    const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    await server.send('GET', '/healthz'); // by now the server knows of it
    const ended = new Promise<void>((resolve) => {
      socket.on('error', () => {}).once('close', () => resolve());
    });
    await server.close();
    await ended;
  });

  it('stops twice as well as once', async () => {
    const server = await TestServer.start();
    await Promise.all([server.running.close(), server.running.close()]);
    await server.close();
  });
});
