import { ApiError, type Client } from '@countersign/client';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completed, type ResultBody } from '../../lab/src/remote-runner.ts';
import { freePort, ServerProcess } from '../../lab/src/server-process.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { until } from '../../lab/src/waiting.ts';
import { Cluster, type ClusterPerson } from './cluster.ts';

let postgres: TemporaryPostgres;
let cluster: Cluster;
beforeAll(async () => {
  postgres = await temporaryPostgres();
  cluster = await Cluster.start(postgres);
});
afterAll(async () => {
  await cluster?.close();
  await postgres?.stop();
});
afterEach(async () => {
  for (const [index, { server }] of cluster.nodes.entries())
    if (!server.isRunning) await cluster.restart(index);
});

const read = (path: string) => ({ call: { name: 'read_file', args: { path } } });
const write = (path: string) => ({ call: { name: 'write_file', args: { path, content: 'x' } } });
const story = [[read('a.md'), read('b.md')], [write('c.md')], [{ text: 'Done.' }]] as const;

const execute = async (client: Client, session_id: string, path: string, tool_name = 'read_file') =>
  client.executeTool({
    body: {
      tool_name,
      tool_params: { path, ...(tool_name === 'write_file' && { content: 'x' }) },
      session_id,
    },
  });
const statusOf = async (toolId: string) =>
  (await cluster.row(
    'select status, error_type, attempt::int from tool_executions where id = $1',
    toolId,
  )) as {
    status: string;
    error_type: string | null;
    attempt: number;
  };
const untilStatus = (toolId: string, status: string) =>
  cluster.untilRow('select * from tool_executions where id = $1 and status = $2', [toolId, status]);
const runOf = (runId: string) =>
  cluster.row('select status, epoch::int, step::int, lease_owner from runs where id = $1', runId);
/**
 * The model is asked once for each of the three steps of `story`. Only a node that was paused for longer than its
 * lease may ask again: then the run was taken over more often than the test intended.
 */
const expectAskedOnce = async (runId: string, content: string, { takeovers = 0 } = {}) => {
  const { epoch } = await runOf(runId);
  const inVain = cluster.timesAsked(content) - 3;
  expect(inVain).toBeGreaterThanOrEqual(0);
  expect(inVain).toBeLessThanOrEqual(Number(epoch) - 1 - takeovers);
};
const streamOf = async ({ runner }: ClusterPerson) =>
  cluster.row('select node, stream, connected from runners where runner_id = $1', runner.id);
const approvalOf = async ({ person }: ClusterPerson, path: string) =>
  (await person.next('tool.approval_request', ({ tool_params }) => tool_params.path === path)).approval_id;
const approve = async ({ client }: ClusterPerson, approval_id: string) => {
  await until(async () => (await client.getApproval({ params: { approval_id } })).approval.digest !== null, {
    otherwise: () => 'no preview came',
  });
  const { approval } = await client.getApproval({ params: { approval_id } });
  await client.confirm({ params: { approval_id }, body: { digest: String(approval.digest) } });
};

