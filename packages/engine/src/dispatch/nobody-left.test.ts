import { EngineFixture, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ExecutionRow } from '../rows.ts';
import type { ResultBody } from '../settle/settlements.ts';
import { runnerKey } from './runners.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const execution = async (id: string) =>
  (await fixture.store.read((tx) => tx.get('tool_executions', id))) as ExecutionRow;

/** A write that was approved and that runner-1 has started. */
async function started(): Promise<string> {
  const runner = await fixture.listen({ runnerId: 'runner-1' });
  const { execution } = await fixture.engine.executor.submit(
    fixture.request('write_file', { path: 'a.md', content: 'x' }),
  );
  await fixture.engine.approvals.approveTool(fixture.person, String(execution.approval_id), {});
  const { tool_id, attempt } = await runner.last('tool.execution_signal');
  await fixture.engine.dispatcher.claim(fixture.runnerCaller, tool_id, {
    digest: null,
    runner_id: 'runner-1',
    attempt,
  });
  return tool_id;
}

const report = (toolId: string, input: ResultBody) =>
  fixture.engine.dispatcher.submitResult(fixture.runnerCaller, toolId, { runner_id: 'runner-1', ...input });

describe('after a restart of the server', () => {
  it('[EX-7] a runner that does not come back loses its lease all the same', async () => {
    const toolId = await started();
    await fixture.restart();
    await fixture.clock.advance(29_000);
    expect((await execution(toolId)).status).toBe('executing');
    await fixture.clock.advance(1_000);
    expect(await execution(toolId)).toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
  });

  it('[EX-7] does not wait longer if the clock was set back meanwhile', async () => {
    const toolId = await started();
    fixture.clock.setBack(3_600_000);
    await fixture.restart();
    await fixture.clock.advance(29_000);
    expect((await execution(toolId)).status).toBe('executing');
    await fixture.clock.advance(1_000);
    expect(await execution(toolId)).toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
  });

  it('[EX-10] a call without a runner does not wait longer if the clock was set back', async () => {
    const { execution: call } = await fixture.engine.executor.submit(
      fixture.request('read_file', { path: 'a.md' }),
    );
    fixture.clock.setBack(3_600_000);
    await fixture.restart();
    await fixture.clock.advance(59_000);
    expect((await execution(call.id)).status).toBe('approved');
    await fixture.clock.advance(1_000);
    expect(await execution(call.id)).toMatchObject({ status: 'failed', error_type: 'NO_RUNNER' });
  });

  it('[EX-7] one that comes back keeps its call, and a report is a sign of life before its stream is open', async () => {
    const toolId = await started();
    await fixture.restart();
    await fixture.clock.advance(20_000);
    fixture.engine.runners.alive('ada', 'runner-1');
    await fixture.clock.advance(20_000);
    expect((await execution(toolId)).status).toBe('executing');
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    expect((await runner.last('tool.execution_signal')).tool_id).toBe(toolId);
    await report(toolId, { status: 'completed', result: null });
    expect((await execution(toolId)).status).toBe('completed');
  });

  it('[EX-7] a runner that another node hears is not lost', async () => {
    const toolId = await started();
    await fixture.restart();
    await fixture.clock.advance(25_000);
    const now = fixture.store.now();
    await fixture.store.write(function* (tx) {
      yield* tx.update('runners', runnerKey('ada', 'runner-1'), { last_seen_at: now });
    });
    await fixture.clock.advance(10_000);
    expect((await execution(toolId)).status).toBe('executing');
    await fixture.clock.advance(20_000);
    expect((await execution(toolId)).status).toBe('failed');
  });

  it('[EV-3] a front end that reconnects before the runner does not take its calls', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    await fixture.restart();
    const plain = await fixture.listen();
    const { execution: call } = await fixture.engine.executor.submit(
      fixture.request('read_file', { path: 'a.md' }),
    );
    await settle();
    expect(plain.types()).not.toContain('tool.execution_signal');
    expect((await execution(call.id)).status).toBe('approved');
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    expect((await runner.last('tool.execution_signal')).tool_id).toBe(call.id);
  });
});

