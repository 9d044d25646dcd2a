import type { PolicyRule } from '@countersign/protocol';
import { EngineFixture, type Listener, resultRow, settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Refusal } from './refusal.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});
afterEach(() => {
  expect(fixture.errors).toEqual([]);
  fixture.engine.close();
});

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const write = { path: 'notes.md', content: 'hi' };
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: Refusal) => error.code ?? String(error),
  );

/** A runner's part, as a test plays it. */
const preview = (approvalId: string, letter = 'a', more: object = {}) =>
  fixture.engine.approvals.submitPreview(fixture.runnerCaller, approvalId, {
    runner_id: 'runner-1',
    revision: 1,
    preview: { kind: 'diff', files: [] },
    digest_base: digest(letter),
    risk_level: 'MEDIUM',
    reasons: [],
    network: false,
    ...more,
  } as never);
const claim = (toolId: string, letter: string | null, more: object = {}) =>
  fixture.claim(toolId, { digest: letter === null ? null : digest(letter), ...more });
const result = (toolId: string, body: object = {}) =>
  fixture.engine.dispatcher.submitResult(fixture.runnerCaller, toolId, {
    status: 'completed',
    result: { success: true },
    runner_id: 'runner-1',
    ...body,
  } as never);
const approve = (approvalId: string, body: object = {}) => fixture.approve(approvalId, body);
const reject = (approvalId: string, body: object = {}) =>
  fixture.engine.approvals.rejectTool(fixture.person, approvalId, body);
const execution = (id: string) => fixture.store.read((tx) => tx.get('tool_executions', id));

async function askedToWrite(
  runner: Listener,
): Promise<{ outcome: ReturnType<EngineFixture['execute']>; approvalId: string; toolId: string }> {
  const outcome = fixture.execute('write_file', write);
  const request = await runner.last('tool.approval_request');
  return { outcome, approvalId: request.approval_id, toolId: request.tool_id };
}

describe('a LOW call', () => {
  it('[EX-1] is recorded, signalled, executed and answered, without asking', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const outcome = fixture.execute('read_file', { path: 'README.md' });
    const signal = await runner.last('tool.execution_signal');
    expect(signal).toMatchObject({
      tool_name: 'read_file',
      tool_params: { path: 'README.md' },
      risk_level: 'LOW',
      runner_id: 'runner-1',
      approved_by: 'auto',
      attempt: 1,
    });
    await result(signal.tool_id, { result: { success: true, content: 'hello' }, execution_time_ms: 3 });
    expect(await outcome).toMatchObject({
      status: 'completed',
      result: { success: true, content: 'hello' },
      error: null,
      approval_id: null,
      execution_time_ms: 3,
    });
    expect(runner.types()).toEqual([
      'tool.call',
      'tool.execution_signal',
      'tool.call',
      'tool.result',
      'tool.result_ack',
    ]);
  });

  it('[EX-7] takes the same result twice, and not another one', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('read_file', { path: 'README.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    await result(tool_id);
    expect((await result(tool_id)).message).toBe('Tool result was known already');
    expect(await codeOf(result(tool_id, { result: { success: false } }))).toBe('RESULT_CONFLICT');
    expect(runner.all('tool.result')).toHaveLength(1);
  });

  it('[EX-5] is retried after 0.5, 1 and 2 s when the failure may pass by itself, then fails', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const outcome = fixture.execute('read_file', { path: 'README.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    const failed = {
      status: 'failed',
      result: undefined,
      error: { code: 'READ_FAILED', message: 'busy', recoverable: true },
    };
    for (const [attempt, wait] of [500, 1000, 2000].entries()) {
      await result(tool_id, failed);
      await fixture.clock.advance(wait - 1);
      expect(runner.all('tool.execution_signal')).toHaveLength(attempt + 1);
      await fixture.clock.advance(1);
      expect((await runner.last('tool.execution_signal')).attempt).toBe(attempt + 2);
    }
    await result(tool_id, failed);
    expect(await outcome).toMatchObject({
      status: 'failed',
      error: { code: 'READ_FAILED', message: 'busy' },
    });
  });
});

