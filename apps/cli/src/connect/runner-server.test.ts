import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type Client, createClient } from '@countersign/client';
import { CountersignError } from '@countersign/protocol';
import { runnerApiOverClient, ScopedToken } from '@countersign/runner-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../approvals/approval-fixture.test-data.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';

/** A server that answers as it is told, over real HTTP, and remembers what it was sent. */
let server: Server;
let client: Client;
let answers: Record<string, { status: number; body: unknown }>;
let sent: { path: string; token: string; body: Record<string, unknown> }[];
beforeEach(async () => {
  answers = {};
  sent = [];
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const path = request.url ?? '';
      sent.push({
        path,
        token: String(request.headers.authorization),
        body: text === '' ? {} : JSON.parse(text),
      });
      const last = path.split('/').at(-1) ?? '';
      const { status, body } = answers[last] ?? { status: 404, body: refusal('NOT_FOUND') };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => 'mine', device: 'here' });
});
afterEach(() => server.close());

const refusal = (code: string, more = {}) => ({
  success: false,
  error: `refused with ${code}`,
  code,
  ...more,
});
const ok = (body: object) => ({ status: 200, body: { success: true, ...body } });
const fixture = new URL(
  '../../../../packages/protocol/fixtures/bodies/getExecution.response.json',
  import.meta.url,
);
const api = () =>
  runnerApiOverClient({
    runner: client,
    person: client,
    projectId: 'p',
    runnerId: 'r',
    instance: 'journal',
  });
const codeOf = (failing: Promise<unknown> | undefined) =>
  (failing ?? Promise.resolve()).then(
    () => 'no error',
    (error: unknown) =>
      error instanceof CountersignError ? `${error.code}: ${error.message}` : String(error),
  );

describe('the runner speaks to the server', () => {
  it('[EX-6] claims with digest and attempt, and keeps the server’s code and words when refused', async () => {
    answers.start = ok({ tool_id: 't', status: 'executing', attempt: 2 });
    await api().startToolExecution?.('t', { digest: null, attempt: 2 });
    expect(sent).toMatchObject([
      {
        path: '/my/projects/p/tools/t/start',
        body: { digest: null, runner_id: 'r', attempt: 2, instance: 'journal' },
      },
    ]);
    answers.start = { status: 409, body: refusal('CLAIM_REFUSED') };
    expect(await codeOf(api().startToolExecution?.('t', { digest: null, attempt: 2 }))).toBe(
      'CLAIM_REFUSED: refused with CLAIM_REFUSED',
    );
  });

  it('[EX-7] sends results of every kind, and keeps the server’s code when it takes none', async () => {
    const report = { execution_time_ms: 2, attempt: 1 };
    const error = { code: 'X', message: 'x', recoverable: false };
    answers.result = ok({ tool_id: 't', status: 'completed', message: 'm', audit_head: 'h' });
    expect(
      await api().sendToolResult('t', { ...report, status: 'completed', result: 1, undo_id: 'u' }),
    ).toMatchObject({ audit_head: 'h' });
    await api().sendToolResult('t', { ...report, status: 'failed', error, result: 2 });
    await api().sendToolResult('t', { ...report, status: 'cancelled' });
    const about = { ...report, runner_id: 'r', instance: 'journal' };
    expect(sent.map(({ body }) => body)).toEqual([
      { status: 'completed', result: 1, ...about, undo_id: 'u' },
      { status: 'failed', error, result: 2, ...about },
      { status: 'cancelled', ...about },
    ]);
    const result = { ...report, status: 'completed', result: 1 } as const;
    answers.result = { status: 409, body: refusal('RESULT_CONFLICT') };
    expect(await codeOf(api().sendToolResult('t', result))).toContain('RESULT_CONFLICT');
    answers.result = { status: 503, body: refusal('UNAVAILABLE') };
    expect(await codeOf(api().sendToolResult('t', result))).toContain('UNAVAILABLE');
  });

  it('[AP-7] sends previews and refusals, progress and heartbeats, and fetches parameters', async () => {
    answers.preview = ok({});
    answers.progress = ok({});
    answers.heartbeat = ok({ calls: { t: 'go_on' }, audit_head: 'h' });
    const common = { revision: 1, reasons: [] };
    const preview = { kind: 'summary', summary: 's' } as const;
    await api().sendToolPreview?.('a', {
      ...common,
      preview,
      digest_base: digestOf('b'),
      digest: digestOf('a'),
      risk_level: 'HIGH',
      network: true,
    });
    await api().sendToolPreview?.('a', { ...common, refused: { code: 'PATH_SENSITIVE', message: 'no' } });
    await api().sendToolProgress?.('t', { progress: 5, message: null, output: null });
    expect(await api().sendHeartbeat?.({ queued: ['q'], executing: [], unacknowledged: [] })).toMatchObject({
      calls: { t: 'go_on' },
      audit_head: 'h',
    });
    expect(sent.map(({ body }) => body)).toEqual([
      {
        runner_id: 'r',
        instance: 'journal',
        ...common,
        preview,
        digest_base: digestOf('b'),
        digest: digestOf('a'),
        risk_level: 'HIGH',
        network: true,
      },
      { runner_id: 'r', instance: 'journal', ...common, refused: { code: 'PATH_SENSITIVE', message: 'no' } },
      { progress: 5, message: null, output: null, runner_id: 'r', instance: 'journal' },
      { instance: 'journal', queued: ['q'], executing: [], unacknowledged: [] },
    ]);
    expect(await codeOf(api().fetchToolParams?.('t'))).toContain('NOT_FOUND');
  });

  it('[DA-3] [EX-1] does not use the masked record as parameters after the parameters were purged', async () => {
    const [body] = JSON.parse(readFileSync(fixture, 'utf8'));
    answers.t = { status: 200, body };
    expect(await api().fetchToolParams?.('t')).toEqual(body.execution.tool_params);
    answers.t = { status: 200, body: { ...body, omitted: ['tool_params', 'result'] } };
    expect(await codeOf(api().fetchToolParams?.('t'))).toContain('NOT_FOUND');
  });

  it('[AP-2] sends decisions, and says when another one stands', async () => {
    answers.approve = ok({ approval_id: 'a', status: 'approved' });
    const decision = {
      digest: digestOf('a'),
      scope: 'class',
      pattern: 'x',
      tool_params: { path: 'y' },
      include_high: true,
    } as const;
    expect(await api().approveToolExecution('a', decision)).toMatchObject({ outcome: 'recorded' });
    expect(sent[0]).toMatchObject({ path: '/my/projects/p/approvals/a/approve' });
    expect(sent[0]?.body).toEqual({ device: 'here', ...decision });
    answers.reject = {
      status: 409,
      body: refusal('ALREADY_DECIDED', { standing: { status: 'approved', device: 'phone' } }),
    };
    expect(await api().rejectToolExecution('a', { reason: 'why', message: 'instead' })).toMatchObject({
      outcome: 'overruled',
      standing: { status: 'approved' },
    });
  });

  it('[RN-1] sends a decision once: the runner itself tries again', async () => {
    answers.approve = { status: 503, body: refusal('UNAVAILABLE') };
    expect(await codeOf(api().approveToolExecution('a', {}))).toContain('UNAVAILABLE');
    expect(sent).toHaveLength(1);
  });
});

