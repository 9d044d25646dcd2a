import { context, ROOT_CONTEXT, type Span, type SpanOptions, trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Person, TestServer } from '../testing/test-server.ts';
import { OpenItems, watchCalls } from './call-watcher.ts';

/** Spans as they were made, without an SDK. */
class RecordedSpan {
  ended = false;
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  readonly parent: RecordedSpan | undefined;
  status: unknown;
  constructor(name: string, attributes: Record<string, unknown>, parent: RecordedSpan | undefined) {
    this.name = name;
    this.attributes = { ...attributes };
    this.parent = parent;
  }
  isRecording = () => true;
  setAttribute(key: string, value: unknown) {
    this.attributes[key] = value;
    return this;
  }
  setStatus(status: unknown) {
    this.status = status;
    return this;
  }
  end() {
    this.ended = true;
  }
}
const spans: RecordedSpan[] = [];
trace.setGlobalTracerProvider({
  getTracer: () =>
    ({
      startSpan(name: string, options: SpanOptions, parent = ROOT_CONTEXT) {
        const above = trace.getSpan(parent) as unknown as RecordedSpan | undefined;
        const span = new RecordedSpan(name, { ...options.attributes }, above);
        spans.push(span);
        return span as unknown as Span;
      },
    }) as never,
});

let server: TestServer;
let ada: Person;
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  const logger = pino({ level: 'debug', base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  server = await TestServer.start({ executeWaitMs: 30_000 }, { logger });
  ada = await server.person('ada');
  const runner = await server.runner(ada);
  const call = (tool_name: string, tool_params: object) =>
    server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: { tool_name, tool_params, session_id: ada.sessionId },
    });
  await call('read_file', { path: 'a.md' });
  await call('hasOwnProperty', {});
  await call('search_files', { content: 'password=hunter22' });
  const { body } = await call('write_file', { path: 'a.md', content: 'x' });
  await server.send('POST', `/my/approvals/${body.approval_id}/confirm`, {
    token: ada.tokens.person,
    body: { device: 'phone' },
  });
  await runner.stream.until(
    ({ event, data }) => event === 'tool.result' && (data as { tool_id: string }).tool_id === body.tool_id,
  );
  await call('write_file', { path: 'pending.md', content: 'x' });
});
afterAll(async () => {
  await server.close();
  trace.disable();
  context.disable();
});