describe('a refused call', () => {
  it('[EX-1] goes pending → failed with its code, and nobody is asked', async () => {
    const listener = await fixture.listen();
    const outcome = await fixture.execute('execute_command', { command: 'rm', args: ['-rf', '/'] });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'COMMAND_NOT_ALLOWED' },
      approval_id: null,
    });
    await settle();
    expect(listener.types()).toEqual(['tool.call', 'tool.result']);
    expect(await execution(outcome.tool_id)).toMatchObject({
      status: 'failed',
      error_type: 'COMMAND_NOT_ALLOWED',
      risk_level: null,
    });
  });

  it('[DA-3] is recorded masked', async () => {
    const outcome = await fixture.execute('shell_exec', { command: 'sudo x --token=abcdef123456' });
    expect(JSON.stringify(await execution(outcome.tool_id))).not.toContain('abcdef123456');
  });

  it('[DA-3] shows its secrets on the card and in no record, also when it fails', async () => {
    const secret = 'abcdef123456';
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const outcome = fixture.execute('shell_exec', { command: `curl --token=${secret} https://example.org` });
    const card = await runner.last('tool.approval_request');
    expect(card.description).toContain(secret);
    expect(card.tool_params).toMatchObject({ command: expect.stringContaining(secret) });
    const reasons = [{ rule: 'X-1', why: `sends --token=${secret}`, operand: `--token=${secret}` }];
    await preview(card.approval_id, 'a', { reasons });
    const approvalRow = () => fixture.store.read((tx) => tx.get('approvals', card.approval_id));
    expect((await approvalRow())?.reasons.map(({ rule }) => rule)).toContain('X-1');
    expect(JSON.stringify(await approvalRow())).not.toContain(secret);
    await approve(card.approval_id, { digest: digest('a') });
    await claim(card.tool_id, 'a');
    const error = {
      code: 'EXECUTION_FAILED',
      message: `curl: --token=${secret} refused`,
      recoverable: false,
    };
    await result(card.tool_id, { status: 'failed', result: undefined, error });
    expect((await outcome).error?.message).toBe('curl: --token=[masked] refused');
    expect(JSON.stringify(await execution(card.tool_id))).not.toContain(secret);
  });
});

