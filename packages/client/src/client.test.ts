import { routes } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '../test/fake-clock.ts';
import { TestServer } from '../test/http-server.ts';
import { ApiError } from './api-error.ts';
import { type ClientOptions, createClient } from './client.ts';

let server: TestServer;
let clock: FakeClock;

beforeEach(async () => {
  server = await TestServer.start();
  clock = new FakeClock();
});

afterEach(() => server.stop());

const setup = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: server.baseUrl, token: () => 'secret', clock, random: () => 0, ...options });

const callParams = { project_id: 'p1', tool_id: 't1' };
const resultAnswer = { success: true, tool_id: 't1', status: 'completed', message: 'received' };
const nothingPending = { success: true, approvals: [] };

describe('a call', () => {
  it('sends method, path, token and body, and gives the parsed answer', async () => {
    const answer = setup().submitResult({
      params: callParams,
      body: { status: 'completed', result: { success: true } },
    });
    const request = await server.next();
    request.answer(200, { ...resultAnswer, newer_field: 1 });

    expect(await answer).toEqual(resultAnswer);
    expect(request).toMatchObject({
      method: 'POST',
      url: '/my/projects/p1/tools/t1/result',
      body: '{"status":"completed","result":{"success":true}}',
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    });
  });

  it('sends the query, without what is undefined', async () => {
    const answer = setup().history({ query: { tool_name: 'read file', limit: 5, cursor: undefined } });
    const request = await server.next();
    request.answer(200, { success: true, executions: [], next_cursor: null });

    expect(await answer).toEqual({ success: true, executions: [], next_cursor: null });
    expect(request.url).toBe('/my/tools/history?tool_name=read+file&limit=5');
  });

  it('sends an empty object where the body may be left out, and no body where there is none', async () => {
    const client = setup();
    const cancelled = client.cancelExecution({ params: { tool_id: 't1' } });
    const withBody = await server.next();
    withBody.answer(200, { success: true, tool_id: 't1', status: 'cancelled' });
    await cancelled;
    expect(withBody.body).toBe('{}');

    const listed = client.listApprovals();
    const withoutBody = await server.next();
    withoutBody.answer(200, nothingPending);
    await listed;
    expect(withoutBody).toMatchObject({ method: 'GET', body: '' });
    expect(withoutBody.headers['content-type']).toBeUndefined();
  });

  it.each([
    ['a/b?c#d', '/my/tools/a%2Fb%3Fc%23d'],
    ['..%2f', '/my/tools/..%252f'],
    ['é', '/my/tools/%C3%A9'],
  ])('encodes the path parameter %j', async (toolId, url) => {
    const answer = setup().getExecution({ params: { tool_id: toolId } });
    const request = await server.next();
    request.refuse(404, 'NOT_FOUND');
    await expect(answer).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(request.url).toBe(url);
  });

  it.each(['', '.', '..'])(
    'does not send the path parameter %j, which would lead elsewhere',
    async (toolId) => {
      const answer = setup().getExecution({ params: { tool_id: toolId } });
      await expect(answer).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
      expect(server.requests.all).toEqual([]);
    },
  );

  it('finds a server below a path', async () => {
    const answer = setup({ baseUrl: `${server.baseUrl}/countersign/` }).listApprovals();
    const request = await server.next();
    request.answer(200, nothingPending);
    await answer;
    expect(request.url).toBe('/countersign/my/approvals');
  });

  it('needs no token to sign in', async () => {
    const token = vi.fn(() => 'secret');
    const answer = setup({ token }).signIn({ body: { code: 'x'.repeat(16) } });
    const request = await server.next();
    request.answer(200, { success: true, token: 'new', expires_at: '2026-01-02T03:04:05Z' });
    expect(await answer).toMatchObject({ token: 'new' });
    expect(request.headers.authorization).toBeUndefined();
    expect(token).not.toHaveBeenCalled();
  });

  it('uses the fetch it was given', async () => {
    const fetch = vi.fn(async () => Response.json(nothingPending));
    expect(await setup({ fetch }).listApprovals()).toEqual(nothingPending);
    expect(fetch).toHaveBeenCalledOnce();
  });
});

