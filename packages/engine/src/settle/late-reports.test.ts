import { codeOf, digest, EngineFixture, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  await fixture.listen({ runnerId: 'runner-1' });
});

const write = () => fixture.submit('write_file', { path: 'a.md', content: 'x' });
async function approved(): Promise<string> {
  const { id, approval_id } = await write();
  await fixture.preview(approval_id);
  await fixture.approve(approval_id, { digest: digest('a') });
  return id;
}
const lost = () => fixture.clock.advance(30_000);
const reported = (id: string) => fixture.store.read((tx) => tx.get('results', id));
const changed = { success: true, changed_files: [{ path: 'a.md', operation: 'modified' }] };

describe('[EX-7] a report that comes after RUNNER_LOST', () => {
  it('tells which files changed, and can be undone', async () => {
    const id = await approved();
    await fixture.claim(id);
    await lost();
    const screen = await fixture.listen();
    await fixture.report(id, { result: changed });
    expect(await screen.last('file.changed')).toMatchObject({ tool_id: id, path: 'a.md' });
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', undoable: true });
    expect((await reported(id))?.late_result).toEqual({ status: 'completed', result: changed, error: null });
  });

  it('is kept as a failure when it is one', async () => {
    const id = await approved();
    await fixture.claim(id);
    await lost();
    await fixture.report(id, { status: 'failed', error: { code: 'DISK_FULL', message: 'no room' } });
    expect((await reported(id))?.late_result).toEqual({
      status: 'failed',
      result: null,
      error: { code: 'DISK_FULL', message: 'no room', recoverable: false },
    });
  });

  it('[EX-6] comes from the runner that had it', async () => {
    const id = await approved();
    await fixture.claim(id);
    await lost();
    expect(await codeOf(fixture.report(id, { runner_id: 'another' }))).toBe('CLAIM_REFUSED');
  });
});

describe('[RE-4] a report of a call that never started is refused', () => {
  const ended: [string, () => Promise<string>][] = [
    ['refused', async () => (await fixture.submit('shell_exec', { command: 'rm -rf /' })).id],
    [
      'rejected',
      async () => {
        const { id, approval_id } = await write();
        await fixture.engine.approvals.rejectTool(fixture.person, String(approval_id), {});
        return id;
      },
    ],
    [
      'expired',
      async () => {
        const { id } = await write();
        await fixture.clock.advance(300_000);
        return id;
      },
    ],
    [
      'cancelled before its start',
      async () => {
        const id = await approved();
        await fixture.engine.dispatcher.cancel(fixture.person, id, 'no');
        return id;
      },
    ],
  ];
  it.each(ended)('%s', async (_name, end) => {
    const id = await end();
    expect(await codeOf(fixture.report(id, { result: changed }))).toBe('ALREADY_FINAL');
    expect(await fixture.execution(id)).toMatchObject({ result_digest: null, undoable: false });
    expect(await reported(id)).toBeUndefined();
  });

  it('a harmless one needs no claim: it may have run', async () => {
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    await fixture.engine.dispatcher.cancel(fixture.person, id, 'no');
    expect(await codeOf(fixture.report(id, { result: { success: true } }))).toBe('ok');
  });
});

describe('[EX-5] what the runner says of its failure', () => {
  const fail = (id: string, code: string, recoverable?: boolean) =>
    fixture.report(id, { status: 'failed', error: { code, message: 'm', recoverable } });

  it('of a code that is not ours, decides whether a harmless call is tried again, and is passed on', async () => {
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    expect((await fail(id, 'SOCKET_BUSY', true)).execution).toMatchObject({ status: 'approved', attempt: 2 });
    await fixture.clock.advance(500);
    expect((await fail(id, 'SOCKET_GONE', false)).execution.status).toBe('failed');
    const outcome = fixture.engine.outcomes.of(id);
    expect(await outcome).toMatchObject({ error: { code: 'EXECUTION_FAILED', recoverable: false } });
  });

  it('that it is not recoverable is believed, and a call that the model must change is not repeated', async () => {
    for (const [code, recoverable] of [
      ['READ_FAILED', false],
      ['FILE_NOT_FOUND', true],
      ['SOCKET_BUSY', undefined],
    ] as const) {
      const { id } = await fixture.submit('read_file', { path: `${code}.md` });
      expect((await fail(id, code, recoverable)).execution).toMatchObject({
        status: 'failed',
        error_recoverable: recoverable ?? null,
      });
    }
  });

  it('a write that was not started is tried again, one that was is not', async () => {
    const waiting = await approved();
    await fail(waiting, 'CONCURRENCY_LIMIT');
    expect(await fixture.execution(waiting)).toMatchObject({ status: 'approved', attempt: 2 });
    await fixture.clock.advance(500);
    await settle();
    expect(await codeOf(fixture.claim(waiting, { attempt: 2 }))).toBe('ok');
    expect((await fail(waiting, 'WRITE_FAILED')).execution.status).toBe('failed');
  });
});