describe('a call that asks', () => {
  it('[AP-1] says that a file is created once the preview knows it, and changed when that is so again (founding documents: tools-specification)', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(runner);
    const description = async (operation: 'created' | 'modified', letter: string) => {
      const file = { path: 'notes.md', operation, diff: '', truncated: false };
      const files = [{ ...file, size_before: null, size_after: 1 }];
      const revision = letter === 'a' ? 1 : 2;
      await preview(approvalId, letter, { preview: { kind: 'diff', files }, revision });
      return (await runner.last('approval.updated')).description;
    };
    expect((await runner.last('tool.approval_request')).description).toBe('Agent wants to change notes.md');
    expect(await description('created', 'a')).toBe('Agent wants to create notes.md');
    const late = await fixture.listen();
    expect((await late.last('tool.approval_request')).description).toBe('Agent wants to create notes.md');
    await preview(approvalId, 'a', { preview: { kind: 'summary', summary: '' } });
    expect((await runner.last('approval.updated')).description).toBe('Agent wants to create notes.md');
    expect(await description('modified', 'b')).toBe('Agent wants to change notes.md');
  });

  it('[AP-1] [AP-8] waits for the person, and runs what was approved', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { outcome, approvalId, toolId } = await askedToWrite(runner);
    expect(await runner.last('tool.approval_request')).toMatchObject({
      description: 'Agent wants to change notes.md',
      risk_level: 'MEDIUM',
      timeout_seconds: 300,
      remaining_ms: 300_000,
      preview: null,
      context: { excerpt: 'please' },
    });
    await preview(approvalId);
    const shown = await fixture.shown(approvalId, digest('a'));
    expect(await runner.last('approval.updated')).toMatchObject({
      digest: shown,
      digest_base: digest('a'),
      preview: { kind: 'diff' },
    });
    await approve(approvalId, { digest: digest('a'), device: 'laptop' });
    expect(await runner.last('tool.execution_signal')).toMatchObject({
      approval_id: approvalId,
      digest: shown,
      approved_by: 'user',
      runner_id: 'runner-1',
    });
    expect((await claim(toolId, 'a')).status).toBe('executing');
    await result(toolId, {
      result: { success: true, changed_files: [{ path: 'notes.md', operation: 'created' }] },
    });
    expect(await outcome).toMatchObject({ status: 'completed', approval_id: approvalId });
    expect(runner.types()).toEqual([
      'tool.call',
      'tool.call',
      'tool.approval_request',
      'approval.updated',
      'approval.resolved',
      'tool.execution_signal',
      'tool.call',
      'tool.result',
      'file.changed',
      'tool.result_ack',
    ]);
    expect(runner.ids()).toEqual(runner.ids().map((_, i) => (runner.ids()[0] ?? 0) + i));
  });

  it('[AP-5] a rejection carries its reason and message to the agent', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { outcome, approvalId } = await askedToWrite(runner);
    await reject(approvalId, { reason: 'no', message: 'use docs/ instead' });
    expect(await outcome).toMatchObject({
      status: 'rejected',
      reason: 'no',
      user_message: 'use docs/ instead',
      error: { code: 'APPROVAL_REJECTED' },
    });
  });

  it('[AP-3] expires when nobody answers, by the server alone', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const person = await fixture.listen();
    const { outcome, approvalId } = await askedToWrite(runner);
    await fixture.clock.advance(299_999);
    expect((await fixture.store.read((tx) => tx.get('approvals', approvalId)))?.status).toBe('pending');
    await fixture.clock.advance(1);
    expect(await outcome).toMatchObject({
      status: 'timeout',
      error: { code: 'APPROVAL_TIMEOUT', message: 'Approval timeout' },
    });
    expect(await codeOf(approve(approvalId))).toBe('ALREADY_DECIDED');
    expect(await person.last('approval.resolved')).toMatchObject({ status: 'timeout' });
  });

  it('[AP-2] is decided once: of 20 at the same moment one wins, the others learn the standing decision', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(runner);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => codeOf(i % 2 === 0 ? approve(approvalId) : reject(approvalId))),
    );
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'ALREADY_DECIDED')).toHaveLength(19);
    await settle();
    const [resolved, ...others] = runner.all('approval.resolved');
    expect(others).toEqual([]);
    expect(runner.all('tool.execution_signal')).toHaveLength(resolved?.status === 'approved' ? 1 : 0);
    const standing = await reject(approvalId).catch((error: Refusal) => error.standing);
    expect(standing).toEqual({ status: resolved?.status, device: null });
  });

  it('[AP-7] HIGH is not approved before its preview is there', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('delete_file', { path: 'a.md' });
    const { approval_id, timeout_seconds } = await runner.last('tool.approval_request');
    expect(timeout_seconds).toBe(600);
    expect(await codeOf(approve(approval_id))).toBe('PREVIEW_PENDING');
    await preview(approval_id, 'a', { risk_level: 'HIGH' });
    expect(await codeOf(approve(approval_id, { digest: digest('b') }))).toBe('PREVIEW_CHANGED');
    expect(await codeOf(approve(approval_id, { digest: digest('a') }))).toBe('ok');
  });

  it('[AP-8] a body without a digest counts only while there has been one revision', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(runner);
    await preview(approvalId, 'a');
    await preview(approvalId, 'b');
    expect(await codeOf(approve(approvalId))).toBe('PREVIEW_CHANGED');
    expect(await codeOf(approve(approvalId, { digest: digest('a') }))).toBe('PREVIEW_CHANGED');
    expect(await codeOf(approve(approvalId, { digest: digest('b') }))).toBe('ok');
  });

  it("[VA-8] the runner's verdict can only be stricter", async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(runner);
    await preview(approvalId, 'a', {
      risk_level: 'HIGH',
      reasons: [{ rule: 'PATH-5', why: 'has several names' }],
    });
    expect(await runner.last('approval.updated')).toMatchObject({
      risk_level: 'HIGH',
      timeout_seconds: 600,
      reasons: [{ rule: 'WRITE-2' }, { rule: 'PATH-5' }],
    });
    await preview(approvalId, 'a', { risk_level: 'LOW' });
    expect(await runner.last('approval.updated')).toMatchObject({ risk_level: 'HIGH' });
  });

  it('[VA-8] a runner may refuse at the preview: the card is withdrawn and the call fails', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { outcome, approvalId } = await askedToWrite(runner);
    await fixture.engine.approvals.submitPreview(fixture.runnerCaller, approvalId, {
      runner_id: 'runner-1',
      revision: 1,
      reasons: [],
      refused: { code: 'PATH_OUTSIDE_WORKSPACE', message: 'a link leads outside' },
    });
    expect(await outcome).toMatchObject({
      status: 'failed',
      error: { code: 'PATH_OUTSIDE_WORKSPACE', message: 'a link leads outside' },
    });
    // Front ends can say why the card disappears, instead of that someone cancelled the call.
    expect(await runner.last('approval.resolved')).toMatchObject({
      status: 'cancelled',
      error: { code: 'PATH_OUTSIDE_WORKSPACE', message: 'a link leads outside' },
    });
  });

  it('[AP-6] an edit is a new revision; the agent is told what ran', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { outcome, approvalId, toolId } = await askedToWrite(runner);
    await approve(approvalId, { tool_params: { path: 'docs/notes.md', content: 'hi' } });
    expect(await runner.last('tool.execution_signal')).toMatchObject({
      tool_params: { path: 'docs/notes.md' },
      digest: null,
    });
    await claim(toolId, 'c');
    await result(toolId);
    expect(await outcome).toMatchObject({
      status: 'completed',
      executed_params: { path: 'docs/notes.md', content: 'hi' },
    });
  });

  it('[AP-6] an edit that raises the risk is not approved in the same step, one that is refused changes nothing', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(runner);
    expect(await codeOf(approve(approvalId, { tool_params: { path: '../x', content: '' } }))).toBe(
      'INVALID_PARAMS',
    );
    expect(await codeOf(approve(approvalId, { tool_params: { path: 'Makefile', content: '' } }))).toBe(
      'RISK_ROSE',
    );
    expect(await runner.last('approval.updated')).toMatchObject({
      revision: 2,
      risk_level: 'HIGH',
      tool_params: { path: 'Makefile' },
    });
    expect(await codeOf(approve(approvalId))).toBe('PREVIEW_CHANGED');
    await preview(approvalId, 'd', { revision: 2, risk_level: 'HIGH' });
    expect(await codeOf(approve(approvalId, { digest: digest('d') }))).toBe('ok');
  });
});