describe('an error answer', () => {
  const failing = async (answer: (request: Awaited<ReturnType<TestServer['next']>>) => void) => {
    const failure = setup()
      .listApprovals({}, { retry: { times: 0 } })
      .catch((error: unknown) => error);
    answer(await server.next());
    const error = await failure;
    expect(error).toBeInstanceOf(ApiError);
    return error as ApiError;
  };

  it('[RE-3] is thrown with status, code, message and what else the server said', async () => {
    const error = await failing((request) =>
      request.refuse(
        409,
        'ALREADY_DECIDED',
        { standing: { status: 'rejected', device: 'phone' }, tool_id: 't1', request_id: 'r1' },
        { 'retry-after': '7' },
      ),
    );
    expect({ ...error, message: error.message }).toEqual({
      name: 'ApiError',
      status: 409,
      code: 'ALREADY_DECIDED',
      message: 'Because of ALREADY_DECIDED.',
      standing: { status: 'rejected', device: 'phone' },
      toolId: 't1',
      requestId: 'r1',
      retryAfterMs: 7000,
      hasUnknownCode: false,
    });
  });

  it.each([
    [400, 'INVALID_BODY'],
    [401, 'UNAUTHENTICATED'],
    [429, 'RATE_LIMITED'],
    [502, 'UNAVAILABLE'],
    [418, 'INTERNAL'],
  ])('of status %i that is not ours gets the code %s', async (status, code) => {
    const error = await failing((request) =>
      request.answer(status, '<html>', { 'retry-after': 'Fri, 02 Jan' }),
    );
    expect(error).toMatchObject({ status, code, retryAfterMs: undefined });
    expect(error.message).toBe(`The server answered with status ${status}.`);
  });

  it('keeps its message when its code is newer than this client', async () => {
    const error = await failing((request) => request.refuse(403, 'FROM_THE_FUTURE'));
    expect(error).toMatchObject({ status: 403, code: 'FORBIDDEN', message: 'Because of FROM_THE_FUTURE.' });
  });

  it.each([
    ['is not JSON', 'hello', 'it is not JSON'],
    ['has another shape', { success: true, approvals: 1 }, 'approvals: invalid input: expected array'],
  ])('is made of a 200 that %s', async (_, body, problem) => {
    const error = await failing((request) => request.answer(200, body));
    expect(error).toMatchObject({ status: 200, code: 'INTERNAL' });
    expect(error.message).toContain(`The server's answer to GET /my/approvals is not as agreed: ${problem}`);
  });

  it('is made of a connection that breaks', async () => {
    const error = await failing((request) => request.destroy());
    expect(error).toMatchObject({ status: 0, code: 'UNAVAILABLE' });
    expect(error.message).toMatch(
      /^The server did not answer: fetch failed \(.+\)\. Try again in a moment\.$/,
    );
  });

  it('is made of an answer that breaks off', async () => {
    const error = await failing((request) => request.stream('{"success":').destroy());
    expect(error).toMatchObject({ status: 0, code: 'UNAVAILABLE' });
  });

  it('is made of a redirect, which ours never sends', async () => {
    const error = await failing((request) => request.answer(307, '', { location: '/elsewhere' }));
    expect(error).toMatchObject({ status: 0, code: 'UNAVAILABLE' });
    expect(server.requests.all).toHaveLength(1);
  });
});

describe('the token', () => {
  it('is asked for again when it was refused, and the call sent once more', async () => {
    const token = vi.fn((refused?: string) => (refused === undefined ? 'old' : 'new'));
    const answer = setup({ token }).listApprovals();
    (await server.next()).refuse(401, 'UNAUTHENTICATED');
    const second = await server.next();
    second.answer(200, nothingPending);

    expect(await answer).toEqual(nothingPending);
    expect(second.headers.authorization).toBe('Bearer new');
    expect(token.mock.calls).toEqual([[undefined], ['old']]);
  });

  it('is not sent again when there is no newer one', async () => {
    const answer = setup().listApprovals();
    (await server.next()).refuse(401, 'UNAUTHENTICATED');
    await expect(answer).rejects.toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    expect(server.requests.all).toHaveLength(1);
  });

  it('that cannot be had is a clear error', async () => {
    const token = () => Promise.reject(new Error('the key ring is locked'));
    await expect(setup({ token }).listApprovals()).rejects.toMatchObject({
      status: 0,
      code: 'UNAUTHENTICATED',
      message: 'There is no token to sign in with: the key ring is locked. Sign in again.',
    });
  });

  it('that never arrives does not extend the timeout of the call', async () => {
    const answer = setup({ token: () => new Promise(() => {}) }).listApprovals({}, { timeoutMs: 50 });
    clock.advance(50);
    await expect(answer).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });
});

