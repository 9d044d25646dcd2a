import { codeOf, digest, EngineFixture, type Listener, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
const write = { path: 'notes.md', content: 'hi' };

beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const previewing = (): Promise<Listener> =>
  fixture.listen({ runnerId: 'runner-1', capabilities: ['preview', 'path_rules'] });

describe('[AP-7] where a runner that previews is connected', () => {
  it.each([
    ['MEDIUM', 'write_file', write],
    ['HIGH', 'delete_file', { path: 'notes.md' }],
  ] as const)('a %s call is not approved before its preview', async (risk_level, tool, params) => {
    const runner = await previewing();
    const { approval_id } = await fixture.submit(tool, params);
    expect(await codeOf(fixture.approve(approval_id))).toBe('PREVIEW_PENDING');
    expect(runner.all('tool.execution_signal')).toEqual([]);
    await fixture.preview(approval_id, { risk_level });
    expect(await codeOf(fixture.approve(approval_id, { digest: digest('a') }))).toBe('ok');
    const shown = await fixture.shown(approval_id, digest('a'));
    expect(await runner.last('tool.execution_signal')).toMatchObject({ digest: shown });
  });

  it('it is listed as connected for as long as its preview is awaited', async () => {
    await previewing();
    const { approval_id } = await fixture.submit('write_file', write);
    fixture.clock.setBack(-60_000); // the wall clock runs ahead of the timer that ends the lease
    expect(await codeOf(fixture.approve(approval_id))).toBe('PREVIEW_PENDING');
    const rows = await fixture.store.read((tx) => tx.runnersOf('ada'));
    expect(rows.map((row) => fixture.engine.presence.isPresent(row))).toEqual([true]);
  });

  it('nor while it reconnects within its lease, also on another node', async () => {
    fixture = await EngineFixture.open({ isShared: true });
    const runner = await previewing();
    const { approval_id } = await fixture.submit('write_file', write);
    runner.close();
    await settle();
    const other = await fixture.addNode();
    for (const engine of [fixture.engine, other])
      expect(await codeOf(engine.approvals.approveTool(fixture.person, String(approval_id), {}))).toBe(
        'PREVIEW_PENDING',
      );
    other.close();
  });

  it('it is of this workspace, or does not count', async () => {
    await fixture.listen({ runnerId: 'runner-2', capabilities: ['preview'], workspace: '/elsewhere' });
    const { approval_id } = await fixture.submit('write_file', write);
    expect(await codeOf(fixture.approve(approval_id))).toBe('ok');
  });
});

it('[AP-7] without one, a MEDIUM call is approved as the founding documents do', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const { approval_id } = await fixture.submit('write_file', write);
  expect(await codeOf(fixture.approve(approval_id))).toBe('ok');
});

describe('[AP-6] [AP-7] an edit that is approved in one step waits for its preview', () => {
  const edited = { path: 'docs/other.md', content: 'ho' };
  let runner: Listener;
  let approvalId: string;

  beforeEach(async () => {
    runner = await previewing();
    approvalId = String((await fixture.submit('write_file', write)).approval_id);
    await fixture.preview(approvalId);
  });

  const approveEdited = (params: Record<string, string> = edited) =>
    codeOf(fixture.approve(approvalId, { digest: digest('a'), tool_params: params, device: 'phone' }));

  it('and is approved with its digest', async () => {
    const answer = approveEdited({ path: './/docs/./other.md', content: 'ho' });
    await settle();
    expect(await runner.last('approval.updated')).toMatchObject({
      revision: 2,
      digest: null,
      tool_params: { ...edited, mode: 'write' },
    });
    expect(runner.all('tool.execution_signal')).toEqual([]);
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b') });
    expect(await answer).toBe('ok');
    expect(await runner.last('tool.execution_signal')).toMatchObject({
      digest: await fixture.shown(approvalId, digest('b')),
      tool_params: edited,
    });
    expect(await runner.last('approval.resolved')).toMatchObject({ status: 'approved', device: 'phone' });
  });

  it('also when another node gets the preview', async () => {
    fixture = await EngineFixture.open({ isShared: true });
    runner = await previewing();
    approvalId = String((await fixture.submit('write_file', write)).approval_id);
    await fixture.preview(approvalId);
    const other = await fixture.addNode();
    const shown = await fixture.shown(approvalId, digest('a'));
    const answer = codeOf(
      other.approvals.approveTool(fixture.person, approvalId, { digest: shown, tool_params: edited }),
    );
    await settle();
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b') });
    expect(await answer).toBe('ok');
    other.close();
  });

  it('and is not approved where the runner finds it riskier', async () => {
    const answer = approveEdited();
    await settle();
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b'), risk_level: 'HIGH' });
    expect(await answer).toBe('RISK_ROSE');
    expect(runner.all('tool.execution_signal')).toEqual([]);
    expect(await codeOf(fixture.approve(approvalId, { digest: digest('b') }))).toBe('ok');
  });

  it('and is not approved where the runner finds that it needs the network', async () => {
    const answer = approveEdited();
    await settle();
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b'), network: true });
    expect(await answer).toBe('PREVIEW_CHANGED');
    expect(runner.all('tool.execution_signal')).toEqual([]);
    expect(await codeOf(fixture.approve(approvalId, { digest: digest('b') }))).toBe('ok');
  });

  it('and ends where the runner refuses it', async () => {
    const answer = approveEdited();
    await settle();
    const refused = { code: 'PATH_OUTSIDE_WORKSPACE', message: 'a link leads outside' } as const;
    await fixture.engine.approvals.submitPreview(fixture.runnerCaller, approvalId, {
      runner_id: 'runner-1',
      revision: 2,
      reasons: [],
      refused,
    });
    expect(await answer).toBe('ALREADY_DECIDED');
    expect(await runner.last('tool.result')).toMatchObject({ status: 'failed', error: refused });
    expect(await runner.last('approval.resolved')).toMatchObject({ status: 'cancelled', error: refused });
  });

  it('and is not approved where the preview takes too long; a later one can be', async () => {
    const answer = approveEdited();
    await settle();
    await fixture.clock.advance(10_000);
    expect(await answer).toBe('PREVIEW_PENDING');
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b') });
    await settle();
    expect(runner.all('tool.execution_signal')).toEqual([]);
    expect(await codeOf(fixture.approve(approvalId, { digest: digest('b') }))).toBe('ok');
  });

  it('and gives way to a decision that is made meanwhile', async () => {
    const answer = approveEdited();
    await settle();
    await fixture.engine.approvals.rejectTool(fixture.person, approvalId, {});
    expect(await answer).toBe('ALREADY_DECIDED');
  });

  it('and to another edit', async () => {
    const answer = approveEdited();
    await settle();
    const later = codeOf(fixture.approve(approvalId, { tool_params: { path: 'third.md', content: '' } }));
    expect(await later).toBe('PREVIEW_CHANGED'); // sent without a digest: the edited call has no preview yet
    await fixture.preview(approvalId, { revision: 2, digest_base: digest('b') });
    expect(await answer).toBe('ok');
  });

  it('and is let go when the server ends', async () => {
    const answer = approveEdited();
    await settle();
    fixture.engine.close();
    expect(await answer).toBe('PREVIEW_PENDING');
  });
});