describe('the claim', () => {
  async function approved(): Promise<{
    runner: Listener;
    toolId: string;
    outcome: ReturnType<EngineFixture['execute']>;
  }> {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { outcome, approvalId, toolId } = await askedToWrite(runner);
    await preview(approvalId);
    await approve(approvalId, { digest: digest('a') });
    return { runner, toolId, outcome };
  }

  it('[AP-8] a changed file stops it, and the person is asked again, at most 3 times', async () => {
    const { runner, toolId, outcome } = await approved();
    for (let round = 1; round <= 3; round++) {
      expect(await codeOf(claim(toolId, 'b'))).toBe('APPROVAL_STALE');
      const again = await runner.last('tool.approval_request');
      expect(again.asked_before).toBe(round);
      await preview(again.approval_id, 'a');
      await approve(again.approval_id, { digest: digest('a') });
    }
    expect(await codeOf(claim(toolId, 'b'))).toBe('APPROVAL_STALE');
    expect(await outcome).toMatchObject({ status: 'failed', error: { code: 'APPROVAL_STALE' } });
    expect(runner.all('tool.approval_request')).toHaveLength(4);
    expect(runner.all('tool.approval_request')[0]).not.toHaveProperty('asked_before');
  });

  it('[EX-6] is refused after 10 minutes, to another runner, twice to different attempts, and after a cancellation', async () => {
    const { toolId } = await approved();
    expect(await codeOf(claim(toolId, 'a', { runner_id: 'runner-2' }))).toBe('CLAIM_REFUSED');
    expect(await codeOf(claim(toolId, 'a', { attempt: 7 }))).toBe('CLAIM_REFUSED');
    expect(await codeOf(claim(toolId, 'a'))).toBe('ok');
    expect(await codeOf(claim(toolId, 'a'))).toBe('ok'); // a repeated claim, because the response was lost
    const other = await fixture.listen({ runnerId: 'runner-1' });
    const late = await askedToWrite(other);
    await approve(late.approvalId);
    for (let minute = 0; minute < 10; minute++) {
      fixture.engine.runners.alive('ada', 'runner-1');
      await fixture.clock.advance(29_000);
      fixture.engine.runners.alive('ada', 'runner-1');
      await fixture.clock.advance(29_000);
      fixture.engine.runners.alive('ada', 'runner-1');
      await fixture.clock.advance(3_000);
    }
    expect(await codeOf(claim(late.toolId, 'a'))).toBe('APPROVAL_STALE');
  });

  it('[RN-2] a result without a claim is refused, unless nothing ran', async () => {
    const { toolId, outcome } = await approved();
    expect(await codeOf(result(toolId))).toBe('ILLEGAL_TRANSITION');
    await result(toolId, { status: 'failed', result: undefined, error: 'queue is full' });
    expect(await outcome).toMatchObject({ status: 'failed', error: { message: 'queue is full' } });
  });

  it('[AP-8] of a call that ran unasked: the person is asked, with a whole card, however large it is', async () => {
    const rule = { id: 'mine', effect: 'allow', tool: 'write_file' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('write_file', { path: 'src/a.md', content: 'x'.repeat(70_000) });
    const signal = await runner.last('tool.execution_signal');
    expect(signal).toMatchObject({ tool_params: {}, omitted: ['tool_params'] });
    await fixture.engine.policies.replace('ada', { version: 1, rules: [] });
    expect(await codeOf(claim(signal.tool_id, 'a'))).toBe('GRANT_REVOKED');
    const asked = await runner.last('tool.approval_request');
    expect(asked).toMatchObject({
      description: 'Agent wants to change src/a.md',
      tool_params: {},
      offered_scopes: [],
      omitted: ['tool_params'],
    });
    await preview(asked.approval_id);
    const { offered_scopes } = await runner.last('approval.updated');
    expect(offered_scopes.map(({ pattern }) => pattern)).toContain('src/**');
  });

  it('[EX-6] 20 claims at the same moment: one runner has it', async () => {
    const { toolId } = await approved();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        codeOf(claim(toolId, 'a', { runner_id: i === 7 ? 'runner-1' : `other-${i}` })),
      ),
    );
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(1);
  });
});