describe('[OB-1] /metrics', () => {
  it('counts calls per tool, their ends, times and waiting', async () => {
    const { text, headers } = await server.send('GET', '/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    for (const line of [
      'countersign_tool_calls_total{tool="read_file"} 1',
      'countersign_tool_calls_total{tool="unknown"} 1',
      'countersign_tool_calls_ended_total{tool="read_file",status="completed"} 1',
      'countersign_tool_calls_ended_total{tool="unknown",status="failed"} 1',
      'countersign_tool_execution_seconds_count{tool="write_file"} 1',
      'countersign_approval_wait_seconds_count{tool="write_file",status="approved"} 1',
      'countersign_streams 1',
      'countersign_pending_approvals 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('needs its token where others can reach it', async () => {
    const guarded = await TestServer.start({ metricsToken: 'a-token-for-the-metrics' });
    const ask = async (token?: string) => (await guarded.send('GET', '/metrics', { token })).status;
    expect([await ask(), await ask('another'), await ask('a-token-for-the-metrics')]).toEqual([
      401, 401, 200,
    ]);
    await guarded.close();
    const published = await TestServer.start({ publicOrigins: ['https://a.example'] });
    expect((await published.send('GET', '/metrics')).status).toBe(401);
    await published.close();
  });

  it('says whether it can serve', async () => {
    expect((await server.send('GET', '/readyz')).body).toEqual({ success: true });
    const broken = await TestServer.start();
    await broken.store.close();
    expect((await broken.send('GET', '/readyz')).status).toBe(503);
    expect((await broken.send('GET', '/healthz')).status).toBe(200);
    await broken.close();
  });
});

describe('[OB-1] spans', () => {
  it('show a call, and in it the wait for its approval', () => {
    const [wait] = spans.filter(({ name }) => name === 'countersign.approval_wait');
    expect(wait).toMatchObject({
      ended: true,
      attributes: { 'tool.name': 'write_file', 'tool.risk': 'MEDIUM', 'approval.status': 'approved' },
      parent: {
        name: 'countersign.tool_call',
        ended: true,
        attributes: { 'tool.status': 'completed', 'session.id': ada.sessionId },
      },
    });
  });

  it('show what failed, by its code', () => {
    const failed = spans.find(({ attributes }) => attributes['tool.name'] === 'hasOwnProperty');
    expect(failed).toMatchObject({
      ended: true,
      attributes: { 'error.code': 'UNKNOWN_TOOL', 'tool.risk': 'REJECT' },
    });
  });
});

it('[OB-1] spans show a run, and in it its model calls and its tool calls', async () => {
  const talking = await TestServer.start({ model: 'manual' }, { agent: undefined });
  const grace = await talking.person('grace');
  await talking.runner(grace);
  const { body } = await talking.send('POST', `/my/projects/${grace.projectId}/chat/messages`, {
    token: grace.tokens.person,
    body: { content: '/read_file path=a.md', session_id: grace.sessionId },
  });
  const isOurs = ({ attributes }: RecordedSpan) => attributes['run.id'] === body.run_id;
  await vi.waitFor(() =>
    expect(spans.find((span) => isOurs(span) && span.name === 'countersign.run')?.ended).toBe(true),
  );
  await talking.close();
  const shown = spans.filter(isOurs).map(({ name, parent, ended }) => [name, parent?.name, ended]);
  expect(shown).toEqual([
    ['countersign.run', undefined, true],
    ['countersign.model_call', 'countersign.run', true],
    ['countersign.tool_call', 'countersign.run', true],
    ['countersign.model_call', 'countersign.run', true],
  ]);
});

describe('[OB-2] the log', () => {
  it('follows a call by one id', () => {
    const asked = lines.find(({ msg }) => msg === 'tool approval request') as { call: string };
    // A preview may be logged at any time.
    const besides = ['request', 'preview received', 'preview refused'];
    const steps = lines.filter(({ call, msg }) => call === asked.call && !besides.includes(String(msg)));
    expect(steps.map(({ msg }) => msg)).toEqual([
      'tool call',
      'tool approval request',
      'tool approval decided',
      'tool execution signal',
      'tool call ended',
    ]);
  });

  it('says which runner connected, once, and which preview came or was refused', async () => {
    const info = (text: string) => lines.filter(({ msg }) => msg === text);
    expect(info('runner connected')).toEqual([
      expect.objectContaining({ runner: expect.any(String), workspace: expect.any(String) }),
    ]);
    const { runner } = info('runner connected')[0] as { runner: string };
    const { body } = await server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: {
        tool_name: 'write_file',
        tool_params: { path: 'b.md', content: 'x' },
        session_id: ada.sessionId,
      },
    });
    const about = { level: 30, call: body.tool_id, approval: body.approval_id, runner };
    await vi.waitFor(() => expect(info('preview received')).toContainEqual(expect.objectContaining(about)));
    const { person: token } = ada.tokens;
    await server.send('POST', `/my/approvals/${body.approval_id}/reject`, { token, body: {} });
    const refused = { code: 'PREVIEW_FAILED', message: 'too late' };
    await server.send('POST', `/my/projects/${ada.projectId}/approvals/${body.approval_id}/preview`, {
      token: ada.tokens.runner,
      body: { runner_id: runner, revision: 1, reasons: [], refused },
    });
    expect(info('preview refused')).toContainEqual(
      expect.objectContaining({ ...about, error: 'ALREADY_DECIDED' }),
    );
  });

  it('has every request at debug, with its id and the call it is about', () => {
    const requests = lines.filter(({ msg }) => msg === 'request');
    expect(requests).toContainEqual(
      expect.objectContaining({
        method: 'POST',
        route: 'submitResult',
        status: 200,
        call: expect.any(String),
      }),
    );
    for (const one of requests)
      expect(one).toMatchObject({ request_id: expect.any(String), ms: expect.any(Number) });
  });

  it('masks arguments, and has no token in it', () => {
    const text = JSON.stringify(lines);
    expect(text).not.toContain('hunter22');
    expect(text).not.toContain(ada.tokens.person);
    expect(text).toContain('"tool":"search_files"');
  });
});

describe('watching', () => {
  it('never makes the observed call fail', () => {
    const errors: unknown[] = [];
    const published: unknown[] = [];
    const bus = watchCalls(
      { publish: (hint) => published.push(hint), subscribe: () => () => {} },
      [
        {
          called: () => {
            throw new Error('broken');
          },
        },
      ],
      (error) => errors.push(error),
    );
    const event = { event: 'tool.call', data: { status: 'pending' } } as never;
    bus.publish({
      kind: 'events',
      userId: 'ada',
      newest: 1,
      events: [{ user_id: 'ada', id: 1, project_id: null, event, created_at: 0 }],
    });
    bus.publish({ kind: 'settled', toolId: 't' });
    // Events that no hint carried are watched too.
    bus.publish({
      kind: 'written',
      events: [{ user_id: 'ada', id: 1, project_id: null, event, created_at: 0 }],
    });
    expect([published.length, errors.length]).toEqual([3, 2]);
  });

  it('forgets what never ends', () => {
    const open = new OpenItems<number>(2);
    for (const [at, id] of ['a', 'b', 'c'].entries()) open.begin(id, at);
    expect([open.get('a'), open.end('b'), open.end('b'), open.get('c')]).toEqual([
      undefined,
      1,
      undefined,
      2,
    ]);
  });
});
