import type { PolicyRule } from '@countersign/protocol';
import { codeOf, digest, EngineFixture, type Listener, settle } from '@countersign/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
const write = { path: 'notes.md', content: 'hi' };
const npmTest = { command: 'npm', args: ['test'] };
const denial: PolicyRule = { id: 'no', effect: 'deny', tool: '*', why: 'not today' };

beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1', capabilities: ['path_rules'] });
});

const setRules = (...rules: PolicyRule[]) => fixture.engine.policies.replace('ada', { version: 1, rules });

/** The policy denied the call: the person is not asked, the runner is not signalled, and both learn why. */
async function expectDenied(toolId: string): Promise<void> {
  const why = expect.stringContaining('not today');
  expect(await fixture.execution(toolId)).toMatchObject({
    status: 'failed',
    error_type: 'DENIED_BY_POLICY',
    error: why,
  });
  expect(await runner.last('tool.result')).toMatchObject({
    tool_id: toolId,
    status: 'failed',
    error: { code: 'DENIED_BY_POLICY', message: why },
  });
  const asked = runner.all('tool.approval_request').filter(({ tool_id }) => tool_id === toolId);
  expect(asked.length).toBeLessThanOrEqual(1);
}

describe('[RK-5] a deny that came after an approval refuses at the claim', () => {
  it('of a person', async () => {
    const { id, approval_id } = await fixture.submit('write_file', write);
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: digest('a') });
    await setRules(denial);
    expect(await codeOf(fixture.claim(id))).toBe('CLAIM_REFUSED');
    await expectDenied(id);
    expect(runner.all('tool.approval_request')).toHaveLength(1);
  });

  it('of a grant', async () => {
    const first = await fixture.submit('execute_command', npmTest);
    const { grant_id: grantId } = await fixture.approve(first.approval_id, { scope: 'session' });
    const { id, grant_id } = await fixture.submit('execute_command', npmTest);
    expect(grant_id).toBe(grantId);
    await setRules({ ...denial, tool: 'execute_command', command: 'npm test' });
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('CLAIM_REFUSED');
    await expectDenied(id);
  });

  it('of a rule', async () => {
    const rule: PolicyRule = { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test' };
    await setRules(rule);
    const { id, approved_by } = await fixture.submit('execute_command', npmTest);
    expect(approved_by).toBe('config');
    await setRules(rule, { ...denial, tool: 'execute_*' });
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('CLAIM_REFUSED');
    await expectDenied(id);
  });

  it('also when the clock was set back before it was saved', async () => {
    const { id, approval_id } = await fixture.submit('write_file', write);
    await fixture.approve(approval_id);
    await fixture.store.write((tx) =>
      tx.update('tool_executions', id, { approved_at: fixture.store.now() + 60_000 }),
    );
    await setRules(denial);
    expect(await codeOf(fixture.claim(id))).toBe('CLAIM_REFUSED');
    await expectDenied(id);
  });

  it('and one that came while the person had not decided refuses when they approve', async () => {
    const { id, approval_id } = await fixture.submit('write_file', write);
    await fixture.preview(approval_id);
    await setRules(denial);
    expect(await codeOf(fixture.approve(approval_id, { digest: digest('a') }))).toBe('ALREADY_DECIDED');
    await expectDenied(id);
    expect(await runner.last('approval.resolved')).toMatchObject({
      status: 'cancelled',
      error: { code: 'DENIED_BY_POLICY' },
    });
    expect(runner.all('tool.execution_signal')).toEqual([]);
  });

  it('and an edit to what is not denied is approved', async () => {
    const { id, approval_id } = await fixture.submit('write_file', write);
    await setRules({ ...denial, path: 'notes.md' });
    await fixture.approve(approval_id, { tool_params: { path: 'other.md', content: '' } });
    expect(await runner.last('tool.execution_signal')).toMatchObject({ tool_id: id });
    expect(await codeOf(fixture.claim(id))).toBe('ok');
  });
});

