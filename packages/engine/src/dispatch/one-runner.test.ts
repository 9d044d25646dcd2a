import { codeOf, digest, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { unsettledSignals } from './signals.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const write = () => fixture.submit('write_file', { path: 'a.md', content: 'x' });
/** A write that was previewed by runner-1 and approved. */
async function approved(): Promise<string> {
  const { id, approval_id } = await write();
  await fixture.preview(approval_id);
  await fixture.approve(approval_id, { digest: digest('a') });
  return id;
}
const signals = (listener: Listener) => listener.all('tool.execution_signal').map(({ tool_id }) => tool_id);

describe('[EX-6] one program is the runner', () => {
  it('its older stream ends when it comes again, and only the newer one is told', async () => {
    const older = await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const newer = await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const id = await approved();
    await newer.last('tool.execution_signal');
    expect([older.ended, signals(older), newer.ended, signals(newer)]).toEqual([true, [], false, [id]]);
  });

  it('of two that come at once the first keeps the id', async () => {
    const [first, second] = await Promise.allSettled([
      fixture.listen({ runnerId: 'runner-1', instance: 'journal' }),
      fixture.listen({ runnerId: 'runner-1', instance: 'a copy' }),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { ended: false } });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'RUNNER_CONNECTED' } });
    expect(fixture.engine.runners.find('ada', 'runner-1')?.instance).toBe('journal');
  });

  it('another program with its id is refused while it is there', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const second = () => fixture.listen({ runnerId: 'runner-1', instance: 'a copy' });
    expect(await codeOf(second())).toBe('RUNNER_CONNECTED');
    expect(await codeOf(fixture.listen({ runnerId: 'runner-1' }))).toBe('RUNNER_CONNECTED');
    expect(first.ended).toBe(false);
    first.close();
    expect(await codeOf(second())).toBe('ok');
  });

  it('another program cannot repeat its claim', async () => {
    await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const id = await approved();
    const claim = (instance?: string) => codeOf(fixture.claim(id, { instance }));
    expect([await claim('journal'), await claim('journal')]).toEqual(['ok', 'ok']);
    expect([await claim('a copy'), await claim()]).toEqual(['CLAIM_REFUSED', 'CLAIM_REFUSED']);
  });

  it('calls that a program began are lost when another program replaces it', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const id = await approved();
    await fixture.claim(id, { instance: 'journal' });
    first.close();
    const back = await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    expect((await fixture.execution(id)).status).toBe('executing');
    back.close();
    await fixture.listen({ runnerId: 'runner-1', instance: 'a copy' });
    await expect
      .poll(() => fixture.execution(id))
      .toMatchObject({ status: 'failed', error_type: 'RUNNER_LOST' });
  });

  it('a claim is repeated for the same digest only, and not when the call is being cancelled', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const id = await approved();
    await fixture.claim(id);
    expect(await codeOf(fixture.claim(id, { digest: digest('b') }))).toBe('CLAIM_REFUSED');
    expect(await codeOf(fixture.claim(id))).toBe('ok');
    await fixture.engine.dispatcher.cancel(fixture.person, id, 'no');
    expect(await codeOf(fixture.claim(id))).toBe('CLAIM_REFUSED');
  });
});

describe('[EX-10] a preview comes from a runner of the workspace', () => {
  it('not from one of another workspace, and not from nobody', async () => {
    await fixture.listen({ runnerId: 'elsewhere', workspace: '/elsewhere' });
    const here = await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await write();
    for (const runner_id of ['elsewhere', 'nobody'])
      expect(await codeOf(fixture.preview(approval_id, { runner_id }))).toBe('NOT_FOUND');
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: digest('a') });
    expect((await fixture.execution(id)).runner_id).toBe('runner-1');
    expect(await here.last('tool.execution_signal')).toMatchObject({ tool_id: id });
  });

  it('[AP-7] one that is lost sends it again when it is back', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { approval_id } = await write();
    await fixture.clock.advance(30_000);
    expect(await codeOf(fixture.preview(approval_id))).toBe('UNAVAILABLE');
    await fixture.listen({ runnerId: 'runner-1' });
    expect(await codeOf(fixture.preview(approval_id))).toBe('ok');
  });

  it('a runner that moved to another workspace is not given the call', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await write();
    await fixture.preview(approval_id);
    const moved = await fixture.listen({ runnerId: 'runner-1', workspace: '/elsewhere' });
    await fixture.approve(approval_id, { digest: digest('a') });
    expect([(await fixture.execution(id)).runner_id, signals(moved)]).toEqual([null, []]);
  });

  it('and a runner is shown the pending requests of its own workspace only', async () => {
    await write();
    const elsewhere = await fixture.listen({ runnerId: 'elsewhere', workspace: '/elsewhere' });
    const here = await fixture.listen({ runnerId: 'runner-1' });
    const shown = [elsewhere, here].map((listener) => listener.all('tool.approval_request').length);
    expect(shown).toEqual([0, 1]);
  });
});