it('[EX-7] a runner that was silent for too long loses its stream too: it must come back to get calls again', async () => {
  const asleep = await fixture.listen({ runnerId: 'runner-1' });
  const person = await fixture.listen();
  await fixture.clock.advance(30_000);
  expect([asleep.ended, person.ended]).toEqual([true, false]);
  const { execution: call } = await fixture.engine.executor.submit(
    fixture.request('read_file', { path: 'a.md' }),
  );
  const back = await fixture.listen({ runnerId: 'runner-1' });
  expect((await back.last('tool.execution_signal')).tool_id).toBe(call.id);
});

describe('a plain listener that was told and says nothing', () => {
  it('[EX-10] a harmless call ends as NO_RUNNER after 60 s, also over a restart', async () => {
    await fixture.listen();
    const { execution: call } = await fixture.engine.executor.submit(
      fixture.request('read_file', { path: 'a.md' }),
    );
    expect((await execution(call.id)).status).toBe('executing');
    await fixture.restart();
    await fixture.clock.advance(60_000);
    expect(await execution(call.id)).toMatchObject({ status: 'failed', error_type: 'NO_RUNNER' });
  });

  it('[EX-7] of any other one the outcome is unknown, when the longest command would be over', async () => {
    await fixture.listen();
    const { execution: call } = await fixture.engine.executor.submit(
      fixture.request('write_file', { path: 'a.md', content: 'x' }),
    );
    await fixture.engine.approvals.approveTool(fixture.person, String(call.approval_id), {});
    await fixture.clock.advance(359_000);
    expect((await execution(call.id)).status).toBe('executing');
    await fixture.clock.advance(1_000);
    expect(await execution(call.id)).toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
  });
});

describe('a report whose acknowledgement was lost', () => {
  it('[EX-5] the same failure again does not use up a retry', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { execution: call } = await fixture.engine.executor.submit(
      fixture.request('read_file', { path: 'a.md' }),
    );
    const busy = { code: 'READ_FAILED', message: 'busy', recoverable: true };
    await report(call.id, { status: 'failed', error: busy, attempt: 1 });
    await report(call.id, { status: 'failed', error: busy, attempt: 1 });
    expect(await execution(call.id)).toMatchObject({ status: 'approved', attempt: 2 });
    await fixture.clock.advance(500);
    expect(runner.all('tool.execution_signal').map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('[AP-8] that it was stale: the person is asked again once, and their new decision stands', async () => {
    const toolId = await started();
    const stale = { code: 'APPROVAL_STALE', message: 'it changed', recoverable: false };
    await report(toolId, { status: 'failed', error: stale, attempt: 1 });
    const again = String((await execution(toolId)).approval_id);
    await report(toolId, { status: 'failed', error: stale, attempt: 1 });
    expect(await execution(toolId)).toMatchObject({ status: 'awaiting_approval', approval_id: again });
    await fixture.engine.approvals.approveTool(fixture.person, again, {});
    await report(toolId, { status: 'failed', error: stale, attempt: 1 });
    expect(await execution(toolId)).toMatchObject({ status: 'approved', attempt: 2 });
  });
});

it('[EX-8] a harmless call that is being cancelled is not given to another runner', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const { execution: call } = await fixture.engine.executor.submit(
    fixture.request('read_file', { path: 'a.md' }),
  );
  await fixture.engine.dispatcher.claim(fixture.runnerCaller, call.id, {
    digest: null,
    runner_id: 'runner-1',
  });
  await fixture.engine.dispatcher.cancel(fixture.person, call.id, 'no longer needed');
  await fixture.clock.advance(30_000);
  expect(await execution(call.id)).toMatchObject({ status: 'cancelled', error_type: 'EXECUTION_CANCELLED' });
});

it('[OB-2] says once that a runner came, however often its stream opens, and once that it went', async () => {
  const changes: unknown[] = [];
  fixture.bus.subscribe((hint) => {
    if (hint.kind === 'runner' && hint.change) changes.push([hint.runnerId, hint.change.state]);
  });
  await fixture.listen({ runnerId: 'runner-1' });
  await fixture.listen({ runnerId: 'runner-1' });
  await settle();
  expect(changes).toEqual([['runner-1', 'connected']]);
  await fixture.clock.advance(60_000);
  expect(changes).toEqual([
    ['runner-1', 'connected'],
    ['runner-1', 'disconnected'],
  ]);
});