describe('[AP-4] wider approvals', () => {
  it('a class in this session covers the next call of it, records the grant, and ends when it is revoked', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('write_file', { path: 'src/a.ts', content: 'x' });
    const request = await runner.last('tool.approval_request');
    expect(request.offered_scopes.map(({ scope, pattern }) => [scope, pattern])).toContainEqual([
      'class',
      'src/**',
    ]);
    const { grant_id: grantId } = await approve(request.approval_id, { scope: 'class', pattern: 'src/**' });
    void fixture.execute('write_file', { path: 'src/b.ts', content: 'x' });
    const signal = await runner.last('tool.execution_signal');
    expect(signal).toMatchObject({
      approved_by: 'config',
      grant_id: grantId,
      grant: { pattern: 'src/**', max_risk: 'MEDIUM' },
    });
    await claim(signal.tool_id, 'b');
    expect((await fixture.store.read((tx) => tx.get('grants', grantId ?? '')))?.uses).toBe(1);

    void fixture.execute('write_file', { path: 'docs/b.md', content: 'x' });
    expect((await runner.last('tool.approval_request')).tool_params).toMatchObject({ path: 'docs/b.md' });
    void fixture.execute('write_file', { path: 'src/c.ts', content: 'x' });
    const pending = await runner.last('tool.execution_signal');
    await fixture.store.write(function* (tx) {
      yield* tx.update('grants', grantId ?? '', { revoked_at: fixture.clock.now() });
    });
    expect(await codeOf(claim(pending.tool_id, 'c'))).toBe('GRANT_REVOKED');
    expect((await runner.last('tool.approval_request')).tool_id).toBe(pending.tool_id);
  });

  it('everything in this session stops at MEDIUM unless HIGH was said, and never covers places that execute later', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const first = await askedToWrite(runner);
    await approve(first.approvalId, { scope: 'session' });
    const asked = () => runner.all('tool.approval_request').length;
    void fixture.execute('write_file', { path: 'any.md', content: '' });
    await settle();
    expect(asked()).toBe(1);
    void fixture.execute('delete_file', { path: 'any.md' });
    await settle();
    expect(asked()).toBe(2);
    void fixture.execute('write_file', { path: '.vscode/tasks.json', content: '' });
    await settle();
    expect(asked()).toBe(3);
  });

  it('[AP-4] always saves a rule of the person, and a scope that was not offered is refused', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('execute_command', { command: 'npm', args: ['test'] });
    const { approval_id } = await runner.last('tool.approval_request');
    expect(await codeOf(approve(approval_id, { scope: 'always', pattern: '*' }))).toBe('GRANT_NOT_ALLOWED');
    const { rule_id: ruleId } = await approve(approval_id, { scope: 'always', pattern: 'npm test *' });
    expect((await fixture.engine.policies.policyFile('ada')).rules).toMatchObject([
      { id: ruleId, effect: 'allow', command: 'npm test *' },
    ]);
    void fixture.execute(
      'execute_command',
      { command: 'npm', args: ['test', '--', 'x'] },
      { sessionId: 'session-2' },
    );
    const signal = await runner.last('tool.execution_signal');
    expect(signal).toMatchObject({
      approved_by: 'config',
      grant_id: null,
      rule: { id: ruleId, effect: 'allow', tool: '{execute_command,shell_exec}', command: 'npm test *' },
    });
  });

  it('[AP-4] a rule that stands beside new ones for other tools goes on allowing', async () => {
    const rule: PolicyRule = { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test *' };
    const other: PolicyRule = { id: 'stop', effect: 'deny', tool: 'shell_*' };
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('execute_command', { command: 'npm', args: ['test', 'x'] });
    const { tool_id } = await runner.last('tool.execution_signal');
    await fixture.clock.advance(1);
    await fixture.engine.policies.replace('ada', { version: 1, rules: [{ ...rule, why: 'new' }, other] });
    const start = { digest: null, runner_id: 'runner-1', attempt: 1 };
    expect(await codeOf(fixture.engine.dispatcher.claim(fixture.runnerCaller, tool_id, start))).toBe('ok');
  });

  it.each([
    ['taken out', () => []],
    ['narrowed', (rule: PolicyRule): PolicyRule[] => [{ ...rule, command: 'npm run lint' }]],
  ])(
    '[AP-4] a rule that was %s before the call started allows nothing: the person is asked',
    async (_what, change) => {
      const rule: PolicyRule = {
        id: 'tests',
        effect: 'allow',
        tool: 'execute_command',
        command: 'npm test *',
      };
      await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
      const runner = await fixture.listen({ runnerId: 'runner-1' });
      void fixture.execute('execute_command', { command: 'npm', args: ['test', 'x'] });
      const signal = await runner.last('tool.execution_signal');
      expect(signal).toMatchObject({ approved_by: 'config', rule: { id: 'tests' } });
      await fixture.clock.advance(1);
      await fixture.engine.policies.replace('ada', { version: 1, rules: change(rule) });
      const start = { digest: null, runner_id: 'runner-1', attempt: 1 };
      const runnersOwn = { userId: 'ada', tokenId: 'runner', scope: 'runner' } as const;
      expect(await codeOf(fixture.engine.dispatcher.claim(runnersOwn, signal.tool_id, start))).toBe(
        'GRANT_REVOKED',
      );
    },
  );
});

it('[RK-5] [AP-4] a denial that is saved while a call is being judged counts: the call is judged again', async () => {
  await fixture.listen({ runnerId: 'runner-1' });
  const rule = { id: 'mine', effect: 'allow', tool: 'write_file' } as const;
  await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
  expect(await fixture.submit('write_file', write)).toMatchObject({ approved_by: 'config' });
  const denial = { id: 'no', effect: 'deny', tool: 'write_file', path: 'notes.md' } as const;
  // Both run at once: the call is judged by the cached policy, and recorded after the denial was stored.
  const saved = fixture.engine.policies.replace('ada', { version: 1, rules: [rule, denial] });
  const submitted = fixture.submit('write_file', write);
  await saved;
  expect(await submitted).toMatchObject({ status: 'failed', error_type: 'DENIED_BY_POLICY' });
});

