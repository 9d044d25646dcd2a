import { createClient, openStream } from '@countersign/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Account } from '../connection/account.ts';
import { ServerFixture } from '../server-fixture.test-data.ts';
import { BridgedFetch } from '../webview/bridged-fetch.ts';
import { executeTool } from './execute-tool.ts';
import { FetchBridge } from './fetch-bridge.ts';
import { type FromPage, fromPageSchema, type ToPage } from './messages.ts';

let fixture: ServerFixture;
let account: Account;
beforeAll(async () => {
  fixture = await ServerFixture.start();
  account = (await fixture.signIn()).account;
});
afterAll(() => fixture.close());

/** The page and the extension, with nothing but messages between them. */
function setUp(signedIn = () => true, decideOutside?: (approvalId: string) => string | undefined) {
  const toPage: ToPage[] = [];
  const fromPage: FromPage[] = [];
  const bridge = new FetchBridge({
    client: () => (signedIn() ? account.client : undefined),
    ...(decideOutside && { decideOutside }),
    post: (message) => {
      const copy = structuredClone(message);
      toPage.push(copy);
      queueMicrotask(() => page.receive(copy));
    },
  });
  const page = new BridgedFetch((message) => {
    const parsed = fromPageSchema.parse(structuredClone(message));
    fromPage.push(parsed);
    if (parsed.type === 'fetch') void bridge.send(parsed);
    if (parsed.type === 'abort') bridge.abort(parsed.id);
  });
  const client = createClient({ baseUrl: '', token: () => 'none', fetch: page.fetch });
  return { bridge, page, client, toPage, fromPage };
}

describe('[UI-2] the chat page', () => {
  it('asks the server through the extension, without ever having the token', async () => {
    const { client, toPage, fromPage } = setUp();
    const { project } = await account.client.createProject({
      body: { name: 'one', workspace: fixture.workspace },
    });
    expect(await client.listProjects()).toMatchObject({ projects: [{ name: 'one' }] });
    const params = { project_id: project.project_id };
    await client.createSession({ params, body: { title: 'ё — ✓' } });
    expect(await client.listSessions({ params })).toMatchObject({ sessions: [{ title: 'ё — ✓' }] });
    const token = await account.client.connection.token();
    expect(JSON.stringify([toPage, fromPage])).not.toContain(token);
  });

  it('receives the event stream, and closes it', async () => {
    const { client, fromPage } = setUp();
    const states: string[] = [];
    const events: string[] = [];
    const stream = openStream({
      client,
      lastEventId: '0',
      onState: ({ status }) => states.push(status),
      onEvent: ({ event }) => events.push(event),
    });
    await vi.waitFor(() => expect(states).toContain('open'), 10_000);
    stream.close();
    await stream.closed;
    expect(fromPage.at(-1)).toMatchObject({ type: 'abort' });
    expect(states.at(-1)).toBe('closed');
  });

  it.each([
    ['POST', '/my/tokens'],
    ['GET', '/my/tokens'],
    ['PUT', '/my/policy'],
    ['POST', '/my/tools/execute'],
    ['POST', '/sign-in'],
    ['GET', '/my/stream?runner=me&workspace=x&capabilities='],
    ['GET', '/my/projects/../tokens'],
    ['GET', '//example.org/my/projects'],
    ['GET', '/metrics'],
    ['POST', '/my/projects/p/tools/t/result'],
  ])('may not ask for %s %s', async (method, path) => {
    const { page } = setUp();
    const response = await page.fetch(path, { method, ...(method !== 'GET' && { body: '{}' }) });
    expect([response.status, await response.json()]).toMatchObject([403, { code: 'FORBIDDEN' }]);
  });

  it('[RN-2] says where to decide a call that this machine must show itself, and sends nothing to the server', async () => {
    const asked: string[] = [];
    const { client } = setUp(
      () => true,
      (approvalId) => {
        asked.push(approvalId);
        return approvalId === 'here' ? 'Look at the dialog.' : undefined;
      },
    );
    const approve = (approval_id: string) =>
      client.approve({ params: { project_id: 'p', approval_id }, body: {} });
    await expect(approve('here')).rejects.toMatchObject({
      status: 403,
      code: 'FORBIDDEN',
      message: 'Look at the dialog.',
    });
    await expect(approve('anywhere')).rejects.toMatchObject({ status: 404 });
    // Rejecting needs no dialog, so this reaches the server.
    await expect(
      client.reject({ params: { project_id: 'p', approval_id: 'here' }, body: {} }),
    ).rejects.toMatchObject({ status: 404 });
    await expect(client.confirm({ params: { approval_id: 'here' }, body: {} })).rejects.toMatchObject({
      status: 403,
    });
    expect(asked).toEqual(['here', 'anywhere', 'here']);
  });

  it('gets an error while signed out', async () => {
    const { client } = setUp(() => false);
    await expect(client.listProjects()).rejects.toMatchObject({ status: 401 });
  });

  it('gets an error if the server does not respond', async () => {
    const toPage: ToPage[] = [];
    const nowhere = createClient({ baseUrl: 'http://127.0.0.1:1', token: () => 'x' });
    const bridge = new FetchBridge({ client: () => nowhere, post: (message) => toPage.push(message) });
    await bridge.send({ type: 'fetch', id: 1, method: 'GET', path: '/my/projects', headers: {}, body: null });
    expect(toPage).toEqual([{ type: 'failed', id: 1, problem: expect.any(String) }]);
    const page = new BridgedFetch(() =>
      queueMicrotask(() => page.receive({ type: 'failed', id: 1, problem: 'gone' })),
    );
    await expect(page.fetch('/my/projects')).rejects.toThrow('gone');
  });

  it('can abort a request, before and after the response has begun', async () => {
    const { page, bridge, fromPage } = setUp();
    const early = AbortSignal.abort(new Error('too late'));
    await expect(page.fetch('/my/projects', { signal: early })).rejects.toThrow('too late');
    const abort = new AbortController();
    const asked = page.fetch('/my/stream', { signal: abort.signal });
    const response = await asked;
    abort.abort(new Error('enough'));
    await expect(response.text()).rejects.toThrow('enough');
    expect(fromPage.at(-1)).toMatchObject({ type: 'abort' });
    const other = await page.fetch('/my/stream');
    await other.body?.cancel();
    bridge.abortAll();
    bridge.abort(99); // aborting an unknown request is harmless
    page.receive({ type: 'end', id: 99 });
    page.receive({ type: 'new-conversation' });
  });
});