describe('the runner’s token', () => {
  const access = (): ServerAccess => ({ address: '', client, device: 'here', source: 'test' });
  const made = (token: string, token_id: string) =>
    ok({
      token,
      details: {
        token_id,
        name: 'n',
        scope: 'runner',
        project_id: null,
        created_at: '2026-11-15T12:00:00Z',
        expires_at: null,
        last_used_at: null,
        revoked_at: null,
      },
    });

  it('[AP-9] is created with the person’s token, replaced when it is refused, and revoked at the end', async () => {
    const token = new ScopedToken(access(), { name: 'runner', scope: 'runner' });
    answers.tokens = made('first', 'id-1');
    answers.heartbeat = { status: 401, body: refusal('UNAUTHENTICATED') };
    const input = {
      params: { project_id: 'p', runner_id: 'r' },
      body: { queued: [], executing: [], unacknowledged: [] },
    };
    const beat = token.client.heartbeat(input);
    await beat.catch(() => {});
    expect(sent.map(({ path, token: used }) => `${path} ${used}`)).toEqual([
      '/my/tokens Bearer mine',
      '/my/projects/p/runners/r/heartbeat Bearer first',
      '/my/tokens Bearer mine',
    ]);
    await token.revoke();
    expect(sent.slice(3).map(({ path }) => path)).toEqual(['/my/tokens/id-1', '/my/tokens/id-1']);
  });

  it('is the given token if that may not make others, and is created again after a failure', async () => {
    const token = new ScopedToken(access(), { name: 'runner', scope: 'runner' });
    answers.tokens = { status: 500, body: refusal('INTERNAL') };
    answers.runners = ok({ runners: [] });
    await expect(token.client.listRunners()).rejects.toThrow('INTERNAL');
    answers.tokens = { status: 403, body: refusal('FORBIDDEN') };
    await token.client.listRunners();
    expect(sent.at(-1)).toMatchObject({ path: '/my/runners', token: 'Bearer mine' });
    await token.revoke();
  });
});