describe('[EX-8] cancelling', () => {
  it('works in every state, and a final one is 409', async () => {
    const { dispatcher } = fixture.engine;
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const cancel = (toolId: string) => dispatcher.cancel(fixture.person, toolId, 'enough');

    const asked = await askedToWrite(runner);
    expect((await cancel(asked.toolId)).status).toBe('cancelled');
    expect(await asked.outcome).toMatchObject({
      status: 'cancelled',
      error: { code: 'EXECUTION_CANCELLED' },
    });
    expect(await codeOf(approve(asked.approvalId))).toBe('ALREADY_DECIDED');
    expect(await codeOf(cancel(asked.toolId))).toBe('ALREADY_FINAL');

    const approvedOnly = await askedToWrite(runner);
    await approve(approvedOnly.approvalId);
    expect((await cancel(approvedOnly.toolId)).status).toBe('cancelled');
    expect(await codeOf(claim(approvedOnly.toolId, 'a'))).toBe('CLAIM_REFUSED');

    const running = await askedToWrite(runner);
    await approve(running.approvalId);
    await claim(running.toolId, 'a');
    expect(await cancel(running.toolId)).toMatchObject({ status: 'executing', cancel_requested: true });
    expect(await runner.last('tool.cancel')).toMatchObject({ tool_id: running.toolId, reason: 'enough' });
    expect(await dispatcher.heartbeat(fixture.runnerCaller, 'runner-1', [running.toolId])).toEqual({
      [running.toolId]: 'cancel',
    });
    await result(running.toolId, { status: 'cancelled', result: undefined });
    expect(await running.outcome).toMatchObject({ status: 'cancelled' });
  });

  it('[EX-6] ends a call whose runner never heard that it might begin', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1', instance: 'one' });
    const { outcome, approvalId, toolId } = await askedToWrite(runner);
    await preview(approvalId);
    await approve(approvalId, { digest: digest('a') });
    await claim(toolId, 'a', { instance: 'one' }); // the response is lost
    await fixture.engine.dispatcher.cancel(fixture.person, toolId, 'enough');
    expect(await codeOf(claim(toolId, 'a', { instance: 'another' }))).toBe('CLAIM_REFUSED');
    expect((await execution(toolId))?.status).toBe('executing');
    expect(await codeOf(claim(toolId, 'a', { instance: 'one' }))).toBe('CLAIM_REFUSED');
    expect(await outcome).toMatchObject({ status: 'cancelled', error: { code: 'EXECUTION_CANCELLED' } });
    expect(await runner.last('tool.result')).toMatchObject({ tool_id: toolId, status: 'cancelled' });
  });
});