describe('three servers on one database, behind a balancer without sticky sessions', () => {
  it('[EX-1] the whole loop with the stream, the result and the run at different servers', async () => {
    const ada = await cluster.person('ada');
    const runId = await cluster.say(ada, 'Go.', story);
    await approve(ada, await approvalOf(ada, 'c.md'));
    await cluster.untilRow("select id from runs where id = $1 and status = 'completed'", [runId]);
    // Some of these calls are accepted by another server than the runner's.
    const session = await cluster.session(ada);
    const calls = await Promise.all(
      Array.from({ length: 30 }, (_, i) => execute(ada.client, session, `${i}.md`)),
    );
    for (const { tool_id } of calls) await untilStatus(tool_id, 'completed');
    expect(ada.runner.effects).toHaveLength(33);
    expect([...cluster.balancer.given.values()].every((requests) => requests > 10)).toBe(true);
    await expectAskedOnce(runId, 'Go.');
    await settled(ada);
    expect(await cluster.problems(ada)).toEqual([]);
  });

  // That this takes at most 10 s is tested with a manual clock in packages/engine/src/agent/agent-crash.test.ts.
  it('[AG-2] a killed node: another node continues its run at the same step', async () => {
    const bob = await cluster.person('bob');
    const runId = await cluster.say(bob, 'Bob, go.', story);
    const approvalId = await approvalOf(bob, 'c.md');
    const before = await runOf(runId);
    expect(before).toMatchObject({ status: 'running', epoch: 1, step: 2 });
    const index = await cluster.indexOf(before.lease_owner);
    await cluster.kill(index);
    const after = await cluster.untilRow('select status, step::int from runs where id = $1 and epoch = 2', [
      runId,
    ]);
    expect(after).toMatchObject({ status: 'running', step: 2 });
    await approve(bob, approvalId);
    await cluster.untilRow("select id from runs where id = $1 and status = 'completed'", [runId]);
    await expectAskedOnce(runId, 'Bob, go.', { takeovers: 1 });
    expect(bob.runner.effects.map(({ path }) => path).sort()).toEqual(['a.md', 'b.md', 'c.md']);
    await settled(bob);
    expect(await cluster.problems(bob)).toEqual([]);
  });

  it('[EX-7] a killed node with the stream: the runner reconnects elsewhere, and its call ends once', async () => {
    let finish = () => {};
    const finished = new Promise<ResultBody>((resolve) => {
      finish = () => resolve(completed);
    });
    const eve = await cluster.person('eve', {
      execute: ({ tool_params }) => (String(tool_params.path).startsWith('slow') ? finished : completed),
    });
    const session = await cluster.session(eve);
    const { tool_id } = await execute(eve.client, session, 'slow.md', 'write_file');
    await approve(eve, await approvalOf(eve, 'slow.md'));
    await untilStatus(tool_id, 'executing');
    const { node, stream } = await streamOf(eve);
    await cluster.kill(await cluster.indexOf(node));
    // Its lease still holds while it is disconnected, so new calls are given to it.
    const asked = await execute(eve.client, session, 'meanwhile.md');
    await cluster.untilRow('select id from runners where runner_id = $1 and stream <> $2 and connected', [
      eve.runner.id,
      String(stream),
    ]);
    finish();
    await untilStatus(tool_id, 'completed');
    await untilStatus(asked.tool_id, 'completed');
    expect(eve.runner.executionsOf(tool_id)).toBe(1);
    await settled(eve);
    expect(await cluster.problems(eve)).toEqual([]);
  });

  it("[AP-3] [EX-7] [EX-10] other nodes do a dead node's timed work, once", async () => {
    const fay = await cluster.person('fay', { execute: () => new Promise<ResultBody>(() => {}) });
    const away = await cluster.person('gus');
    away.runner.disconnect();
    const [session, other] = [await cluster.session(fay), await cluster.session(away)];
    // All of it on the first server, which is then killed with its timers.
    const [fayAt0, gusAt0] = [
      cluster.clientAt(0, signToken('fay', 'person')),
      cluster.clientAt(0, signToken('gus', 'person')),
    ];
    const expiring = await execute(fayAt0, session, 'expires.md', 'write_file');
    const lost = await execute(fayAt0, session, 'lost.md', 'write_file');
    await approve(fay, String(lost.approval_id));
    await untilStatus(lost.tool_id, 'executing');
    fay.runner.disconnect();
    await cluster.database.query('update runners set connected = false where runner_id = $1', away.runner.id);
    const nobody = await execute(gusAt0, other, 'nobody.md');
    // The server with the runner's stream may have given it the call already: its tick takes the call back.
    await cluster.untilRow(
      'select id from tool_executions where id = $1 and runner_id is null and due_at is not null',
      [nobody.tool_id],
    );
    await cluster.kill(0);
    const due = (await cluster.row('select (extract(epoch from clock_timestamp()) * 1000)::bigint as now'))
      .now;
    const soon = Number(due) + 1_000;
    await cluster.database.query(
      'update approvals set deadline_at = $1 where tool_id = $2',
      soon,
      expiring.tool_id,
    );
    await cluster.database.query(
      'update tool_executions set due_at = $1 where id = $2',
      soon,
      nobody.tool_id,
    );
    await untilStatus(expiring.tool_id, 'timeout');
    await untilStatus(nobody.tool_id, 'failed');
    // The runner died too. An old row is not enough: it must stay unchanged for longer than a heartbeat.
    const silence = 'update runners set last_seen_at = $1 where runner_id = $2 returning connected';
    await until(
      async () => {
        // Repeat the update, because a server may store late that it heard the runner earlier.
        const [row] = await cluster.database.query(silence, soon - 30_000, fay.runner.id);
        return row?.connected === false;
      },
      { otherwise: () => 'the runner is not given up' },
    );
    await untilStatus(lost.tool_id, 'failed');
    expect([await statusOf(lost.tool_id), await statusOf(nobody.tool_id)]).toMatchObject([
      { error_type: 'RUNNER_LOST', attempt: 1 },
      { error_type: 'NO_RUNNER' },
    ]);
    // Both servers saw what was overdue, and exactly one of them acted on it.
    await until(() => fay.person.all('tool.result').length >= 2, {
      otherwise: () => 'the person is not told',
    });
    expect(
      fay.person
        .all('tool.result')
        .map(({ tool_id, status }) => [tool_id, status])
        .sort(),
    ).toEqual(
      [
        [expiring.tool_id, 'timeout'],
        [lost.tool_id, 'failed'],
      ].sort(),
    );
    expect(await streamOf(fay)).toEqual({ node: null, stream: null, connected: false });
  });

  it('[AG-2] a node that was paused stores nothing with its old epoch', async () => {
    const hal = await cluster.person('hal');
    let answer = () => {};
    const thinking = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const runId = await cluster.say(hal, 'Hal, go.', [
      [{ text: 'It is ' }, { wait: thinking }, { text: 'done.' }],
    ]);
    const { lease_owner } = await cluster.untilRow(
      'select * from runs where id = $1 and lease_owner is not null',
      [runId],
    );
    await until(() => cluster.timesAsked('Hal, go.') === 1, { otherwise: () => 'not asked' });
    const index = await cluster.indexOf(lease_owner);
    cluster.without(index);
    cluster.node(index).server.pause();
    try {
      await cluster.untilRow('select id from runs where id = $1 and epoch = 2', [runId]);
      answer();
      await cluster.untilRow("select id from runs where id = $1 and status = 'completed'", [runId]);
    } finally {
      cluster.node(index).server.resume();
    }
    // The paused node gets the model's answer too. Wait until the node says that it runs again.
    await cluster.untilRow(
      'select id from nodes where id = $1 and seen_at > (select max(ended_at) from runs where id = $2)',
      [String(lease_owner), runId],
    );
    cluster.useAll();
    const messages = await cluster.database.query(
      'select role, content, complete from messages where run_id = $1 order by position',
      runId,
    );
    expect(messages).toEqual([
      { role: 'user', content: 'Hal, go.', complete: true },
      { role: 'assistant', content: 'It is done.', complete: true },
    ]);
    expect(await runOf(runId)).toMatchObject({ status: 'completed', epoch: 2, step: 1 });
  });

  it('[EV-2] a rolling upgrade: every stream resumes, every call ends', async () => {
    const ida = await cluster.person('ida');
    const session = await cluster.session(ida);
    const made: string[] = [];
    let isOver = false;
    const working = (async () => {
      for (let i = 0; !isOver; i += 1) {
        try {
          made.push((await execute(ida.client, session, `${i}.md`)).tool_id);
        } catch (error) {
          if (!(error instanceof ApiError) || !error.isRetryable) throw error; // that server was stopping and recorded nothing
        }
      }
    })();
    const runId = await cluster.say(ida, 'Ida, go.', story);
    const approvalId = await approvalOf(ida, 'c.md');
    for (const index of cluster.nodes.keys()) await cluster.restart(index);
    await approve(ida, approvalId);
    await cluster.untilRow("select id from runs where id = $1 and status = 'completed'", [runId]);
    isOver = true;
    await working;
    for (const toolId of made) await untilStatus(toolId, 'completed');
    expect(ida.person.wire.connections.length).toBeGreaterThan(1);
    await expectAskedOnce(runId, 'Ida, go.');
    await settled(ida);
    expect(await cluster.problems(ida)).toEqual([]);
  });

  it('[AP-9] [RK-5] a revocation or deny rule on one server takes effect on all at once', async () => {
    const joy = await cluster.person('joy');
    const session = await cluster.session(joy);
    const at = (index: number, token = signToken('joy', 'person')) => cluster.clientAt(index, token);
    const codeAt = async (index: number, token: string) =>
      at(index, token)
        .listProjects()
        .then(
          () => 'ok',
          (error: ApiError) => error.code,
        );
    for (let round = 0; round < 5; round += 1) {
      const { token, details } = await at(0).createToken({ body: { name: 'laptop', scope: 'person' } });
      expect(await Promise.all([0, 1, 2].map((index) => codeAt(index, token)))).toEqual(['ok', 'ok', 'ok']);
      await at(1).revokeToken({ params: { token_id: details.token_id } });
      expect(await Promise.all([0, 1, 2].map((index) => codeAt(index, token)))).toEqual(
        Array.from({ length: 3 }, () => 'UNAUTHENTICATED'),
      );
      // Each server has used the person's policy before it changes.
      const path = `private/${round}.md`;
      for (const index of [0, 1, 2]) await execute(at(index), session, path);
      const rule = {
        id: 'mine',
        effect: 'deny' as const,
        tool: 'read_file',
        path: 'private/**',
        why: 'private',
      };
      await at(round % 3).putPolicy({
        body: { version: 1, rules: [{ ...rule, matches: [], does_not_match: [] }] } as never,
      });
      for (const index of [0, 1, 2]) {
        const denied = await execute(at(index), session, path).catch((error: ApiError) => error.code);
        expect(denied).toBe('DENIED_BY_POLICY');
      }
      await at((round + 1) % 3).putPolicy({ body: { version: 1, rules: [] } });
      for (const index of [0, 1, 2]) expect((await execute(at(index), session, path)).tool_id).toBeTruthy();
    }
  });

  it('[RE-5] a server that signs with another secret does not join', async () => {
    const stranger = new ServerProcess();
    const started = stranger.serve({
      port: await freePort(),
      database: cluster.database.url,
      authSecret: 'another secret for tests only, long enough',
    });
    await expect(started).rejects.toThrow('signs tokens with another secret');
    await stranger.kill();
  });
});

