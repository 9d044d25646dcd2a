import { codeOf, digest, EngineFixture, type Listener, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const read = () => fixture.submit('read_file', { path: 'a.md' });
async function approvedWrite(): Promise<string> {
  const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
  await fixture.approve(approval_id);
  await settle();
  return id;
}
const signals = (listener: Listener) => listener.all('tool.execution_signal').map(({ tool_id }) => tool_id);

describe('[EV-3] while no runner is there', () => {
  it.each([
    ['a client that may not execute', { mayExecute: false }],
    ['a client of another project', { projectId: 'another' }],
  ])('%s takes no call, and a runner that comes has it', async (_name, options) => {
    const listener = await fixture.listen(options);
    const id = await approvedWrite();
    expect([(await fixture.execution(id)).status, signals(listener)]).toEqual(['approved', []]);
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    await runner.last('tool.execution_signal');
    expect(signals(runner)).toEqual([id]);
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('ok');
  });

  it('a client of this project takes it', async () => {
    const listener = await fixture.listen({ projectId: 'project-1' });
    const id = await approvedWrite();
    expect([(await fixture.execution(id)).status, signals(listener)]).toEqual(['executing', [id]]);
  });

  it('[EX-10] a runner that connects repeats a harmless call that nobody answered, and leaves others alone', async () => {
    await fixture.listen();
    const harmless = await read();
    const written = await approvedWrite();
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    expect(await runner.last('tool.execution_signal')).toMatchObject({ tool_id: harmless.id, attempt: 2 });
    expect(signals(runner)).toEqual([harmless.id]);
    expect(await fixture.execution(harmless.id)).toMatchObject({
      status: 'executing',
      runner_id: 'runner-1',
    });
    expect(await fixture.execution(written)).toMatchObject({ status: 'executing', runner_id: null });
  });

  it('[AP-4] the signal is the claim, and counts as a use of the grant', async () => {
    await fixture.listen();
    const { approval_id } = await fixture.submit('write_file', { path: 'src/a.md', content: 'x' });
    const { grant_id: grantId } = await fixture.approve(approval_id, { scope: 'class', pattern: 'src/**' });
    const uses = async () => (await fixture.store.read((tx) => tx.get('grants', String(grantId))))?.uses;
    expect(await uses()).toBe(0);
    const { status } = await fixture.submit('write_file', { path: 'src/b.md', content: 'x' });
    expect([status, await uses()]).toEqual(['executing', 1]);
  });

  it('[EX-10] a harmless command has the time of the longest command', async () => {
    await fixture.listen();
    const { id } = await fixture.submit('execute_command', { command: 'grep', args: ['-r', 'x', '.'] });
    await fixture.clock.advance(359_000);
    expect((await fixture.execution(id)).status).toBe('executing');
    await fixture.clock.advance(1_000);
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'NO_RUNNER' });
  });

  it('[EX-8] a harmless call that is being cancelled ends as cancelled', async () => {
    await fixture.listen();
    const { id } = await read();
    await fixture.engine.dispatcher.cancel(fixture.person, id, 'no longer needed');
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    await fixture.clock.advance(60_000);
    expect([(await fixture.execution(id)).status, signals(runner)]).toEqual(['cancelled', []]);
  });
});

describe('[EV-2] a plain client that resumes by id', () => {
  it('gets the signal that it missed, and not one that is over', async () => {
    const first = await fixture.listen();
    const seen = await read();
    await settle();
    first.close();
    await fixture.listen();
    const over = await read();
    await fixture.report(over.id, { runner_id: undefined });
    const missed = await read();
    await settle();
    const again = await fixture.listen({ lastEventId: first.ids().at(-1) as number });
    await settle();
    expect([signals(first), signals(again)]).toEqual([[seen.id], [missed.id]]);
    expect(again.ids()).toEqual([...again.ids()].sort((a, b) => a - b));
  });
});

describe('[EV-2] a snapshot', () => {
  it('[AP-10] offers what the request offered', async () => {
    const live = await fixture.listen();
    await fixture.submit('write_file', { path: 'src/a.md', content: 'x' });
    const { offered_scopes } = await live.last('tool.approval_request');
    const later = await fixture.listen();
    expect(offered_scopes.length).toBeGreaterThan(3);
    expect((await later.last('tool.approval_request')).offered_scopes).toEqual(offered_scopes);
  });

  it('a runner that resumes by id gets each pending request once, and its calls from the state', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    await settle();
    runner.close();
    const { approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    const { id } = await read();
    const again = await fixture.listen({ runnerId: 'runner-1', lastEventId: runner.ids().at(-1) ?? 0 });
    await settle();
    expect(again.all('tool.approval_request').map((request) => request.approval_id)).toEqual([approval_id]);
    expect(signals(again)).toEqual([id]);
  });

  it('what is committed while a stream opens comes once', async () => {
    const opening = Array.from({ length: 5 }, () => fixture.listen());
    const { approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    const listeners = await Promise.all(opening);
    await settle();
    for (const listener of listeners)
      expect(listener.all('tool.approval_request').map((request) => request.approval_id)).toEqual([
        approval_id,
      ]);
  });
});

it('[EX-8] a call that is being cancelled and found stale ends as cancelled', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
  await fixture.preview(approval_id);
  await fixture.approve(approval_id, { digest: digest('a') });
  await fixture.claim(id);
  await fixture.engine.dispatcher.cancel(fixture.person, id, 'no');
  const stale = { code: 'APPROVAL_STALE', message: 'it changed' };
  const { execution } = await fixture.report(id, { status: 'failed', error: stale, attempt: 1 });
  expect(execution).toMatchObject({ status: 'cancelled', error_type: 'EXECUTION_CANCELLED' });
  expect(await fixture.engine.approvals.getPendingApprovals('ada')).toEqual([]);
  expect((await fixture.report(id, { status: 'failed', error: stale, attempt: 1 })).message).toContain(
    'known',
  );
});