describe('runners', () => {
  it('[EX-10] without one the person is told which workspace to open, and after 60 s the agent gets NO_RUNNER', async () => {
    const listener = await fixture.listen({ runnerId: 'elsewhere', workspace: '/other' });
    const outcome = fixture.execute('read_file', { path: 'a.md' });
    expect(await listener.last('tool.progress')).toMatchObject({
      message: expect.stringContaining('/workspace'),
    });
    await fixture.clock.advance(60_000);
    expect(await outcome).toMatchObject({ status: 'failed', error: { code: 'NO_RUNNER' } });
  });

  it('[EX-10] one that comes in time gets the call', async () => {
    const outcome = fixture.execute('read_file', { path: 'a.md' });
    await fixture.clock.advance(30_000);
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const { tool_id, runner_id } = await runner.last('tool.execution_signal');
    expect(runner_id).toBe('runner-1');
    await result(tool_id);
    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  it('[EV-3] while no runner is connected a plain listener gets the signal, and the signal is the claim', async () => {
    const plain = await fixture.listen();
    const outcome = fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await plain.last('tool.execution_signal');
    expect((await execution(tool_id))?.status).toBe('executing');
    await result(tool_id, { runner_id: undefined });
    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  it('[EX-7] a lost one: a read is given to another, a write ends as RUNNER_LOST, and its late result is kept', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1' });
    const asked = await askedToWrite(first);
    await approve(asked.approvalId);
    await claim(asked.toolId, 'a');
    const read = fixture.execute('read_file', { path: 'a.md' });
    await first.last('tool.execution_signal');
    const second = await fixture.listen({ runnerId: 'runner-2' });
    await fixture.clock.advance(20_000);
    fixture.engine.runners.alive('ada', 'runner-2');
    await fixture.clock.advance(10_000);

    expect(await asked.outcome).toMatchObject({
      status: 'failed',
      error: { code: 'RUNNER_LOST', message: expect.stringContaining('outcome unknown') },
    });
    const again = await second.last('tool.execution_signal');
    expect(again).toMatchObject({ tool_name: 'read_file', runner_id: 'runner-2', attempt: 2 });
    await result(again.tool_id, { runner_id: 'runner-2' });
    expect(await read).toMatchObject({ status: 'completed' });

    expect((await result(asked.toolId)).message).toContain('stored');
    expect(await second.last('tool.result')).toMatchObject({
      tool_id: asked.toolId,
      late: true,
      status: 'failed',
    });
    expect(await execution(asked.toolId)).toMatchObject({ status: 'failed' });
    expect((await fixture.store.read((tx) => tx.get('results', asked.toolId)))?.late_result).toEqual({
      status: 'completed',
      result: { success: true },
      error: null,
    });
  });

  it('[EV-3] [EX-6] a client without claims does not get a call whose allow rule was removed', async () => {
    const rule = { id: 'mine', effect: 'allow', tool: 'write_file' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const { id, status } = await fixture.submit('write_file', write);
    expect(status).toBe('approved');
    await fixture.engine.policies.replace('ada', { version: 1, rules: [] });
    const plain = await fixture.listen();
    await fixture.engine.dispatcher.offer(id); // as a node does that has no listener
    expect(await plain.last('tool.approval_request')).toMatchObject({ tool_id: id, tool_params: write });
    expect(plain.all('tool.execution_signal')).toEqual([]);
    expect(await execution(id)).toMatchObject({ status: 'awaiting_approval', allowed_by: null });
  });

  it('[EX-7] on reconnect a runner gets its unsettled calls from the state, once', async () => {
    const first = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await first.last('tool.execution_signal');
    const seen = first.ids().at(-1) ?? 0;
    first.close();
    const second = await fixture.listen({ runnerId: 'runner-1', lastEventId: seen - 1 });
    await settle();
    expect(second.all('tool.execution_signal').map((signal) => signal.tool_id)).toEqual([tool_id]);
    await result(tool_id);
    const third = await fixture.listen({ runnerId: 'runner-1', lastEventId: seen - 1 });
    await settle();
    expect(third.all('tool.execution_signal')).toEqual([]);
  });

  it("[RK-5] [VA-8] each signal tells the rules on paths that text alone cannot apply, as the person's policy has them", async () => {
    const rule = { id: 'no-private', effect: 'deny', tool: '*', path: 'private/**' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const first = await fixture.listen({ runnerId: 'runner-1', capabilities: ['path_rules'] });
    void fixture.execute('read_file', { path: 'link/a.md' });
    expect((await first.last('tool.execution_signal')).path_rules).toEqual([rule]);
    first.close();
    const second = await fixture.listen({ runnerId: 'runner-1', capabilities: ['path_rules'] });
    expect((await second.last('tool.execution_signal')).path_rules).toEqual([rule]);
    const { approvalId } = await askedToWrite(second);
    await preview(approvalId);
    await approve(approvalId, { digest: digest('a') });
    expect(await second.last('tool.execution_signal')).toMatchObject({
      tool_name: 'write_file',
      path_rules: [rule],
    });
    await fixture.engine.policies.replace('ada', { version: 1, rules: [] });
    void fixture.execute('read_file', { path: 'link/b.md' });
    expect(await second.last('tool.execution_signal')).not.toHaveProperty('path_rules');
  });

  it('[RK-5] [VA-8] a request for a preview tells them too, when it is made, shown again, previewed and edited', async () => {
    const rule = { id: 'no-private', effect: 'deny', tool: 'write_*', path: 'private/**' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const first = await fixture.listen({ runnerId: 'runner-1' });
    const { approvalId } = await askedToWrite(first);
    expect((await first.last('tool.approval_request')).path_rules).toEqual([rule]);
    first.close();
    const second = await fixture.listen({ runnerId: 'runner-1' });
    expect((await second.last('tool.approval_request')).path_rules).toEqual([rule]);
    await preview(approvalId);
    expect((await second.last('approval.updated')).path_rules).toEqual([rule]);
    await fixture.engine.policies.replace('ada', { version: 1, rules: [] });
    const edited = { path: '.github/workflows/a.yml', content: '', mode: 'write' };
    await codeOf(approve(approvalId, { tool_params: edited, digest: digest('a') }));
    const updated = await second.last('approval.updated');
    expect(updated.tool_params).toEqual(edited);
    expect(updated).not.toHaveProperty('path_rules');
  });

  it('[EX-7] the heartbeat says for each call: go on, cancel, acknowledged', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('read_file', { path: 'a.md' });
    const done = await runner.last('tool.execution_signal');
    await result(done.tool_id);
    void fixture.execute('read_file', { path: 'b.md' });
    const open = await runner.last('tool.execution_signal');
    expect(
      await fixture.engine.dispatcher.heartbeat(fixture.runnerCaller, 'runner-1', [
        done.tool_id,
        open.tool_id,
        'unknown',
      ]),
    ).toEqual({
      [done.tool_id]: 'acknowledged',
      [open.tool_id]: 'go_on',
      unknown: 'cancel',
    });
  });

  it('progress is passed on and not stored', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    const step = { progress: 50, message: 'half', output: { stream: 'stdout' as const, chunk: 'x' } };
    const said = { ...step, runner_id: 'runner-1' };
    await fixture.engine.dispatcher.progress(fixture.runnerCaller, tool_id, said);
    expect(runner.received.at(-1)).toMatchObject({
      id: undefined,
      event: { event: 'tool.progress', data: step },
    });
    await result(tool_id);
    expect(await codeOf(fixture.engine.dispatcher.progress(fixture.runnerCaller, tool_id, said))).toBe(
      'ALREADY_FINAL',
    );
  });
});

describe('[AP-10] after a restart', () => {
  it('pending approvals are shown again and can be decided; the deadline counts on', async () => {
    const before = await fixture.listen({ runnerId: 'runner-1' });
    const asked = await askedToWrite(before);
    await fixture.clock.advance(100_000);
    await fixture.restart();
    const after = await fixture.listen();
    expect(await after.last('tool.approval_request')).toMatchObject({
      approval_id: asked.approvalId,
      remaining_ms: 200_000,
    });
    await fixture.clock.advance(200_000);
    expect(await execution(asked.toolId)).toMatchObject({ status: 'timeout' });
  });

  it('[AP-3] what ran out while the server was down gets 30 s of grace', async () => {
    const before = await fixture.listen({ runnerId: 'runner-1' });
    const asked = await askedToWrite(before);
    fixture.engine.close();
    await fixture.clock.advance(400_000);
    await fixture.restart();
    await fixture.clock.advance(29_000);
    expect(await execution(asked.toolId)).toMatchObject({ status: 'awaiting_approval' });
    await fixture.clock.advance(1_000);
    expect(await execution(asked.toolId)).toMatchObject({ status: 'timeout' });
  });

  it('a lost hint costs a moment, never an answer', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const outcome = fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    fixture.bus.deaf = true;
    await fixture.store.write(function* (tx) {
      yield* tx.update('tool_executions', tool_id, { status: 'completed', completed_at: 1 });
      yield* tx.insert('results', resultRow({ id: tool_id, result: { success: true } }));
    });
    await fixture.clock.advance(5_000);
    expect(await outcome).toMatchObject({ status: 'completed', result: { success: true } });
  });
});

describe('[AG-3] limits of asking', () => {
  it('at most 10 approvals are pending in a session', async () => {
    for (let i = 0; i < 10; i++) void fixture.execute('write_file', { path: `${i}.md`, content: '' });
    await settle();
    expect(await fixture.execute('write_file', { path: 'more.md', content: '' })).toMatchObject({
      status: 'failed',
      error: { code: 'TOO_MANY_PENDING' },
    });
  });

  it('a call that was rejected twice is not asked a third time', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    for (let i = 0; i < 2; i++) await reject((await askedToWrite(runner)).approvalId);
    expect(await fixture.execute('write_file', write)).toMatchObject({
      status: 'failed',
      error: { code: 'REJECTED_BEFORE' },
    });
  });
});

describe('two people', () => {
  const other = { userId: 'bob', tokenId: 'token-bob', scope: 'person' } as const;

  it('nothing of the one is visible to or decidable by the other', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    const bob = await fixture.listen({ userId: 'bob' });
    const asked = await askedToWrite(runner);
    const { approvals, dispatcher } = fixture.engine;
    expect(await codeOf(approvals.approveTool(other, asked.approvalId, {}))).toBe('NOT_FOUND');
    expect(await codeOf(approvals.rejectTool(other, asked.approvalId, {}))).toBe('NOT_FOUND');
    expect(await codeOf(approvals.approvalOf(other, asked.approvalId))).toBe('NOT_FOUND');
    expect(await codeOf(dispatcher.claim(other, asked.toolId, { digest: null }))).toBe('NOT_FOUND');
    expect(
      await codeOf(dispatcher.submitResult(other, asked.toolId, { status: 'completed', result: null })),
    ).toBe('NOT_FOUND');
    expect(await codeOf(dispatcher.cancel(other, asked.toolId, ''))).toBe('NOT_FOUND');
    expect(await approvals.getPendingApprovals('bob')).toEqual([]);
    expect(await approvals.getPendingApprovals('ada')).toHaveLength(1);
    await settle();
    expect(bob.received).toEqual([]);
  });

  it('a runner of another person with the same id gets none of the calls', async () => {
    const runner = await fixture.listen({ runnerId: 'runner-1' });
    void fixture.execute('read_file', { path: 'a.md' });
    const { tool_id } = await runner.last('tool.execution_signal');
    const stranger = await fixture.listen({ runnerId: 'runner-1', userId: 'bob' });
    await fixture.loseRunner('bob', 'runner-1');
    await settle();
    expect(stranger.types()).toEqual([]);
    expect(await execution(tool_id)).toMatchObject({
      status: 'executing',
      runner_id: 'runner-1',
      attempt: 1,
    });
  });
});
