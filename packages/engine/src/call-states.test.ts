import { codeOf, digest, EngineFixture, type Listener, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from './rows.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const read = () => fixture.submit('read_file', { path: 'a.md' });
const write = () => fixture.submit('write_file', { path: 'a.md', content: 'x' });
/** The states that were announced: each `tool.call`, and the end. */
async function announced(listener: Listener, toolId: string): Promise<string[]> {
  await settle();
  return listener.received.flatMap(({ event }) =>
    (event.event === 'tool.call' || event.event === 'tool.result') && event.data.tool_id === toolId
      ? [event.data.status]
      : [],
  );
}
/** The audit rows of a call, and of its approval. */
async function audited(): Promise<[string, unknown][]> {
  const rows = await fixture.store.read((tx) => tx.audit('ada', 0, 100));
  return rows
    .filter(({ action }) => action.startsWith('call.') || action.startsWith('approval.'))
    .map(({ action, data }) => [action, (data as JsonObject).status]);
}

describe('[EX-2] every state of a call is announced, in its order (founding documents: workflow)', () => {
  it('a LOW call with a runner: pending, executing from its signal on, completed', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { id, status } = await read();
    expect([status, (await fixture.execution(id)).status]).toEqual(['executing', 'executing']);
    await fixture.report(id, { result: { success: true } });
    expect(await announced(runner, id)).toEqual(['pending', 'executing', 'completed']);
    expect(await audited()).toEqual([
      ['call.recorded', 'pending'],
      ['call.signalled', 'executing'],
      ['call.completed', undefined],
    ]);
  });

  it('[PF-1] in two commits', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const units = vi.spyOn(fixture.store, 'write');
    const { id } = await read();
    await fixture.report(id);
    expect(units).toHaveBeenCalledTimes(2);
  });

  it('a LOW call that waits for its runner: approved until then', async () => {
    const listener = await fixture.listen({ mayExecute: false });
    const { id } = await read();
    expect(await announced(listener, id)).toEqual(['pending', 'approved']);
    await fixture.listen({ runnerId: 'runner-1' });
    expect(await announced(listener, id)).toEqual(['pending', 'approved', 'executing']);
  });

  it('a call that asks: pending before awaiting_approval, executing when it is claimed', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await write();
    expect(await announced(runner, id)).toEqual(['pending', 'awaiting_approval']);
    expect(runner.types()).toEqual(['tool.call', 'tool.call', 'tool.approval_request']);
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: digest('a') });
    expect((await fixture.execution(id)).status).toBe('approved');
    await fixture.claim(id);
    await fixture.report(id);
    expect(await announced(runner, id)).toEqual(['pending', 'awaiting_approval', 'executing', 'completed']);
    expect((await audited()).map(([action]) => action)).toEqual([
      'call.recorded',
      'approval.requested',
      'approval.previewed',
      'approval.approved',
      'call.signalled',
      'call.started',
      'call.completed',
    ]);
  });

  it('a refused call: pending, failed', async () => {
    const listener = await fixture.listen();
    const { id } = await fixture.submit('execute_command', { command: 'rm', args: ['-rf', '/'] });
    expect(await announced(listener, id)).toEqual(['pending', 'failed']);
    expect(await audited()).toEqual([
      ['call.recorded', 'pending'],
      ['call.failed', undefined],
    ]);
  });

  it('announces the parameters of a call once', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    await read();
    await settle();
    expect(runner.all('tool.call')).toMatchObject([
      { status: 'pending', tool_params: { path: 'a.md' } },
      { status: 'executing', tool_params: {}, omitted: ['tool_params'] },
    ]);
  });
});

