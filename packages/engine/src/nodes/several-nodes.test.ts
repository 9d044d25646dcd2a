import { codeOf, digest, EngineFixture, type Listener, runRow, settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runnerKey } from '../dispatch/runners.ts';
import type { Engine } from '../engine.ts';

/** Two nodes on one store: `fixture.engine` and `other`. Time is in the test's hands. */
let fixture: EngineFixture;
let other: Engine;
beforeEach(async () => {
  fixture = await EngineFixture.open({ isShared: true });
  other = await fixture.addNode();
  await fixture.clock.advance(5_000); // by now it has heard the first node again
});
afterEach(() => {
  fixture.engine.close();
  other.close();
  expect(fixture.errors).toEqual([]);
});

const signals = (listener: Listener) => listener.all('tool.execution_signal').map(({ tool_id }) => tool_id);
const submitOn = async (engine: Engine, tool: string, params: Record<string, string>) =>
  (await engine.executor.submit(fixture.request(tool, params))).execution;
const runnerRow = () => fixture.store.read((tx) => tx.get('runners', runnerKey('ada', 'runner-1')));
/** As `kill -9`: its timers and its memory are gone, and it says nothing. */
const die = (engine: Engine) => engine.close();
/** Another program with the id of a runner that is there. */
const another = {
  id: 'runner-1',
  userId: 'ada',
  workspace: '/workspace',
  capabilities: [],
  instance: 'two',
};
const beat = (engine: Engine) => engine.dispatcher.heartbeat(fixture.runnerCaller, 'runner-1', []);

describe('a runner that is connected to another node', () => {
  it('[EX-1] is given calls by any of them, and is heard by any of them', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1', on: other });
    const outcome = fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    expect(await fixture.execution(tool_id)).toMatchObject({ status: 'executing', runner_id: 'runner-1' });
    await other.dispatcher.submitResult(fixture.runnerCaller, tool_id, {
      status: 'completed',
      result: null,
      runner_id: 'runner-1',
    });
    expect(await outcome).toMatchObject({ status: 'completed', tool_id });
  });

  it('[EX-6] an approval on one node signals the runner of another', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1', on: other });
    const { approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: `sha256:${'a'.repeat(64)}` });
    const { tool_id } = await runner.last('tool.execution_signal');
    expect((await fixture.claim(tool_id)).status).toBe('executing');
  });

  it('[AP-1] waitForDecision answers with a decision of another node, also one that was made before', async () => {
    const { approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    const id = String(approval_id);
    const decision = fixture.engine.approvals.waitForDecision(id);
    await settle();
    await other.approvals.rejectTool(fixture.person, id, { reason: 'No' });
    expect(await decision).toMatchObject({ status: 'rejected', reason: 'No' });
    expect(await fixture.engine.approvals.waitForDecision(id)).toMatchObject({ status: 'rejected' });
  });

  it('[AP-3] a deadline that another node moved is not cut short by the timer of the first', async () => {
    await fixture.listen({ runnerId: 'runner-1', on: other });
    const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    await other.approvals.submitPreview(fixture.runnerCaller, String(approval_id), {
      runner_id: 'runner-1',
      revision: 1,
      preview: { kind: 'diff', files: [] },
      digest_base: digest('a'),
      risk_level: 'HIGH',
      reasons: [],
      network: false,
    });
    await fixture.clock.advance(301_000);
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    await fixture.clock.advance(300_000);
    expect((await fixture.execution(id)).status).toBe('timeout');
  });

  it('[EX-7] is not lost while any of them hears it, nor when its stream moves', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    for (let i = 0; i < 8; i++) {
      await fixture.clock.advance(10_000);
      await beat(other); // heartbeats arrive only at the other node
    }
    expect(await fixture.execution(id)).toMatchObject({ status: 'executing', attempt: 1 });
    const second = await fixture.listen({ runnerId: 'runner-1', on: other });
    await settle();
    expect([first.ended, second.ended, signals(second)]).toEqual([true, false, [id]]);
    expect((await runnerRow())?.node).toBe(other.node);
  });

  it('[EX-7] whose older stream was not told of the newer one is ended by the tick', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1' });
    fixture.bus.deaf = true;
    await fixture.listen({ runnerId: 'runner-1', on: other });
    expect(first.ended).toBe(false);
    await fixture.clock.advance(5_000);
    expect(first.ended).toBe(true);
  });

  it('[EX-7] is given up once, whatever other nodes believed', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const person = await fixture.listen();
    const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    await fixture.approve(approval_id);
    await fixture.claim(id, { digest: null });
    await fixture.clock.advance(36_000);
    expect(runner.ended).toBe(true);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
    expect(person.all('tool.result').map(({ tool_id }) => tool_id)).toEqual([id]);
    expect(person.all('runner.changed').map(({ state }) => state)).toEqual(['disconnected']);
  });

  it('[EX-7] and given up by one node: the other drops it, and gives its calls to the next one', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    fixture.bus.deaf = true;
    await fixture.store.write((tx) =>
      tx.update('runners', runnerKey('ada', 'runner-1'), { connected: false, node: null, stream: null }),
    );
    await fixture.clock.advance(5_000);
    expect(runner.ended).toBe(true);
    expect(await fixture.execution(id)).toMatchObject({ status: 'approved', runner_id: null, attempt: 2 });
    fixture.bus.deaf = false;
    const next = await fixture.listen({ runnerId: 'runner-2', on: other });
    await settle();
    expect(signals(next)).toEqual([id]);
  });

  it('[EX-6] another program with its id is refused while its node lives', async () => {
    await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
    const again = (instance: string) => codeOf(fixture.listen({ runnerId: 'runner-1', instance, on: other }));
    expect([await again('two'), await again('one')]).toEqual(['RUNNER_CONNECTED', 'ok']);
    die(other);
    const third = await fixture.addNode();
    await fixture.clock.advance(7_000);
    expect(await codeOf(third.requireFree(another))).toBe('ok');
    third.close();
  });

  it('a stream that ends leaves the runner its lease', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    runner.close();
    await settle();
    expect(await runnerRow()).toMatchObject({ connected: true, node: null, stream: null });
  });

  it('[EX-7] keeps its calls when the database’s clock jumps', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.store.write((tx) =>
      tx.update('runners', runnerKey('ada', 'runner-1'), { last_seen_at: fixture.store.now() - 3_600_000 }),
    );
    await fixture.clock.advance(10_000);
    await beat(other);
    await fixture.clock.advance(5_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'executing', attempt: 1 });
  });
});

