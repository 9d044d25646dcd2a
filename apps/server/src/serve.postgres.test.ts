import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestServer } from './testing/test-server.ts';

let postgres: TemporaryPostgres;
beforeAll(async () => {
  postgres = await temporaryPostgres();
});
afterAll(() => postgres.stop());

it('[DA-2] events of one server reach the clients of another on the same PostgreSQL', async () => {
  const database = await postgres.createDatabase();
  const [one, two] = [await TestServer.start({ database }), await TestServer.start({ database })];
  const ada = await one.person('ada');
  const runner = await one.runner(ada, {
    execute: () => ({ status: 'completed', result: { success: true, changed_files: [] } }),
  });
  const heard = await two.listen('/my/stream', { token: ada.tokens.front_end });
  await heard.untilListening();

  // Asked, decided and executed on one node, heard on the other.
  const { body } = await one.send('POST', '/my/tools/execute', {
    token: ada.tokens.person,
    body: { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } },
  });
  await heard.until(({ event }) => event === 'tool.approval_request');
  const decided = await one.send('POST', `/my/approvals/${body.approval_id}/confirm`, {
    token: ada.tokens.person,
    body: {},
  });
  expect(decided.body).toMatchObject({ success: true, status: 'approved' });
  await heard.until(({ event }) => event === 'tool.result');
  expect(runner.executed.map(({ tool_id }) => tool_id)).toEqual([body.tool_id]);
  await two.close();
  await one.close();
});

it('[AG-3] of thirty simultaneous calls, the person is asked about ten', async () => {
  const server = await TestServer.start({ database: await postgres.createDatabase() });
  const ada = await server.person('ada');
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      server.send('POST', '/my/tools/execute', {
        token: ada.tokens.person,
        body: {
          tool_name: 'write_file',
          tool_params: { path: `${i}.md`, content: 'x' },
          session_id: ada.sessionId,
        },
      }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(answers.filter(({ body }) => body.code === 'TOO_MANY_PENDING')).toHaveLength(20);
  await server.close();
});

it('when overloaded, refuses new work with Retry-After, and loses no accepted work', async () => {
  const database = await postgres.createDatabase();
  const server = await TestServer.start({ database, maxBacklog: 5 });
  const ada = await server.person('ada');
  const { executed } = await server.runner(ada);
  const call = (i: number) =>
    server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: { tool_name: 'read_file', tool_params: { path: `${i}.md` }, session_id: ada.sessionId },
    });
  // Another connection locks this person's rows, so accepted requests wait.
  const holder = new pg.Client(database);
  await holder.connect();
  await holder.query("begin; select * from counters where user_id = 'ada' for update");
  const taken = Array.from({ length: 20 }, (_, i) => call(i));
  await expect.poll(() => server.running.store.backlog).toBeGreaterThanOrEqual(5);
  const late = await Promise.all(Array.from({ length: 20 }, (_, i) => call(20 + i)));
  expect(new Set(late.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`))).toEqual(
    new Set(['503 1']),
  );
  await holder.query('commit');
  const answers = await Promise.all(taken);
  const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => String(body.tool_id));
  expect(accepted.length).toBeGreaterThanOrEqual(5);
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  const ended = async () =>
    (await holder.query("select id from tool_executions where status = 'completed'")).rows.map(
      ({ id }) => id,
    );
  await expect.poll(async () => (await ended()).toSorted()).toEqual(accepted.toSorted());
  expect(executed.map(({ tool_id }) => tool_id).toSorted()).toEqual(accepted.toSorted());
  const { rows } = await holder.query('select count(*)::int as n from tool_executions');
  expect(rows).toEqual([{ n: accepted.length }]); // refused calls were not recorded
  await holder.end();
  await server.close();
});

it('[RE-3] [OB-1] while the database is down reports that, still serves metrics, and continues afterwards', async () => {
  const server = await TestServer.start({ database: await postgres.createDatabase() });
  const ada = await server.person('ada');
  const call = () =>
    server.send('POST', '/my/tools/execute', {
      token: ada.tokens.person,
      body: {
        tool_name: 'write_file',
        tool_params: { path: 'a.md', content: 'x' },
        session_id: ada.sessionId,
      },
    });
  expect((await call()).status).toBe(200);
  await postgres.kill();
  try {
    await expect.poll(async () => (await server.send('GET', '/readyz')).status).toBe(503);
    const { status, body, headers } = await call();
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1']);
    expect(body.error).toContain('the database does not answer');
    const metrics = await server.send('GET', '/metrics');
    expect(metrics.status).toBe(200);
    expect(metrics.text.split('\n')).toEqual(
      expect.arrayContaining([
        'countersign_pending_approvals Nan',
        'countersign_tool_calls_total{tool="write_file"} 1',
      ]),
    );
  } finally {
    await postgres.start();
  }
  await expect.poll(async () => (await server.send('GET', '/readyz')).status).toBe(200);
  const { text } = await server.send('GET', '/metrics');
  expect(text.split('\n')).toContain('countersign_pending_approvals 1'); // calls that got 503 were not recorded
  await server.close();
});

it('[OB-1] while the database stalls is not ready, and reports that before the query timeout', async () => {
  const server = await TestServer.start({ database: await postgres.createDatabase() });
  const { tokens } = await server.person('ada');
  expect((await server.send('GET', '/readyz')).status).toBe(200);
  const goOn = postgres.pause();
  try {
    const answers = Promise.all(['/readyz', '/metrics'].map((path) => server.send('GET', path)));
    const statuses = answers.then((all) => all.map(({ status }) => status));
    const givenUp = server.send('GET', '/my/projects', { token: tokens.person }).then(() => 'given up');
    expect(await Promise.race([statuses, givenUp])).toEqual([503, 200]);
  } finally {
    goOn();
  }
  await expect.poll(async () => (await server.send('GET', '/readyz')).status).toBe(200);
  await server.close();
});

it('reports a database that cannot be reached', async () => {
  await expect(TestServer.start({ database: 'postgres://nobody:x@127.0.0.1:1/none' })).rejects.toThrow();
});