describe('[EX-2] a LOW call in state executing that may not have begun', () => {
  beforeEach(async () => {
    await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
  });

  it('[EX-6] may still be claimed, by one program only', async () => {
    const { id } = await read();
    expect(await codeOf(fixture.claim(id, { digest: null, instance: 'another' }))).toBe('CLAIM_REFUSED');
    expect(await codeOf(fixture.claim(id, { digest: null, instance: 'one' }))).toBe('ok');
    expect(await codeOf(fixture.claim(id, { digest: null, instance: 'one' }))).toBe('ok');
    expect(await fixture.execution(id)).toMatchObject({ status: 'executing', claimed_by: 'one' });
  });

  it('[EX-8] is cancelled by a request: the runner’s report, or a later claim, decides', async () => {
    const cancel = (id: string) => fixture.engine.dispatcher.cancel(fixture.person, id, 'enough');
    const [reported, claimed] = [await read(), await read()];
    for (const { id } of [reported, claimed])
      expect(await cancel(id)).toMatchObject({ status: 'executing', cancel_requested: true });
    await fixture.report(reported.id, { status: 'cancelled' });
    expect(await codeOf(fixture.claim(claimed.id, { digest: null }))).toBe('CLAIM_REFUSED');
    for (const { id } of [reported, claimed]) expect((await fixture.execution(id)).status).toBe('cancelled');
  });

  it('[RK-5] is not given out again by a policy that denies it', async () => {
    const { id } = await read();
    const deny = { id: 'no', effect: 'deny', tool: 'read_file' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [deny] });
    const again = await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
    await settle();
    expect(again.all('tool.execution_signal')).toEqual([]);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'DENIED_BY_POLICY' });
  });

  it('[EX-7] takes the report of an earlier attempt: a failure is known, a result ends it', async () => {
    const { id } = await read();
    const error = { code: 'READ_FAILED', message: 'busy', recoverable: true };
    await fixture.report(id, { status: 'failed', error, attempt: 1 });
    await fixture.clock.advance(500);
    expect(await fixture.execution(id)).toMatchObject({ status: 'executing', attempt: 2 });
    const repeated = await fixture.report(id, { status: 'failed', error, attempt: 1 });
    expect([repeated.message, repeated.execution.status]).toEqual([
      'Tool result was known already',
      'executing',
    ]);
    await fixture.report(id, { attempt: 1 });
    expect((await fixture.execution(id)).status).toBe('completed');
  });
});

describe('[DA-1] execution_time_ms is measured where the client does not say it (founding documents: workflow)', () => {
  const took = async (id: string) => (await fixture.execution(id)).execution_time_ms;
  const plainly = (id: string, body: { execution_time_ms?: number } = {}) =>
    fixture.engine.dispatcher.submitResult(fixture.person, id, {
      status: 'completed',
      result: null,
      ...body,
    });

  it('from the signal that a plain client was given, also after an approval', async () => {
    const listener = await fixture.listen();
    const harmless = await read();
    await fixture.clock.advance(40);
    await plainly(harmless.id);
    const asked = await write();
    await fixture.clock.advance(5_000);
    await fixture.approve(asked.approval_id);
    await fixture.clock.advance(70);
    await plainly(asked.id);
    expect([await took(harmless.id), await took(asked.id)]).toEqual([40, 70]);
    expect(listener.all('tool.result').map((result) => result.execution_time_ms)).toEqual([40, 70]);
  });

  it('from the claim of a runner, not from its signal', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await write();
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: digest('a') });
    await fixture.clock.advance(1_000);
    await fixture.claim(id);
    await fixture.clock.advance(30);
    await fixture.report(id);
    expect(await took(id)).toBe(30);
  });

  it('from the latest attempt', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await read();
    await fixture.clock.advance(200);
    const error = { code: 'READ_FAILED', message: 'busy', recoverable: true };
    await fixture.report(id, { status: 'failed', error });
    await fixture.clock.advance(500);
    await fixture.clock.advance(20);
    await fixture.report(id);
    expect(await took(id)).toBe(20);
  });

  it('also of a call that failed while it ran, and not of one that never began', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id } = await read();
    await fixture.clock.advance(15);
    await fixture.report(id, { status: 'failed', error: 'no such file' });
    const refused = await fixture.submit('execute_command', { command: 'rm', args: [] });
    expect([await took(id), await took(refused.id)]).toEqual([15, null]);
  });

  it('and taken from the client if it reports it', async () => {
    await fixture.listen();
    const { id } = await read();
    await fixture.clock.advance(40);
    await plainly(id, { execution_time_ms: 3 });
    expect(await took(id)).toBe(3);
  });
});