describe('[EX-6] only the assigned runner reports a call', () => {
  it('not another runner', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const id = await approved();
    await fixture.claim(id);
    for (const status of ['completed', 'failed', 'cancelled'] as const)
      expect(await codeOf(fixture.report(id, { status, runner_id: 'another' }))).toBe('CLAIM_REFUSED');
    expect((await fixture.execution(id)).status).toBe('executing');
    expect((await fixture.report(id)).execution.status).toBe('completed');
  });

  it('[RE-4] nobody while the person is being asked: the request stays', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await write();
    for (const status of ['completed', 'failed', 'cancelled'] as const)
      expect(await codeOf(fixture.report(id, { status, error: 'no' }))).toBe('ILLEGAL_TRANSITION');
    expect(await fixture.execution(id)).toMatchObject({ status: 'awaiting_approval', approval_id });
    expect(await codeOf(fixture.approve(approval_id))).toBe('ok');
  });
});

describe('[AP-9] [EX-7] a call that was taken from its runner and has no other', () => {
  it('is reported by the program that it was taken from, and by no other of the workspace', async () => {
    const other = await fixture.listen({
      runnerId: 'runner-2',
      instance: 'another',
      workspace: '/elsewhere',
    });
    await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.loseRunner('ada', 'runner-1');
    other.close();
    await fixture.store.write((tx) => tx.update('runners', 'runner-2@ada', { workspace: '/workspace' }));
    expect(await fixture.execution(id)).toMatchObject({ status: 'approved', runner_id: null });
    const report = (runner_id: string, instance: string) =>
      codeOf(fixture.report(id, { runner_id, instance, result: { success: true } }));
    expect(await report('runner-2', 'another')).toBe('CLAIM_REFUSED');
    expect(await report('runner-1', 'a copy')).toBe('CLAIM_REFUSED');
    expect(await report('runner-1', 'journal')).toBe('ok');
  });

  it('is forgotten by that program once another runner has it', async () => {
    await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.loseRunner('ada', 'runner-1');
    await fixture.listen({ runnerId: 'runner-2', instance: 'another' });
    expect(await fixture.execution(id)).toMatchObject({ runner_id: 'runner-2', claimed_by: null });
    expect(await codeOf(fixture.report(id, { instance: 'journal' }))).toBe('CLAIM_REFUSED');
    const own = { runner_id: 'runner-2', instance: 'another', result: { success: true } };
    expect(await codeOf(fixture.report(id, own))).toBe('ok');
  });
});

it('[RE-3] people choose the ids of their runners each for themselves', async () => {
  const adas = await fixture.listen({ runnerId: 'laptop' });
  const bobs = await fixture.listen({ runnerId: 'laptop', userId: 'bob' });
  const { id } = await fixture.submit('read_file', { path: 'a.md' });
  await fixture.clock.advance(1);
  expect([signals(adas), signals(bobs)]).toEqual([[id], []]);
  expect(await fixture.store.read((tx) => tx.runnersOf('bob'))).toMatchObject([{ runner_id: 'laptop' }]);
  await fixture.loseRunner('bob', 'laptop');
  expect((await fixture.execution(id)).attempt).toBe(1);
});

it("[EX-7] a runner that comes back is not told of a call that is another runner's or of another attempt by now", async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const { id, attempt } = await fixture.submit('read_file', { path: 'a.md' });
  const signalsTo = (runnerId: string, seen: number) =>
    fixture.store.read((tx) => unsettledSignals(tx, runnerId, [{ id, attempt: seen }], 0));
  expect(await signalsTo('runner-1', attempt)).toHaveLength(1);
  expect(await signalsTo('runner-2', attempt)).toEqual([]);
  expect(await signalsTo('runner-1', attempt + 1)).toEqual([]);
});

it('[AP-9] an agent cancels its own calls only', async () => {
  const { id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' }, { requestedBy: 'mine' });
  const cancel = (tokenId: string) =>
    codeOf(fixture.engine.dispatcher.cancel({ userId: 'ada', tokenId, scope: 'agent' }, id, 'No more.'));
  expect([await cancel('another'), await cancel('mine')]).toEqual(['NOT_FOUND', 'ok']);
});

it('[EX-8] a cancelled call that its runner finds stale ends as cancelled: nobody is asked again', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const id = await approved();
  await fixture.claim(id);
  await fixture.engine.dispatcher.cancel(fixture.person, id, 'No more.');
  const error = { code: 'APPROVAL_STALE', message: 'The file changed.' };
  await fixture.report(id, { status: 'failed', error });
  expect((await fixture.execution(id)).status).toBe('cancelled');
});