it('[EX-1] lost hints only cause a delay', async () => {
  const deaf = await Cluster.start(postgres, 2);
  try {
    // From here on no server receives a notification: the name resolves to a function that does nothing.
    await deaf.database.query('create schema deaf');
    await deaf.database.query(
      'create function deaf.pg_notify(text, text) returns void language sql as $$ select null::void $$',
    );
    const [{ name }] = (await deaf.database.query('select current_database() as name')) as [{ name: string }];
    await deaf.database.query(`alter database ${name} set search_path = deaf, pg_catalog, public`);
    for (const index of [0, 1]) await deaf.restart(index);
    const kim = await deaf.person('kim');
    const runId = await deaf.say(kim, 'Kim, go.', story);
    const { approval_id } = await kim.person.next('tool.approval_request');
    await until(
      async () => (await kim.client.getApproval({ params: { approval_id } })).approval.digest !== null,
      {
        otherwise: () => 'no preview came',
      },
    );
    const { approval } = await kim.client.getApproval({ params: { approval_id } });
    await kim.client.confirm({ params: { approval_id }, body: { digest: String(approval.digest) } });
    await deaf.untilRow("select id from runs where id = $1 and status = 'completed'", [runId]);
    expect(kim.runner.effects.map(({ path }) => path).sort()).toEqual(['a.md', 'b.md', 'c.md']);
  } finally {
    await deaf.close();
  }
});

/** Waits until everything stored for this person has arrived on their stream. */
async function settled({ userId, person }: ClusterPerson): Promise<void> {
  const newest = async () =>
    Number(
      (
        await cluster.row(
          `select max(id) as id from events where user_id = $1 and event::text not like '%tool.execution_signal%'`,
          userId,
        )
      ).id,
    );
  await until(async () => (person.ids().at(-1) ?? 0) >= (await newest()), {
    otherwise: () => 'the stream does not catch up',
  });
}