it('[RK-5] a call that nobody claims is refused when it would be given out', async () => {
  fixture = await EngineFixture.open();
  const { id } = await fixture.submit('read_file', { path: 'a.md' });
  await setRules({ ...denial, tool: 'read_file' });
  const again = await fixture.listen({ runnerId: 'runner-2' });
  await settle();
  expect(again.all('tool.execution_signal')).toEqual([]);
  expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'DENIED_BY_POLICY' });
});

it('[RK-5] [EX-7] a runner that comes back is not told of its call that is denied now', async () => {
  const { id } = await fixture.submit('read_file', { path: 'a.md' });
  runner.close();
  await setRules({ ...denial, tool: 'read_file' });
  const again = await fixture.listen({ runnerId: 'runner-1' });
  await settle();
  expect(again.all('tool.execution_signal')).toEqual([]);
  expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'DENIED_BY_POLICY' });
});

it('[RK-5] a plain client, which makes no claim, does not get a call that is denied now', async () => {
  const plainOnly = await EngineFixture.open();
  const { id, approval_id } = await plainOnly.submit('write_file', write);
  await plainOnly.approve(approval_id);
  await plainOnly.engine.policies.replace('ada', { version: 1, rules: [denial] });
  const plain = await plainOnly.listen();
  await plainOnly.engine.dispatcher.offer(id);
  expect(plain.all('tool.execution_signal')).toEqual([]);
  expect(await plainOnly.execution(id)).toMatchObject({ status: 'failed', error_type: 'DENIED_BY_POLICY' });
});