describe('a call that takes too long', () => {
  it('ends after its time, and the connection with it', async () => {
    const answer = setup().listApprovals({}, { timeoutMs: 2_000 });
    const request = await server.next();
    clock.advance(2_000);
    await expect(answer).rejects.toMatchObject({
      status: 0,
      code: 'REQUEST_TIMEOUT',
      message: 'The server did not answer within 2 s. Try again in a moment.',
    });
    await request.closed;
    expect(clock.pending).toBe(0);
  });

  it('also ends when the answer has begun', async () => {
    const failure = setup()
      .listApprovals()
      .catch((error: unknown) => error);
    const request = (await server.next()).stream('{');
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    expect(await failure).toMatchObject({ code: 'REQUEST_TIMEOUT' });
    await request.closed;
  });

  it('also ends when an error answer has begun', async () => {
    const failure = setup()
      .listApprovals()
      .catch((error: unknown) => error);
    const request = (await server.next()).begin(500, '{"success":');
    await new Promise((resolve) => setTimeout(resolve, 50)); // nothing outside the client shows its status, so wait
    clock.advance(30_000);
    expect(await failure).toMatchObject({ status: 0, code: 'REQUEST_TIMEOUT' });
    await request.closed;
  });

  it('ends with the reason of its signal, and leaves nothing behind', async () => {
    const stop = new AbortController();
    const answer = setup().listApprovals({}, { signal: stop.signal });
    const request = await server.next();
    const reason = new Error('the person left the page');
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await request.closed;
    expect(clock.pending).toBe(0);
  });

  it('lets go of the signal when it has ended', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const answer = setup().listApprovals({}, { signal, retry: { times: 1 } });
    (await server.next()).destroy();
    await pause(500);
    (await server.next()).answer(200, nothingPending);
    await answer;
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    );
    expect(clock.pending).toBe(0);
  });

  it('is not sent when its signal has been aborted before', async () => {
    const answer = setup().listApprovals({}, { signal: AbortSignal.abort(new Error('too late')) });
    await expect(answer).rejects.toThrow('too late');
    expect(server.requests.all).toEqual([]);
  });
});

describe('a call that is to be retried', () => {
  const result = { params: callParams, body: { status: 'completed', result: 1 } } as const;

  it('[EX-6] is sent again until there is an answer, after 0.5, 1 and 2 s', async () => {
    const answer = setup().submitResult(result, { retry: { times: 3 } });
    (await server.next()).destroy();
    await pause(500);
    (await server.next()).refuse(503, 'UNAVAILABLE');
    await pause(1_000);
    (await server.next()).refuse(429, 'RATE_LIMITED', {}, { 'retry-after': '5' });
    await pause(5_000);
    (await server.next()).answer(200, resultAnswer);
    expect(await answer).toEqual(resultAnswer);
    expect(clock.pending).toBe(0);
  });

  it('gives the last failure when the tries are used up', async () => {
    const answer = setup().submitResult(result, { retry: { times: 1 } });
    (await server.next()).refuse(500, 'INTERNAL');
    await pause(500);
    (await server.next()).refuse(503, 'UNAVAILABLE');
    await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('accepts any answer that would not change', async () => {
    const answer = setup().submitResult(result, { retry: { times: 3 } });
    (await server.next()).refuse(409, 'RESULT_CONFLICT');
    await expect(answer).rejects.toMatchObject({ code: 'RESULT_CONFLICT' });
  });

  it('does not wait for minutes when the server asks for them', async () => {
    const answer = setup().listApprovals({}, { retry: { times: 3 } });
    (await server.next()).refuse(429, 'RATE_LIMITED', {}, { 'retry-after': '61' });
    await expect(answer).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 61_000 });
  });

  it('stops waiting when it is aborted', async () => {
    const stop = new AbortController();
    const answer = setup().listApprovals({}, { retry: { times: 3 }, signal: stop.signal });
    (await server.next()).destroy();
    await vi.waitUntil(() => clock.pending === 1);
    stop.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });

  it('is what only reads, without being told, when the server asks for a moment or a connection breaks', async () => {
    const answer = setup().listApprovals();
    (await server.next()).destroy();
    await pause(500);
    (await server.next()).refuse(503, 'UNAVAILABLE', {}, { 'retry-after': '1' });
    await pause(1_000);
    (await server.next()).answer(200, nothingPending);
    expect(await answer).toEqual(nothingPending);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['it says nothing about a moment', 503, {}],
    ['it asks for more than a moment', 429, { 'retry-after': '6' }],
    ['it failed', 500, {}],
  ])('is not what only reads, without being told, when %s', async (_what, status, headers) => {
    const answer = setup().listApprovals();
    (await server.next()).refuse(status, 'UNAVAILABLE', {}, headers);
    await expect(answer).rejects.toMatchObject({ status });
    expect(clock.pending).toBe(0);
  });

  it('is not what changes something, without being told', async () => {
    const answer = setup().submitResult(result);
    (await server.next()).destroy();
    await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE', isInterrupted: true });
    expect(server.requests.all).toHaveLength(1);
  });

  it('is sent only once if repeating would do it twice, even for a caller without types', async () => {
    const options = { retry: { times: 3 } } as object;
    const answer = setup().executeTool({ body: { tool_name: 'git_push' } }, options);
    (await server.next()).destroy();
    await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(server.requests.all).toHaveLength(1);
  });
});

it('has a method for every route that answers once, and nothing else but its connection', () => {
  const expected = Object.entries(routes)
    .filter(([, route]) => route.response !== 'stream')
    .map(([name]) => name);
  expect(Object.keys(setup())).toEqual([...expected, 'connection']);
});

/** Waits for the pause after a failed attempt, checks that it lasts at least `ms`, and ends it. */
async function pause(ms: number): Promise<void> {
  await vi.waitUntil(() => clock.pending === 1 && clock.next === clock.monotonic() + ms);
  clock.advance(ms);
}