it('[EX-10] a call that was recorded while its runner connected elsewhere finds it', async () => {
  const runner = await fixture.listen({ runnerId: 'runner-1', on: other });
  // Simulates a database on which the runner's row is committed after this unit has looked for it, but before this unit
  // commits.
  const store = fixture.store as { write: typeof fixture.store.write };
  const { write } = store;
  store.write = (unit) => {
    store.write = write;
    return write((tx) => {
      // biome-ignore lint/correctness/useYield: it sees nobody
      tx.presentRunners = function* () {
        return [];
      };
      return unit(tx);
    });
  };
  const { id, runner_id } = await fixture.submit('read_file', { path: 'a.md' });
  await settle();
  expect([runner_id, signals(runner)]).toEqual([null, [id]]);
  await fixture.report(id);
  expect((await fixture.execution(id)).status).toBe('completed');
});

it('[EX-10] a call finds a runner that nobody had heard for a while, though its stream never ended', async () => {
  const runner = await fixture.listen({ runnerId: 'runner-1', on: other });
  // The database's clock jumped, or it was away for longer than a lease.
  await fixture.store.write((tx) =>
    tx.update('runners', runnerKey('ada', 'runner-1'), { last_seen_at: fixture.store.now() - 280_000 }),
  );
  const { id, runner_id } = await fixture.submit('read_file', { path: 'a.md' });
  expect(runner_id).toBe(null);
  await beat(other);
  await fixture.clock.advance(10_000);
  expect(signals(runner)).toEqual([id]);
  expect(await fixture.execution(id)).toMatchObject({
    status: 'executing',
    runner_id: 'runner-1',
    due_at: null,
  });
});

describe('a plain listener of another node', () => {
  it('[EV-3] takes a call without a runner', async () => {
    const listener = await fixture.listen({ on: other });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await settle();
    expect([(await fixture.execution(id)).status, signals(listener)]).toEqual(['executing', [id]]);
  });

  it('[EV-3] takes it at the tick when it was not told, and not one of another project', async () => {
    fixture.bus.deaf = true;
    const [elsewhere, listener] = [
      await fixture.listen({ on: other, projectId: 'another' }),
      await fixture.listen({ on: other }),
    ];
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.clock.advance(10_000); // one tick takes it, the next one tells the stream
    expect([signals(elsewhere), signals(listener)]).toEqual([[], [id]]);
  });

  it('[EX-10] takes no call where runners are in use, and the call’s waiting time continues', async () => {
    await fixture.listen({ on: other });
    await fixture.listen({ runnerId: 'runner-1' });
    await fixture.loseRunner('ada', 'runner-1');
    fixture.engine.runners.forget('ada', 'runner-1');
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.clock.advance(59_000);
    expect((await fixture.execution(id)).status).toBe('approved');
    await fixture.clock.advance(1_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'NO_RUNNER' });
  });
});

