import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeClock } from '../test/fake-clock.ts';
import { TestServer } from '../test/http-server.ts';
import { createClient } from './client.ts';
import { decide } from './decide.ts';

let server: TestServer;
let clock: FakeClock;

beforeEach(async () => {
  server = await TestServer.start();
  clock = new FakeClock();
});

afterEach(() => server.stop());

const setup = (device?: string) =>
  createClient({ baseUrl: server.baseUrl, token: () => 'secret', clock, random: () => 0, device });

const params = { project_id: 'p1', approval_id: 'a1' };
const approved = { success: true, approval_id: 'a1', status: 'approved' };
const digest = `sha256:${'0'.repeat(64)}`;

it('approves, and names the device', async () => {
  const outcome = decide(setup('phone'), { decision: 'approved', params, body: { digest } });
  const request = await server.next();
  request.answer(200, approved);
  expect(await outcome).toEqual({ outcome: 'recorded', response: approved });
  expect(request.url).toBe('/my/projects/p1/approvals/a1/approve');
  expect(JSON.parse(request.body)).toEqual({ digest, device: 'phone' });
});

it('rejects, with what the person said', async () => {
  const rejected = { success: true, approval_id: 'a1', status: 'rejected' };
  const outcome = decide(setup(), { decision: 'rejected', params, body: { message: 'use the other file' } });
  const request = await server.next();
  request.answer(200, rejected);
  expect(await outcome).toEqual({ outcome: 'recorded', response: rejected });
  expect(request.url).toBe('/my/projects/p1/approvals/a1/reject');
  expect(JSON.parse(request.body)).toEqual({ message: 'use the other file' });
});

it('[RN-1] retries 3 times, and 409 with the same decision is success', async () => {
  const outcome = decide(setup(), { decision: 'approved', params });
  for (const ms of [500, 1_000, 2_000]) {
    (await server.next()).destroy();
    await vi.waitUntil(() => clock.pending === 1 && clock.next === clock.monotonic() + ms);
    clock.advance(ms);
  }
  const standing = { status: 'approved', device: 'phone' };
  (await server.next()).refuse(409, 'ALREADY_DECIDED', { standing });
  expect(await outcome).toEqual({ outcome: 'already', standing });
});

it('[AP-2] returns the standing decision if another one came first', async () => {
  const outcome = decide(setup(), { decision: 'approved', params });
  const standing = { status: 'timeout', device: null };
  (await server.next()).refuse(409, 'ALREADY_DECIDED', { standing });
  expect(await outcome).toEqual({ outcome: 'overruled', standing });
});

it.each([
  [409, 'PREVIEW_PENDING'],
  [409, 'PREVIEW_CHANGED'],
  [404, 'NOT_FOUND'],
])('throws any other answer: %i %s', async (status, code) => {
  const outcome = decide(setup(), { decision: 'approved', params });
  (await server.next()).refuse(status, code);
  await expect(outcome).rejects.toMatchObject({ status, code });
});

it('can be aborted', async () => {
  const stop = new AbortController();
  const outcome = decide(setup(), { decision: 'approved', params }, { signal: stop.signal });
  await server.next();
  stop.abort(new Error('changed my mind'));
  await expect(outcome).rejects.toThrow('changed my mind');
});