it('[RK-5] a new ask rule asks about calls that would run unasked, but not about calls that a person approved', async () => {
  const allowing: PolicyRule = { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test' };
  await setRules(allowing);
  const byRule = await fixture.submit('execute_command', npmTest);
  const byPerson = await fixture.submit('write_file', write);
  await fixture.approve(byPerson.approval_id);
  await setRules(allowing, { id: 'ask', effect: 'ask', tool: '*' });
  expect(await codeOf(fixture.claim(byRule.id, { digest: null }))).toBe('CLAIM_REFUSED');
  expect(await fixture.execution(byRule.id)).toMatchObject({ status: 'awaiting_approval' });
  expect(await codeOf(fixture.claim(byPerson.id))).toBe('ok');
});

it('[RK-5] [VA-8] rules on paths that came since go to the runner, which looks at its disk, before the call begins', async () => {
  const { id, approval_id } = await fixture.submit('write_file', write);
  await fixture.approve(approval_id);
  const rule: PolicyRule = { id: 'private', effect: 'deny', tool: 'write_file', path: 'private/**' };
  await setRules(rule);
  expect(await codeOf(fixture.claim(id, { attempt: 1 }))).toBe('CLAIM_REFUSED');
  expect(await runner.last('tool.execution_signal')).toMatchObject({ attempt: 2, path_rules: [rule] });
  expect(await codeOf(fixture.claim(id, { attempt: 2 }))).toBe('ok');
});

it('[RK-5] [VA-8] an approval that has read an older policy tells the runner the rules on paths of the newest', async () => {
  const { id, approval_id } = await fixture.submit('write_file', write);
  await fixture.preview(approval_id);
  const { policies, assignments } = fixture.engine;
  const older = await policies.policyFor('ada', '/workspace', 'write_file');
  const rule: PolicyRule = { id: 'private', effect: 'deny', tool: 'write_file', path: 'private/**' };
  await setRules(rule);
  await assignments.review(id); // the same approval, sent from another device
  vi.spyOn(policies, 'policyFor').mockReturnValueOnce(older);
  await fixture.approve(approval_id, { digest: digest('a') });
  expect(await runner.last('tool.execution_signal')).toMatchObject({ tool_id: id, path_rules: [rule] });
});

it('[RK-5] a denial that is gone before it is applied denies nothing', async () => {
  const { id, approval_id } = await fixture.submit('write_file', write);
  await fixture.preview(approval_id);
  await fixture.approve(approval_id, { digest: digest('a') });
  await setRules(denial);
  const { policies } = fixture.engine;
  const judge = policies.freshPolicyFor.bind(policies);
  vi.spyOn(policies, 'freshPolicyFor').mockImplementationOnce(async (...about) => {
    const denying = await judge(...about);
    await setRules();
    return denying;
  });
  expect(await codeOf(fixture.claim(id))).toBe('ok');
});

it('[RK-5] reads no parameters again while the policy stays as it was', async () => {
  const { id, approval_id } = await fixture.submit('write_file', write);
  await fixture.approve(approval_id);
  const fresh = fixture.engine.policies.freshPolicyFor.bind(fixture.engine.policies);
  let judged = 0;
  fixture.engine.policies.freshPolicyFor = (...about) => {
    judged += 1;
    return fresh(...about);
  };
  expect(await codeOf(fixture.claim(id))).toBe('ok');
  expect(judged).toBe(0);
});

describe('[RK-5] [VA-8] a runner that does not know path_rules', () => {
  const rule: PolicyRule = { id: 'private', effect: 'deny', tool: '*_file', path: 'private/**' };

  beforeEach(async () => {
    runner.close();
    await fixture.loseRunner('ada', 'runner-1');
    await setRules(rule);
  });

  it('is not given a call that such rules touch; it ends with what to do', async () => {
    const old = await fixture.listen({ runnerId: 'runner-1' });
    const touched = await fixture.submit('read_file', { path: 'a.md' });
    const untouched = await fixture.submit('git_status', {});
    await settle();
    expect(old.all('tool.execution_signal').map(({ tool_id }) => tool_id)).toEqual([untouched.id]);
    expect((await old.last('tool.progress')).message).toContain('does not know the rules on paths');
    for (let seconds = 0; seconds < 61; seconds += 10) {
      fixture.engine.runners.alive('ada', 'runner-1');
      await fixture.engine.presence.storeLastSeen();
      await fixture.clock.advance(10_000);
    }
    expect(await fixture.execution(touched.id)).toMatchObject({
      status: 'failed',
      error_type: 'RUNNER_OUTDATED',
      error: expect.stringContaining('Update Countersign'),
    });
  });

  it('does not get the call after an approval either; a runner that knows them gets it', async () => {
    const old = await fixture.listen({ runnerId: 'runner-1' });
    const { id, approval_id } = await fixture.submit('write_file', write);
    await fixture.preview(approval_id);
    await fixture.approve(approval_id, { digest: digest('a') });
    await settle();
    expect(old.all('tool.execution_signal')).toEqual([]);
    const able = await fixture.listen({ runnerId: 'runner-2', capabilities: ['path_rules'] });
    expect(await able.last('tool.execution_signal')).toMatchObject({ tool_id: id, runner_id: 'runner-2' });
  });

  it('and takes the place of one that did, loses the calls that are touched', async () => {
    const able = await fixture.listen({ runnerId: 'runner-1', capabilities: ['path_rules'] });
    const { id } = await fixture.submit('read_file', { path: 'a.md' });
    expect(await able.last('tool.execution_signal')).toMatchObject({ tool_id: id });
    able.close();
    const old = await fixture.listen({ runnerId: 'runner-1' });
    await settle();
    expect(old.all('tool.execution_signal')).toEqual([]);
    expect(await fixture.execution(id)).toMatchObject({ status: 'approved', runner_id: null });
  });

  it('a plain client, which declares no capabilities, does not get it either', async () => {
    const plainOnly = await EngineFixture.open();
    await plainOnly.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const plain = await plainOnly.listen();
    const touched = await plainOnly.submit('read_file', { path: 'a.md' });
    const untouched = await plainOnly.submit('git_status', {});
    await settle();
    await plainOnly.engine.dispatcher.offer(touched.id);
    expect(plain.all('tool.execution_signal').map(({ tool_id }) => tool_id)).toEqual([untouched.id]);
    expect(await plainOnly.execution(touched.id)).toMatchObject({ status: 'approved', runner_id: null });
  });
});
