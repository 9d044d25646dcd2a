import { codeOf, digest, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1' });
});

const write = () => fixture.submit('write_file', { path: 'a.md', content: 'x' });
const edited = { path: 'a.md', content: 'x ' };

it('[RK-1] a harmless call that a rule wants asked is asked as MEDIUM, with time to decide', async () => {
  const rule = { id: 'ask', effect: 'ask', tool: 'read_file' } as const;
  await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
  const { id, approval_id } = await fixture.submit('read_file', { path: 'a.md' });
  expect(await runner.last('tool.approval_request')).toMatchObject({
    risk_level: 'MEDIUM',
    timeout_seconds: 300,
  });
  await fixture.clock.advance(299_000);
  expect(await codeOf(fixture.approve(approval_id))).toBe('ok');
  expect(await fixture.execution(id)).toMatchObject({ status: 'approved', risk_level: 'MEDIUM' });
});

describe("[AP-6] an edit and the runner's verdict", () => {
  it('[VA-8] is not approved in the same step when the runner had raised the risk', async () => {
    const { approval_id } = await write();
    await fixture.preview(approval_id, { risk_level: 'HIGH' });
    const approve = (input: object) => codeOf(fixture.approve(approval_id, input));
    expect(await approve({ digest: digest('a'), tool_params: edited })).toBe('PREVIEW_PENDING');
    expect([await approve({}), await approve({ digest: digest('a') })]).toEqual([
      'PREVIEW_CHANGED',
      'PREVIEW_CHANGED',
    ]);
    await fixture.preview(approval_id, { revision: 2, digest_base: digest('b'), risk_level: 'HIGH' });
    expect(await runner.last('approval.updated')).toMatchObject({ risk_level: 'HIGH', tool_params: edited });
    expect(await approve({ digest: digest('b') })).toBe('ok');
  });

  it('is approved in the same step when the risk is what it was', async () => {
    const { approval_id } = await write();
    await fixture.preview(approval_id);
    expect(await codeOf(fixture.approve(approval_id, { digest: digest('a'), tool_params: edited }))).toBe(
      'ok',
    );
  });

  it('[AP-3] does not shorten the time to decide', async () => {
    const { approval_id } = await write();
    await fixture.preview(approval_id, { risk_level: 'HIGH' });
    await fixture.clock.advance(20_000);
    fixture.engine.runners.alive('ada', 'runner-1');
    const { expires_at } = await runner.last('approval.updated');
    await codeOf(fixture.approve(approval_id, { digest: digest('a'), tool_params: edited }));
    await fixture.preview(approval_id, { revision: 2 });
    expect(await runner.last('approval.updated')).toMatchObject({ risk_level: 'MEDIUM', expires_at });
  });
});

it('[AP-8] a second preview of a higher risk is a new thing to look at', async () => {
  const { approval_id } = await write();
  await fixture.preview(approval_id);
  await fixture.preview(approval_id, { risk_level: 'HIGH' });
  expect(await runner.last('approval.updated')).toMatchObject({ revision: 2, risk_level: 'HIGH' });
  expect(await codeOf(fixture.approve(approval_id))).toBe('PREVIEW_CHANGED');
  expect(await codeOf(fixture.approve(approval_id, { digest: digest('a') }))).toBe('ok');
});

describe('[AP-3] at start', () => {
  it('[AP-10] announces the grace of an overdue request, also to a stream that resumes', async () => {
    const { approval_id } = await write();
    await fixture.clock.advance(1);
    const lastEventId = runner.ids().at(-1) as number;
    fixture.engine.close();
    await fixture.store.write(function* (tx) {
      yield* tx.update('approvals', String(approval_id), { deadline_at: 1 });
    });
    await fixture.restart();
    const screen = await fixture.listen({ lastEventId });
    const { remaining_ms, offered_scopes } = await screen.last('approval.updated');
    expect([remaining_ms, offered_scopes.length > 0]).toEqual([30_000, true]);
    await fixture.clock.advance(29_999);
    expect(screen.types()).not.toContain('approval.resolved');
    await fixture.clock.advance(1);
    expect(await screen.last('approval.resolved')).toMatchObject({ approval_id, status: 'timeout' });
  });

  it('many are moved in few commits', async () => {
    for (let i = 0; i < 1_200; i++)
      await fixture.submit('write_file', { path: `${i}.md`, content: '' }, { sessionId: `s${i}` });
    fixture.engine.close();
    const { store } = fixture;
    await store.write(function* (tx) {
      for (const { id } of yield* tx.pendingApprovals('ada'))
        yield* tx.update('approvals', id, { deadline_at: 1 });
    });
    let writes = 0;
    const write = store.write.bind(store);
    Object.assign(store, {
      write: (unit: Parameters<typeof write>[0]) => {
        writes += 1;
        return write(unit);
      },
    });
    await fixture.restart();
    expect(writes).toBeLessThanOrEqual(15);
    const left = await fixture.engine.approvals.getPendingApprovals('ada');
    expect(left.map(({ remaining_ms }) => remaining_ms)).toEqual(left.map(() => 30_000));
    expect(left).toHaveLength(1_200);
  });
});