describe('timed tasks of a node that died', () => {
  it('[AP-3] a request expires all the same, once', async () => {
    const person = await fixture.listen();
    const { id } = await submitOn(other, 'write_file', { path: 'a.md', content: 'x' });
    die(other);
    await fixture.clock.advance(299_000);
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    await fixture.clock.advance(10_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'timeout', error_type: 'APPROVAL_TIMEOUT' });
    expect(person.all('approval.resolved').map(({ status }) => status)).toEqual(['timeout']);
  });

  it('[EX-10] a call without a runner ends as NO_RUNNER', async () => {
    const { id } = await submitOn(other, 'read_file', { path: 'a.md' });
    die(other);
    await fixture.clock.advance(70_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'NO_RUNNER' });
  });

  it('[EX-5] a call is tried again', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    const busy = { code: 'READ_FAILED', message: 'busy', recoverable: true };
    await other.dispatcher.submitResult(fixture.runnerCaller, id, {
      status: 'failed',
      error: busy,
      attempt: 1,
      runner_id: 'runner-1',
    });
    die(other);
    await fixture.clock.advance(10_000);
    expect(runner.all('tool.execution_signal').map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('[EX-7] calls of a runner whose node died with it', async () => {
    await fixture.listen({ runnerId: 'runner-1', on: other });
    const { id, approval_id } = await submitOn(other, 'write_file', { path: 'a.md', content: 'x' });
    await other.approvals.approveTool(fixture.person, String(approval_id), {});
    await fixture.claim(id, { digest: null });
    die(other);
    await fixture.clock.advance(45_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
    expect((await runnerRow())?.connected).toBe(false);
  });
});

it('[AP-3] what cannot be ended does not keep the others from it', async () => {
  const bad = await submitOn(other, 'write_file', { path: 'a.md', content: 'x' });
  const good = await submitOn(other, 'write_file', { path: 'b.md', content: 'x' });
  die(other);
  // Somebody has changed the row by hand, and its new state does not allow expiring.
  await fixture.store.write((tx) => tx.update('tool_executions', bad.id, { status: 'completed' }));
  await fixture.clock.advance(310_000);
  expect((await fixture.execution(good.id)).status).toBe('timeout');
  expect(fixture.errors.length).toBeGreaterThan(0);
  fixture.errors.length = 0;
});

describe('a node that starts', () => {
  it('[AP-3] does not extend deadlines if other nodes are running', async () => {
    const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    await fixture.store.write((tx) =>
      tx.update('approvals', String(approval_id), { deadline_at: fixture.store.now() - 1 }),
    );
    const third = await fixture.addNode();
    await fixture.clock.advance(10_000);
    expect((await fixture.execution(id)).status).toBe('timeout');
    third.close();
  });

  it('[AP-3] gives overdue requests their grace if the other nodes died a moment ago', async () => {
    const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    die(fixture.engine);
    die(other);
    await fixture.store.write((tx) =>
      tx.update('approvals', String(approval_id), { deadline_at: fixture.store.now() - 1 }),
    );
    const third = await fixture.addNode();
    await fixture.clock.advance(30_000);
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    await fixture.clock.advance(15_000);
    expect((await fixture.execution(id)).status).toBe('timeout');
    third.close();
  });

  it('[AP-3] [EX-6] [AG-2] does not count dead nodes as alive if the clock was set back while no node was running', async () => {
    await fixture.clock.advance(7_200_000); // hours after both nodes started
    await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
    const { id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    const now = fixture.store.now();
    await fixture.store.write((tx) => tx.insert('runs', runRow({ id: 'run', lease_until: now + 5_000 })));
    await fixture.clock.advance(2_000);
    die(fixture.engine);
    die(other);
    fixture.clock.setBack(3_600_000);
    const third = await fixture.addNode();
    const lease = (await fixture.store.read((tx) => tx.get('runs', 'run')))?.lease_until;
    expect(lease).toBe(fixture.store.now() + 30_000);
    await fixture.clock.advance(7_000);
    expect(await codeOf(third.requireFree(another))).toBe('ok');
    await fixture.clock.advance(290_000);
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    await fixture.clock.advance(20_000);
    expect((await fixture.execution(id)).status).toBe('timeout');
    third.close();
  });

  it('[EX-6] does not count a live node as dead while the clock catches up after being set back', async () => {
    await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
    await fixture.store.write((tx) =>
      tx.update('nodes', fixture.engine.node, { seen_at: fixture.store.now() + 3_600_000 }),
    );
    const third = await fixture.addNode();
    expect(await codeOf(third.requireFree(another))).toBe('RUNNER_CONNECTED');
    await fixture.clock.advance(12_000);
    expect(await codeOf(third.requireFree(another))).toBe('RUNNER_CONNECTED');
    third.close();
  });

  it('[RE-5] with another secret is refused, unless it is alone', async () => {
    await expect(fixture.addNode('another')).rejects.toMatchObject({ code: 'USAGE' });
    await fixture.engine.leave();
    await other.leave();
    await other.leave();
    const third = await fixture.addNode('another');
    third.close();
  });
});

it('[RK-5] a policy that changes on one node counts on the other at the next call', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  expect((await submitOn(other, 'read_file', { path: 'a.md' })).status).toBe('executing');
  const rule = { id: 'mine', tool: 'read_file', effect: 'deny' as const, why: 'it is private' };
  await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
  expect((await submitOn(other, 'read_file', { path: 'a.md' })).status).toBe('failed');
  await fixture.engine.policies.replace('ada', { version: 1, rules: [] });
  expect((await submitOn(other, 'read_file', { path: 'a.md' })).status).toBe('executing');
});