describe('[UI-2] EXECUTE_TOOL by postMessage', () => {
  const parse = (message: object) =>
    fromPageSchema.parse(message) as Extract<FromPage, { type: 'EXECUTE_TOOL' }>;

  it('becomes a call on the server, which decides what follows', async () => {
    const message = parse({
      type: 'EXECUTE_TOOL',
      tool: 'write_file',
      params: { path: 'a.md', content: 'x' },
    });
    expect(await executeTool(account.client, message)).toMatchObject({
      success: true,
      status: 'awaiting_approval',
      approval_id: expect.any(String),
    });
  });

  it('answers with what the server refused', async () => {
    const message = parse({
      type: 'EXECUTE_TOOL',
      tool: 'execute_command',
      params: { command: 'rm', args: [] },
    });
    expect(await executeTool(account.client, message)).toMatchObject({
      success: false,
      error: expect.stringContaining('Command not allowed: rm'),
    });
    const other = parse({
      type: 'EXECUTE_TOOL',
      tool: 'read_file',
      session_id: 'none',
      params: { path: 'a' },
    });
    expect(await executeTool(account.client, other)).toMatchObject({ success: false, code: 'NOT_FOUND' });
  });

  it('has a shape; other messages are not understood', () => {
    expect(fromPageSchema.safeParse({ type: 'EXECUTE_TOOL' }).success).toBe(false);
    expect(fromPageSchema.safeParse({ type: 'command', command: 'workbench.action.quit' }).success).toBe(
      false,
    );
    expect(fromPageSchema.safeParse('EXECUTE_TOOL').success).toBe(false);
  });
});
