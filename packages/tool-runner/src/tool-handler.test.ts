import { ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, checkShown, type JsonValue } from '@countersign/protocol';
import { settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approvalRequest,
  approvalResolved,
  approvalUpdate,
  readSignal,
  ScriptedExecutor,
  shownDigestOf,
  writeSignal,
} from './call-samples.test-data.ts';
import type { CallContext, ToolResult } from './executor.ts';
import { fileTools } from './files/file-tools.test-data.ts';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import { Journal } from './journal/journal.ts';
import type { DialogAnswer } from './open-approval.ts';
import { shownView } from './preview/call-digest.ts';
import type { ApprovalRequest, Claim, ExecutionSignal } from './runner-api.ts';
import { EndedAfterChanges, ExecutionCancelled, RefusedByServer, ToolTypeError } from './runner-errors.ts';
import { ToolHandler } from './tool-handler.ts';
import type { ToolHandlerConfig } from './tool-handler-config.ts';

let fixture: RunnerFixture;
const handlers: ToolHandler[] = [];

beforeEach(() => {
  fixture = runnerFixture();
});
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler.dispose();
  fixture.remove();
});

function makeHandler(config: ToolHandlerConfig = {}): ToolHandler {
  const { api, dialogs, logger, clock, workspace, configFolder } = fixture;
  const handler = new ToolHandler(api, dialogs, logger, {
    workspace,
    clock,
    configFolder,
    isIsolated: true,
    ...config,
  });
  handlers.push(handler);
  return handler;
}

/** Reads that end when the test says so. */
function heldReads() {
  const held: { context: CallContext; end: (result: ToolResult) => void }[] = [];
  const executor = new ScriptedExecutor(
    ['read_file', 'write_file', 'shell_output', 'shell_exec'],
    (_, context) =>
      new Promise((resolve, reject) => {
        held.push({ context, end: resolve });
        context.signal.addEventListener('abort', () => reject(new ExecutionCancelled()));
      }),
  );
  return { executor, held };
}

const done: ToolResult = { success: true };
const refusedResult = () =>
  Object.assign(new CountersignError('RESULT_CONFLICT'), { message: 'another one stands' });
/** Waits until the server has received `what` this often. Polls, because writing to the disk takes a while. */
const sent = (what: string, times = 1) => expect.poll(() => fixture.api.of(what).length).toBe(times);
const contentOf = (path: string) => readFileSync(join(fixture.files.root, path), 'utf8');

/** A signal for a call as its preview shows it now. */
async function approvedWrite(handler: ToolHandler, over: Parameters<typeof writeSignal>[0] = {}) {
  const signal = writeSignal(over);
  return { ...signal, digest: await shownDigestOf(handler, signal), ...over };
}

describe('a new ToolHandler', () => {
  it('has its executors and nothing else', async () => {
    const handler = makeHandler();
    expect({
      pending: handler.pendingApprovals.size,
      active: handler.activeExecutions.size,
      history: handler.executionHistory,
      count: handler.concurrentCount,
      queue: handler.concurrentQueue,
    }).toEqual({ pending: 0, active: 0, history: [], count: 0, queue: [] });
    const read = await handler.handleToolExecutionSignal(readSignal());
    expect(read).toMatchObject({ status: 'success', output: { encoding: 'utf-8' } });
  });
});

describe('what an editor asks of its runner', () => {
  it('[RN-10] is idle and not wanted at first, and busy while something runs', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    expect([handler.isIdle, handler.wantedBy]).toEqual([true, undefined]);
    const running = handler.handleToolExecutionSignal(readSignal());
    await expect.poll(() => held.length).toBe(1);
    expect(handler.isIdle).toBe(false);
    held[0]?.end(done);
    await running;
    expect(handler.isIdle).toBe(true);
  });

  it('[RN-9] [AP-7] gives the text of a file before and after, and nothing for a call that is refused', async () => {
    const handler = makeHandler();
    const proposed = (path: string) => handler.proposedText('write_file', { path, content: 'new\n' });
    expect(await proposed('notes.md')).toEqual({ path: 'notes.md', before: null, after: 'new\n' });
    expect(await proposed('/etc/passwd')).toBe(undefined);
    expect(await handler.proposedText('write_file', {})).toBe(undefined);
    const { call: _, ...decided } = handler.decide('list_directory', { path: '.' });
    handler.decide = () => ({ ...decided, call: { tool: 'weather__forecast', params: {} } });
    expect(await handler.proposedText('weather__forecast', {})).toBe(undefined);
  });
});

/** Another runner executes the calls, so this program only shows the server's card. */
const elsewhere = { executes: () => false };

describe('handleToolApprovalRequest', () => {
  it('[RN-1] shows the card, and sends that it was approved with the digest that was shown', async () => {
    const handler = makeHandler(elsewhere);
    const digest = `sha256:${'a'.repeat(64)}`;
    const asked = handler.handleToolApprovalRequest(approvalRequest({ digest }));
    await settle();
    expect([...handler.pendingApprovals.keys()]).toEqual(['tool-1']);
    expect(fixture.dialogs.shown[0]?.request.description).toBe('Agent wants to change notes.md');

    fixture.dialogs.answer(true);
    await asked;
    expect(fixture.api.sent).toEqual([
      { what: 'approve', id: 'approval-1', data: { decision: 'approved', digest } },
    ]);
    expect(handler.pendingApprovals.size).toBe(0);
    expect(handler.executionHistory).toMatchObject([{ status: 'approved', user_approved: true }]);
    expect(fixture.logger.messages('info')[0]).toBe(
      'Tool approval request received: tool-1, write_file, risk_level=MEDIUM',
    );
  });

  it('[RN-1] sends that it was rejected', async () => {
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(false);
    await asked;
    expect(fixture.api.of('reject')).toEqual([{ decision: 'rejected', reason: 'User declined' }]);
    expect(handler.executionHistory).toMatchObject([{ status: 'rejected', user_approved: false }]);
  });

  it('[AP-4] [AP-5] [AP-6] passes on scope, edited parameters, reason and message', async () => {
    const handler = makeHandler(elsewhere);
    const first = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    const tool_params: Record<string, JsonValue> = { path: 'notes.md', content: 'edited\n' };
    fixture.dialogs.answer({
      decision: 'approved',
      scope: 'class',
      pattern: 'src/**',
      tool_params,
      include_high: true,
    });
    await first;
    const second = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer({ decision: 'rejected', reason: 'wrong file', message: 'use docs/' });
    await second;
    expect(fixture.api.sent.map(({ data }) => data)).toEqual([
      {
        decision: 'approved',
        scope: 'class',
        pattern: 'src/**',
        tool_params,
        include_high: true,
      },
      { decision: 'rejected', reason: 'wrong file', message: 'use docs/' },
    ]);
  });

  it('[AP-3] withdraws the card when its time is over, and sends nothing', async () => {
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest({ remaining_ms: 1_000 }));
    await fixture.clock.advance(999);
    expect(fixture.dialogs.shown[0]?.signal.aborted).toBe(false);
    await fixture.clock.advance(1);
    await asked;
    expect(fixture.dialogs.shown[0]?.signal.aborted).toBe(true);
    fixture.dialogs.answer(true);
    await settle();
    expect(fixture.api.sent).toEqual([]);
    expect(handler.pendingApprovals.size).toBe(0);
    expect(fixture.logger.messages('error')).toEqual(['Approval card withdrawn: tool-1']);
  });

  it('[RN-1] takes its own time-out only where the event has none', async () => {
    const handler = makeHandler({ ...elsewhere, approvalTimeoutMs: 50 });
    const { remaining_ms: _, ...withSeconds } = approvalRequest({ tool_id: 'a', timeout_seconds: 2 });
    const { timeout_seconds: __, ...without } = { ...withSeconds, tool_id: 'b', approval_id: 'b' };
    void handler.handleToolApprovalRequest(withSeconds as never);
    void handler.handleToolApprovalRequest(without as never);
    await fixture.clock.advance(50);
    expect([...handler.pendingApprovals.keys()]).toEqual(['a']);
    await fixture.clock.advance(1_950);
    expect([...handler.pendingApprovals.keys()]).toEqual([]);
  });

  it('[AP-2] withdraws the card when it was decided elsewhere', async () => {
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    handler.handleApprovalResolved(approvalResolved({ approval_id: 'another' }));
    expect(fixture.dialogs.shown[0]?.signal.aborted).toBe(false);
    handler.handleApprovalResolved(approvalResolved());
    await asked;
    expect(fixture.dialogs.shown[0]?.signal.aborted).toBe(true);
    expect(fixture.api.sent).toEqual([]);
  });

  it('shows the newest version of a request, once', async () => {
    const handler = makeHandler(elsewhere);
    const request = approvalRequest();
    const digest = `sha256:${'b'.repeat(64)}`;
    const asked = handler.handleToolApprovalRequest(request);
    await settle();
    await handler.handleToolApprovalRequest({ ...request, description: 'again' });
    await settle();
    handler.handleApprovalUpdated(approvalUpdate(request, { digest, description: 'with its preview' }));
    await settle();
    expect(
      fixture.dialogs.shown.map(({ request: { description }, signal }) => [description, signal.aborted]),
    ).toEqual([
      ['Agent wants to change notes.md', true],
      ['again', true],
      ['with its preview', false],
    ]);
    fixture.dialogs.answer(true);
    await asked;
    expect(fixture.api.of('approve')).toEqual([{ decision: 'approved', digest }]);
    expect(handler.executionHistory.map(({ status }) => status)).toEqual(['approved']);
  });

  it('gives the newest version to a card that can be updated, and shows it once', async () => {
    const updates: string[] = [];
    Object.assign(fixture.dialogs, {
      updateApprovalDialog: ({ description }: { description: string }) => updates.push(description),
    });
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    handler.handleApprovalUpdated(approvalUpdate(approvalRequest(), { description: 'newer' }));
    await settle();
    fixture.dialogs.answer({ decision: 'approved', digest: `sha256:${'c'.repeat(64)}` });
    await asked;
    expect([updates, fixture.dialogs.shown.length]).toEqual([['newer'], 1]);
    expect(fixture.api.of('approve')).toEqual([{ decision: 'approved', digest: `sha256:${'c'.repeat(64)}` }]);
  });

  it('[AP-8] shows the card again when there was something newer to look at', async () => {
    fixture.api.failures.approve = [new CountersignError('PREVIEW_PENDING')];
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest({ risk_level: 'HIGH' }));
    await settle();
    fixture.dialogs.answer(true);
    await sent('failed approve');
    await settle();
    expect(fixture.dialogs.shown.length).toBe(1);
    handler.handleApprovalUpdated(approvalUpdate(approvalRequest(), { description: 'with its preview' }));
    await settle();
    expect(fixture.dialogs.shown[1]?.request.description).toBe('with its preview');
    fixture.dialogs.answer(true);
    await asked;
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed approve', 'approve']);
  });

  it('a newer request for the same call takes the place of the card before it', async () => {
    const handler = makeHandler(elsewhere);
    const first = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    void handler.handleToolApprovalRequest(approvalRequest({ approval_id: 'approval-2' }));
    await first;
    await settle();
    expect(fixture.dialogs.shown.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(handler.pendingApprovals.get('tool-1')?.request.approval_id).toBe('approval-2');
  });

  it('[RN-1] sends a decision again, three times at most', async () => {
    fixture.api.failures.approve = [new Error('1'), new Error('2'), new Error('3'), new Error('4')];
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(true);
    for (const [i, ms] of [500, 1_000, 2_000].entries()) {
      await sent('failed approve', i + 1);
      await fixture.clock.advance(ms);
    }
    await asked;
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(Array(4).fill('failed approve'));
    expect(handler.executionHistory).toMatchObject([{ status: 'pending' }]);

    fixture.api.failures.approve = [new Error('1')];
    const again = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(true);
    await sent('failed approve', 5);
    await fixture.clock.advance(500);
    await again;
    expect(handler.executionHistory).toMatchObject([{ status: 'approved', user_approved: true }]);
  });

  it('does not repeat a decision that the server will never take', async () => {
    fixture.api.failures.reject = [new CountersignError('NOT_FOUND', { what: 'approval' })];
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(false);
    await asked;
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed reject']);
  });

  it('stops sending when the request was decided elsewhere meanwhile', async () => {
    fixture.api.failures.approve = [new Error('offline')];
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(true);
    await sent('failed approve');
    await settle();
    handler.handleApprovalResolved(approvalResolved({ status: 'rejected' }));
    await asked;
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed approve']);
  });

  it('[AP-2] a decision that was overruled is none of ours', async () => {
    fixture.api.decision = { outcome: 'overruled', standing: { status: 'rejected', device: 'phone' } };
    const handler = makeHandler(elsewhere);
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    fixture.dialogs.answer(true);
    await asked;
    expect(handler.executionHistory).toMatchObject([{ status: 'pending' }]);
    expect(fixture.logger.messages('info')).toContain('Decided elsewhere: tool-1 is rejected');
  });

  it('a card that breaks decides nothing', async () => {
    fixture.dialogs.showApprovalDialog = () => Promise.reject(new Error('no screen'));
    const handler = makeHandler(elsewhere);
    await handler.handleToolApprovalRequest(approvalRequest());
    expect(fixture.api.sent).toEqual([]);
    expect(fixture.logger.messages('error')).toEqual(['Approval card failed: tool-1']);
  });

  it('refuses an unknown tool', async () => {
    const handler = makeHandler(elsewhere);
    await expect(
      handler.handleToolApprovalRequest(approvalRequest({ tool_name: 'format_disk' })),
    ).rejects.toThrow(ToolTypeError);
    expect(fixture.dialogs.shown).toEqual([]);
  });

  it('shows no dialogs without a dialogProvider', async () => {
    const { api, logger, workspace, clock, configFolder } = fixture;
    const handler = new ToolHandler(api, undefined, logger, { workspace, clock, configFolder });
    handlers.push(handler);
    await handler.handleToolApprovalRequest(approvalRequest());
    expect(handler.pendingApprovals.size).toBe(0);
  });
});

describe('handleToolExecutionSignal', () => {
  it('gives the call to the executor that names its tool, and sends its result', async () => {
    const reads = new ScriptedExecutor(['read_file'], () => ({ success: true, content: 'text' }));
    const lists = new ScriptedExecutor(['list_directory'], () => done);
    const handler = makeHandler({ executors: [reads, lists] });
    const result = await handler.handleToolExecutionSignal(readSignal());
    await settle();
    expect(result).toMatchObject({
      tool_id: 'tool-1',
      tool_type: 'read_file',
      status: 'success',
      output: { success: true, content: 'text' },
    });
    expect([reads.executed.length, lists.executed.length]).toEqual([1, 0]);
    expect(fixture.api.reports).toEqual([
      { status: 'completed', result: { success: true, content: 'text' }, attempt: 1, execution_time_ms: 0 },
    ]);
    expect(fixture.logger.messages('info')).toEqual([
      'Tool execution signal received: tool-1, read_file',
      'Tool execution started: tool-1, read_file',
      'Tool execution completed: tool-1',
    ]);
    expect(handler.executionHistory).toMatchObject([
      { status: 'completed', duration_ms: 0, risk_level: 'LOW' },
    ]);
  });

  it('[EX-6] claims with the recomputed digest before it writes, and journals', async () => {
    const handler = makeHandler();
    const signal = await approvedWrite(handler);
    const result = await handler.handleToolExecutionSignal(signal);
    await settle();
    expect(result.status).toBe('success');
    expect(contentOf('notes.md')).toBe('new\n');
    expect(fixture.api.sent.map(({ what, data }) => [what, data])).toEqual([
      ['claim', { digest: signal.digest, attempt: 1 }],
      ['result', expect.objectContaining({ status: 'completed', attempt: 1 })],
    ]);
  });

  it('[EX-6] answers a repeated signal from the journal, also in its next life', async () => {
    const handler = makeHandler();
    const signal = await approvedWrite(handler);
    const first = await handler.handleToolExecutionSignal(signal);
    writeFileSync(join(fixture.files.root, 'notes.md'), 'mine\n');
    const second = await handler.handleToolExecutionSignal(signal);
    await handler.dispose();
    const third = await makeHandler().handleToolExecutionSignal(signal);
    expect([second.output, third.output]).toEqual([first.output, first.output]);
    expect(contentOf('notes.md')).toBe('mine\n');
    expect(fixture.api.of('claim').length).toBe(1);
  });

  it('a repeated signal of a call that runs joins it', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const first = handler.handleToolExecutionSignal(readSignal());
    const second = handler.handleToolExecutionSignal(readSignal());
    await settle();
    const third = handler.handleToolExecutionSignal(readSignal());
    await settle();
    expect(held.length).toBe(1);
    held[0]?.end(done);
    expect([await second, await third]).toEqual([await first, await first]);
  });

  it('a newer attempt ends the one before it', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const first = handler.handleToolExecutionSignal(readSignal());
    await settle();
    const second = handler.handleToolExecutionSignal(readSignal({ attempt: 2 }));
    expect((await first).status).toBe('cancelled');
    await settle();
    held[1]?.end(done);
    expect((await second).status).toBe('success');
  });

  it('[EX-6] an old signal that the stream repeats neither ends a newer attempt nor starts anything', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const first = handler.handleToolExecutionSignal(await approvedWrite(handler));
    await expect.poll(() => held.length).toBe(1);
    held[0]?.end(done);
    await first;
    const third = handler.handleToolExecutionSignal(await approvedWrite(handler, { attempt: 3 }));
    await expect.poll(() => held.length).toBe(2);
    const repeat = async (attempt: number) =>
      (await handler.handleToolExecutionSignal(await approvedWrite(handler, { attempt }))).status;
    // The first attempt is answered from the journal. The second never came here, and is not run any more.
    expect([await repeat(1), await repeat(2)]).toEqual(['success', 'cancelled']);
    expect(held[1]?.context.signal.aborted).toBe(false);
    held[1]?.end(done);
    expect((await third).status).toBe('success');
    expect([await repeat(2), held.length]).toEqual(['cancelled', 2]);
    await sent('result', 3);
    expect(fixture.api.reports.map(({ attempt }) => attempt)).toEqual([1, 1, 3]);
  });

  it("[VA-8] the machine's own verdict refuses what the server let through", async () => {
    const handler = makeHandler();
    const result = await handler.handleToolExecutionSignal(readSignal({ tool_params: { path: '.env' } }));
    await settle();
    expect(result).toMatchObject({ status: 'error', error: { code: 'PATH_SENSITIVE' } });
    expect(fixture.api.reports).toMatchObject([{ status: 'failed', error: { code: 'PATH_SENSITIVE' } }]);
  });

  it('[VA-8] what is LOW for the server and not here is asked about first', async () => {
    writeFileSync(
      join(fixture.configFolder, 'policy.json'),
      JSON.stringify({
        version: 1,
        rules: [{ id: 'ask', effect: 'ask', tool: 'read_file', path: 'docs/**' }],
      }),
      { mode: 0o600 },
    );
    const handler = makeHandler();
    const result = await handler.handleToolExecutionSignal(
      readSignal({ tool_params: { path: 'docs/guide.md' } }),
    );
    expect(result.error).toEqual({
      code: 'APPROVAL_STALE',
      message: expect.stringContaining('it is MEDIUM here, and nobody has approved it'),
      details: { problem: 'it is MEDIUM here, and nobody has approved it' },
    });
  });

  it('[RN-2] being merely pending is not being approved', async () => {
    const handler = makeHandler();
    void handler.handleToolApprovalRequest(approvalRequest());
    await settle();
    const signal = await approvedWrite(handler, { approval_id: null, approved_by: 'auto' });
    const result = await handler.handleToolExecutionSignal(signal);
    expect(result.error?.code).toBe('APPROVAL_STALE');
    expect(fixture.api.of('claim')).toEqual([]);
  });

  it('[AP-8] nothing runs when the file is not the one that was shown', async () => {
    writeFileSync(join(fixture.files.root, 'notes.md'), 'old\n');
    const handler = makeHandler();
    const signal = await approvedWrite(handler);
    writeFileSync(join(fixture.files.root, 'notes.md'), 'changed\n');
    const result = await handler.handleToolExecutionSignal(signal);
    await settle();
    expect(result.error?.code).toBe('APPROVAL_STALE');
    expect(contentOf('notes.md')).toBe('changed\n');
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['result']);
  });

  it('[AP-8] what was approved and cannot be planned any more is stale too', async () => {
    writeFileSync(join(fixture.files.root, 'notes.md'), 'old\n');
    const handler = makeHandler();
    const edit = { tool_name: 'edit_file', tool_params: { path: 'notes.md', old: 'old', new: 'new' } };
    const signal = await approvedWrite(handler, edit);
    writeFileSync(join(fixture.files.root, 'notes.md'), 'changed\n');
    expect((await handler.handleToolExecutionSignal(signal)).error?.code).toBe('APPROVAL_STALE');
    // A grant approved the call, so no person has seen it: the model is told what is wrong with its call.
    const grant = {
      tool: '*',
      pattern: null,
      max_risk: 'MEDIUM' as const,
      session_id: 'session',
      workspace: fixture.workspace.root,
      expires_at: null,
    };
    const granted = writeSignal({
      ...edit,
      attempt: 2,
      approval_id: null,
      approved_by: 'config',
      grant_id: 'g',
      grant,
    });
    expect((await handler.handleToolExecutionSignal(granted)).error?.code).toBe('EDIT_NO_MATCH');
  });

  it.each([
    ['is changed', () => writeFileSync(join(fixture.files.root, 'run.mjs'), 'evil()'), 'APPROVAL_STALE'],
    [
      'leads to a secret',
      () => {
        rmSync(join(fixture.files.root, 'run.mjs'));
        symlinkSync('.env', join(fixture.files.root, 'run.mjs'));
      },
      'PATH_SENSITIVE',
    ],
  ] as const)('[AP-8] nothing runs when the script %s while the call is claimed', async (_, change, code) => {
    writeFileSync(join(fixture.files.root, 'run.mjs'), 'shown()');
    writeFileSync(join(fixture.files.root, '.env'), 'SECRET=1');
    const executor = new ScriptedExecutor(['execute_command'], () => done);
    const handler = makeHandler({ executors: [executor] });
    const tool_params = { command: 'node', args: ['run.mjs'] };
    const signal = await approvedWrite(handler, { tool_name: 'execute_command', tool_params });
    const { startToolExecution } = fixture.api;
    fixture.api.startToolExecution = async (...claim) => {
      await startToolExecution.apply(fixture.api, claim);
      change();
    };
    const result = await handler.handleToolExecutionSignal(signal);
    await settle();
    expect([result.error?.code, executor.executed, fixture.api.reports.length]).toEqual([code, [], 1]);
    // The call had not begun, so the next attempt does not count as a repetition of one that had.
    writeFileSync(join(fixture.files.root, 'script.mjs'), 'shown()');
    fixture.api.startToolExecution = startToolExecution;
    const params = { command: 'node', args: ['script.mjs'] };
    const next = await approvedWrite(handler, {
      tool_name: 'execute_command',
      tool_params: params,
      attempt: 2,
    });
    expect((await handler.handleToolExecutionSignal(next)).status).toBe('success');
  });

  it("[RK-5] [VA-8] nor when a link leads by then to what the person's policy at the server denies", async () => {
    const at = (name: string) => join(fixture.files.root, name);
    mkdirSync(at('private'));
    writeFileSync(at('private/a.md'), 'private');
    writeFileSync(at('open.md'), 'open');
    symlinkSync('open.md', at('link.md'));
    const executor = new ScriptedExecutor(['execute_command'], () => done);
    const handler = makeHandler({ executors: [executor] });
    const path_rules = [{ id: 'no-private', effect: 'deny', tool: '*', path: 'private/**' }] as const;
    const tool_params = { command: 'cat', args: ['link.md'] };
    const signal = await approvedWrite(handler, { tool_name: 'execute_command', tool_params });
    const { startToolExecution } = fixture.api;
    fixture.api.startToolExecution = async (...claim) => {
      await startToolExecution.apply(fixture.api, claim);
      rmSync(at('link.md'));
      symlinkSync('private/a.md', at('link.md'));
    };
    const result = await handler.handleToolExecutionSignal({ ...signal, path_rules: [...path_rules] });
    expect([result.error?.code, executor.executed]).toEqual(['DENIED_BY_POLICY', []]);
  });

  it('[RN-2] a call whose claim is refused does not run, and nothing is reported', async () => {
    fixture.api.failures.claim = [
      new CountersignError('CLAIM_REFUSED', { problem: 'it is being cancelled' }),
    ];
    const handler = makeHandler();
    const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    await settle();
    expect(result.error).toEqual({
      code: 'CLAIM_REFUSED',
      message: 'This call may not start: it is being cancelled. Do not execute it.',
    });
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed claim']);
    expect(() => contentOf('notes.md')).toThrow();
  });

  it.each(['APPROVAL_STALE', 'GRANT_REVOKED', 'NOT_FOUND'] as const)(
    '[EX-6] a claim that is refused with %s is not made again',
    async (code) => {
      const refused = new CountersignError(code, { problem: 'x', what: 'tool call', grant: 'g' });
      fixture.api.failures.claim = [refused];
      const handler = makeHandler();
      const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
      await fixture.clock.advance(60_000);
      expect(result.error?.code).toBe(code);
      expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed claim']);
    },
  );

  it('asks for a claim again whose answer was lost, and gives up when it is cancelled', async () => {
    fixture.api.failures.claim = [
      new Error('offline'),
      new CountersignError('UNAVAILABLE', { problem: 'x' }),
    ];
    const handler = makeHandler();
    const first = handler.handleToolExecutionSignal(await approvedWrite(handler));
    await sent('failed claim');
    await fixture.clock.advance(500);
    await sent('failed claim', 2);
    await fixture.clock.advance(1_000);
    expect((await first).status).toBe('success');

    fixture.api.failures.claim = [new Error('offline')];
    const second = handler.handleToolExecutionSignal(await approvedWrite(handler, { tool_id: 'tool-2' }));
    await sent('failed claim', 3);
    await settle();
    handler.handleToolCancel({ tool_id: 'tool-2' });
    expect((await second).status).toBe('cancelled');
  });

  it('[EX-6] asks for a claim again that a server without room could not keep', async () => {
    const full = { problem: 'database or disk is full', remedy: 'Free space' };
    fixture.api.failures.claim = [new CountersignError('STORAGE_FULL', full)];
    const handler = makeHandler();
    const done = handler.handleToolExecutionSignal(await approvedWrite(handler));
    await sent('failed claim');
    await fixture.clock.advance(500);
    expect((await done).status).toBe('success');
  });

  it('a claim that fails permanently is reported', async () => {
    fixture.api.failures.claim = [new CountersignError('FORBIDDEN', { scope: 'runner' })];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    await settle();
    expect(fixture.api.reports).toMatchObject([{ status: 'failed', error: { code: 'FORBIDDEN' } }]);
  });

  it('[RN-2] without a way to claim it can only read', async () => {
    Object.assign(fixture.api, { startToolExecution: undefined });
    const handler = makeHandler();
    const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    expect(result.error?.code).toBe('CLAIM_REFUSED');
    expect((await handler.handleToolExecutionSignal(readSignal({ tool_id: 'tool-2' }))).status).toBe(
      'success',
    );
  });

  it('[EX-6] an attempt that started and whose end is unknown is not repeated', async () => {
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    const handler = makeHandler({ journal });
    await handler.handleToolExecutionSignal(readSignal({ tool_id: 'first' })); // the journal is settled
    journal.start('tool-1', 1, 'write_file', { approvalId: 'approval-1', isDecisionNeeded: false });
    const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    journal.close();
    expect(result).toMatchObject({ status: 'error', error: { code: 'RUNNER_LOST' }, duration_ms: 0 });
  });

  it('[RN-3] nothing runs when the journal cannot be written', async () => {
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    const handler = makeHandler({ journal });
    const signal = await approvedWrite(handler);
    journal.start = () => {
      throw new CountersignError('JOURNAL_UNAVAILABLE', { problem: 'the disk is full' });
    };
    const result = await handler.handleToolExecutionSignal(signal);
    expect(result.error?.code).toBe('JOURNAL_UNAVAILABLE');
    expect(() => contentOf('notes.md')).toThrow();
    journal.close();
  });

  it('[RN-3] what happened is reported even when its end cannot be journalled', async () => {
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    const executor = new ScriptedExecutor(['write_file'], () => {
      journal.close();
      return done;
    });
    const handler = makeHandler({ journal, executors: [executor] });
    const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    await settle();
    expect(result.status).toBe('success');
    expect(fixture.api.reports).toMatchObject([{ status: 'completed' }]);
    handler.handleToolResultAck({ tool_id: 'tool-1', status: 'received', audit_head: '1:a', timestamp: '' });
    handler.applyHeartbeatAnswer({ calls: {}, audit_head: '1:a' });
    expect(fixture.logger.messages('error')).toEqual([
      'Result not journalled: tool-1',
      'Acknowledgement not journalled: tool-1',
      'Audit head not recorded',
    ]);
  });

  it('[RN-3] a harmless call may not change files', async () => {
    const executor = new ScriptedExecutor(['read_file'], (_, { changes }) => {
      changes.begin([]);
      return done;
    });
    const handler = makeHandler({ executors: [executor] });
    const result = await handler.handleToolExecutionSignal(readSignal());
    expect(result.error?.code).toBe('JOURNAL_UNAVAILABLE');
  });

  it('[RN-5] gives network only where both sides say so, and the digest that was approved', async () => {
    const executor = new ScriptedExecutor(['write_file'], () => done);
    const handler = makeHandler({ executors: [executor] });
    const signal = await approvedWrite(handler, { network: true });
    const own = handler.decide(signal.tool_name, signal.tool_params);
    await handler.handleToolExecutionSignal(signal);
    expect(executor.executed[0]?.context).toMatchObject({
      network: false,
      digest: (await handler.previews.preview(executor.executed[0]?.call as never, own)).base,
      riskLevel: 'MEDIUM',
      sessionId: 'session',
      details: own.details,
    });
  });

  it('sends the progress of a call', async () => {
    const executor = new ScriptedExecutor(['read_file'], (_, { onProgress }) => {
      onProgress({ percent: 50, message: 'half' });
      return done;
    });
    await makeHandler({ executors: [executor] }).handleToolExecutionSignal(readSignal());
    expect(fixture.api.of('progress')).toEqual([{ progress: 50, message: 'half', output: null }]);
  });
});

describe('errors', () => {
  it('an error of an executor is logged, reported, and stops nothing else', async () => {
    const executor = new ScriptedExecutor(['read_file', 'write_file'], (call) => {
      if (call.tool === 'write_file') throw new Error('the disk is on fire, password=hunter2secret');
      return done;
    });
    const handler = makeHandler({ executors: [executor] });
    const failed = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    const next = await handler.handleToolExecutionSignal(readSignal({ tool_id: 'tool-2' }));
    expect([failed.status, failed.error?.code, next.status]).toEqual([
      'error',
      'EXECUTION_FAILED',
      'success',
    ]);
    expect(handler.executionHistory[0]).toMatchObject({
      status: 'failed',
      error: 'The tool failed: the disk is on fire, password=hunter2secret.',
    });
    expect(fixture.logger.messages('error')).toEqual(['Tool error: tool-1']);
    expect(JSON.stringify(fixture.logger.lines)).not.toContain('hunter2secret');
  });

  it('something else than an error is reported too', async () => {
    const executor = new ScriptedExecutor(['read_file'], () => {
      throw 'just words';
    });
    const result = await makeHandler({ executors: [executor] }).handleToolExecutionSignal(readSignal());
    expect(result.error).toEqual({ code: 'EXECUTION_FAILED', message: 'The tool failed: just words.' });
  });

  it('[RN-1] error.details say what the message was made of (founding documents: local-tool-execution)', async () => {
    const files = fixture.files.root;
    const executor = new ScriptedExecutor(['read_file', 'write_file', 'list_directory'], (call) => {
      if (call.tool === 'read_file') readFileSync(join(files, 'missing'));
      if (call.tool === 'list_directory')
        return { success: false, exit_code: 3, code: 'COMMAND_FAILED', error: 'ended with 3' };
      throw new CountersignError(
        'WRITE_FAILED',
        { path: 'notes.md', problem: 'no room' },
        { cause: new Error('ENOSPC') },
      );
    });
    const handler = makeHandler({ executors: [executor] });
    const written = await approvedWrite(handler, { tool_id: 'w' });
    const detailsOf = async (signal: ExecutionSignal) =>
      (await handler.handleToolExecutionSignal(signal)).error?.details;
    const path = join(files, 'missing');
    expect(await detailsOf(written)).toEqual({ path: 'notes.md', problem: 'no room', cause: 'ENOSPC' });
    // The journal has the details too; the server does not get them.
    expect(await detailsOf(written)).toEqual({ path: 'notes.md', problem: 'no room', cause: 'ENOSPC' });
    expect(await detailsOf(readSignal({ tool_id: 'r' }))).toEqual({
      name: 'Error',
      code: 'ENOENT',
      syscall: 'open',
      path,
    });
    expect(
      await detailsOf(readSignal({ tool_id: 'l', tool_name: 'list_directory', tool_params: { path: '.' } })),
    ).toEqual({ exit_code: 3 });
    expect(await detailsOf(readSignal({ tool_id: 'o', tool_params: { path: '/etc/passwd' } }))).toEqual({
      reasons: [{ rule: expect.any(String), why: expect.any(String) }],
    });
  });

  it('a tool that no executor has is a ToolTypeError', async () => {
    const handler = makeHandler({ executors: [] });
    const result = await handler.handleToolExecutionSignal(readSignal());
    expect(result.error?.code).toBe('UNKNOWN_TOOL');
    const custom = await handler.handleToolExecutionSignal(
      readSignal({ tool_id: 'custom', tool_name: 'weather__forecast', tool_params: {} }),
    );
    expect(custom.error?.code).toBe('UNKNOWN_TOOL');
  });

  it('[TL-2] a command that ended by itself completed, a killed or late one failed and says what it had printed (founding documents: tools-specification)', async () => {
    const outcomes: ToolResult[] = [
      { success: false, stdout: 'a', exit_code: null, code: 'COMMAND_FAILED', error: 'killed' },
      { success: false, stdout: 'b', code: 'COMMAND_TIMEOUT', error: 'too slow' },
      { success: false },
      { success: false, stdout: '', exit_code: 1 },
    ];
    const executor = new ScriptedExecutor(['read_file'], () => outcomes.shift() as ToolResult);
    const handler = makeHandler({ executors: [executor] });
    const results = [];
    for (const tool_id of ['a', 'b', 'c', 'd'])
      results.push(await handler.handleToolExecutionSignal(readSignal({ tool_id })));
    await settle();
    expect(results.map(({ status, error }) => [status, error?.code])).toEqual([
      ['error', 'COMMAND_FAILED'],
      ['timeout', 'COMMAND_TIMEOUT'],
      ['error', 'EXECUTION_FAILED'],
      ['success', undefined],
    ]);
    expect(fixture.api.reports[3]).toMatchObject({
      status: 'completed',
      result: { success: false, exit_code: 1 },
    });
    expect(fixture.api.reports[0]).toMatchObject({
      status: 'failed',
      result: { stdout: 'a' },
      error: { code: 'COMMAND_FAILED', message: 'killed', recoverable: true },
    });
  });
});

describe('limits (founding documents: local-tool-execution)', () => {
  const runFor = (handler: ToolHandler, timeout: number) =>
    handler.decide('execute_command', { command: 'ls', args: [], timeout }).verdict;
  const writeLimits = (limits: object) =>
    writeFileSync(join(fixture.configFolder, 'runner.json'), JSON.stringify({ version: 1, limits }), {
      mode: 0o600,
    });

  it('[TL-3] come from runner.json, which may raise; what the program says may only lower', async () => {
    writeLimits({ commandTimeoutMs: 600_000, concurrencyLimit: 1 });
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor], concurrencyLimit: 30 });
    expect([runFor(handler, 600).decision, runFor(handler, 601).decision]).toEqual(['LOW', 'REJECT']);
    const running = ['a', 'b'].map((tool_id) => handler.handleToolExecutionSignal(readSignal({ tool_id })));
    await expect.poll(() => held.length).toBe(1);
    expect([handler.concurrentCount, handler.concurrentQueue]).toEqual([1, ['b']]);
    held[0]?.end(done);
    await expect.poll(() => held.length).toBe(2);
    held[1]?.end(done);
    await Promise.all(running);
    await handler.dispose();

    const lowered = makeHandler({ commandTimeoutMs: 60_000, fileSizeMaxBytes: 3 });
    expect([runFor(lowered, 60).decision, runFor(lowered, 61)]).toMatchObject([
      'LOW',
      { decision: 'REJECT', code: 'TIMEOUT_TOO_LONG' },
    ]);
    expect((await lowered.handleToolExecutionSignal(readSignal())).error?.code).toBe('FILE_TOO_LARGE');
  });

  it('[TL-3] an invalid setting of a program or a file is reported by name', () => {
    expect(() => makeHandler({ commandTimeoutMs: -1 })).toThrow('commandTimeoutMs: ');
    writeLimits({ entriesMax: 0 });
    expect(() => makeHandler()).toThrow('limits.entriesMax: ');
  });

  it("[TL-3] the server's are joined when it tells them, and never raise", async () => {
    const handler = makeHandler();
    handler.applyHeartbeatAnswer({ calls: {}, limits: { commandTimeoutMaxSeconds: 60, fileBytes: 3 } });
    expect([runFor(handler, 60).decision, runFor(handler, 61).decision]).toEqual(['LOW', 'REJECT']);
    expect((await handler.handleToolExecutionSignal(readSignal())).error?.code).toBe('FILE_TOO_LARGE');
    handler.applyHeartbeatAnswer({ calls: {}, limits: { commandTimeoutMaxSeconds: 900 } });
    expect([runFor(handler, 300).decision, runFor(handler, 301).decision]).toEqual(['LOW', 'REJECT']);
    expect(handler.settings.limits.commandTimeoutMaxSeconds).toBe(300);
  });

  it('[TL-3] a call that names no time has the default in force', () => {
    writeLimits({ commandTimeoutDefaultMs: 45_000 });
    const { call } = makeHandler().decide('execute_command', { command: 'ls' });
    expect(call?.params).toEqual({ command: 'ls', args: [], timeout: 45 });
  });
});

describe('concurrency', () => {
  it('[EX-8] a call that is cancelled between its turn and its start does nothing', async () => {
    const executor = new ScriptedExecutor(['read_file'], () => done);
    const handler = makeHandler({ executors: [executor] });
    await handler.handleToolExecutionSignal(readSignal({ tool_id: 'first' }));
    const running = handler.handleToolExecutionSignal(readSignal());
    while (!handler.activeExecutions.has('tool-1')) await Promise.resolve();
    handler.handleToolCancel({ tool_id: 'tool-1' });
    expect([(await running).status, executor.executed.length]).toEqual(['cancelled', 1]);
  });

  it('[EX-4] executes three at once and the others in order', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const results = [1, 2, 3, 4, 5].map((n) =>
      handler.handleToolExecutionSignal(readSignal({ tool_id: `tool-${n}` })),
    );
    await settle();
    expect([handler.concurrentCount, handler.concurrentQueue]).toEqual([3, ['tool-4', 'tool-5']]);
    expect(handler.heartbeat()).toEqual({
      queued: ['tool-4', 'tool-5'],
      executing: ['tool-1', 'tool-2', 'tool-3'],
      unacknowledged: [],
    });
    held[1]?.end(done);
    await settle();
    expect(held.map(({ context }) => context.toolId)).toEqual(['tool-1', 'tool-2', 'tool-3', 'tool-4']);
    held[0]?.end(done);
    held[2]?.end(done);
    await settle();
    held[3]?.end(done);
    held[4]?.end(done);
    await Promise.all(results);
    expect([handler.concurrentCount, handler.activeExecutions.size]).toEqual([0, 0]);
  });

  it('[EX-4] what concerns jobs takes no slot', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor], concurrencyLimit: 1 });
    void handler.handleToolExecutionSignal(readSignal({ tool_id: 'a' }));
    void handler.handleToolExecutionSignal(
      readSignal({ tool_id: 'b', tool_name: 'shell_output', tool_params: { job_id: 'job' } }),
    );
    await settle();
    expect(held.map(({ context }) => context.toolId).sort()).toEqual(['a', 'b']);
    expect(handler.concurrentCount).toBe(1);
  });

  it('[EX-4] more than 1,000 waiting is a CONCURRENCY_LIMIT', async () => {
    const { executor } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const results = Array.from({ length: 1004 }, (_, n) =>
      handler.handleToolExecutionSignal(readSignal({ tool_id: `tool-${n}` })),
    );
    const refused = await results[1003];
    expect(refused?.error?.code).toBe('CONCURRENCY_LIMIT');
    expect(handler.concurrentQueue.length).toBe(1000);
  });

  it('[EX-8] cancels in the queue and while executing', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor], concurrencyLimit: 1 });
    const first = handler.handleToolExecutionSignal(readSignal({ tool_id: 'a' }));
    const second = handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }));
    await settle();
    handler.handleToolCancel({ tool_id: 'b' });
    expect((await second).status).toBe('cancelled');
    handler.applyHeartbeatAnswer({ calls: { a: 'cancel', unknown: 'cancel', other: 'go_on' } });
    expect((await first).status).toBe('cancelled');
    await settle();
    expect(held.length).toBe(1);
    expect(fixture.api.reports).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
  });

  it('a call that was cancelled before it began does nothing', async () => {
    const executor = new ScriptedExecutor(['shell_output'], () => done);
    const handler = makeHandler({ executors: [executor] });
    const claimed = makeHeldClaim();
    const signal = await approvedWrite(handler);
    const writing = new ScriptedExecutor(['write_file'], () => done);
    const second = makeHandler({
      executors: [writing],
      workspace: { ...fixture.workspace, stateFolder: join(fixture.workspace.stateFolder, 'second') },
    });
    const result = second.handleToolExecutionSignal(signal);
    await claimed.asked;
    second.handleToolCancel({ tool_id: 'tool-1' });
    claimed.answer();
    expect((await result).status).toBe('cancelled');
    expect(writing.executed).toEqual([]);
  });
});

/** A claim whose answer takes as long as the test wants. */
function makeHeldClaim(): { asked: Promise<void>; answer: () => void } {
  let answer = () => {};
  const asked = new Promise<void>((resolveAsked) => {
    fixture.api.startToolExecution = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
        resolveAsked();
      });
  });
  return { asked, answer: () => answer() };
}

describe('results', () => {
  it('[EX-6] are sent until they are acknowledged', async () => {
    fixture.api.failures.result = [new Error('offline'), new Error('offline')];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal());
    await settle();
    expect(handler.heartbeat().unacknowledged).toEqual(['tool-1']);
    await fixture.clock.advance(500);
    handler.resendResults();
    await settle();
    expect(fixture.api.sent.map(({ what }) => what)).toEqual(['failed result', 'failed result', 'result']);
    expect(handler.heartbeat().unacknowledged).toEqual([]);
  });

  it('[EX-7] an acknowledgement by event or heartbeat ends the sending', async () => {
    fixture.api.failures.result = [new Error('offline'), new Error('offline')];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal({ tool_id: 'a' }));
    await handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }));
    await settle();
    handler.handleToolResultAck({ tool_id: 'a', status: 'received', attempt: 1, timestamp: '' });
    handler.applyHeartbeatAnswer({ calls: { b: 'acknowledged' } });
    expect(handler.heartbeat().unacknowledged).toEqual([]);
    await fixture.clock.advance(60_000);
    expect(fixture.api.reports).toEqual([]);
    expect(fixture.logger.messages('info')).toContain('Tool result ack received: a, received');
  });

  it('[EX-6] an acknowledgement of another attempt, or of none, drops no result', async () => {
    fixture.api.failures.result = [new Error('offline')];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal({ attempt: 3 }));
    await settle();
    const ack = { tool_id: 'tool-1', status: 'received', timestamp: '' } as const;
    handler.handleToolResultAck({ ...ack, attempt: 1 });
    await settle();
    expect([handler.heartbeat().unacknowledged, fixture.api.reports]).toEqual([['tool-1'], []]);
    // An acknowledgement without an attempt may be about this result: the result is sent once more, and the server's
    // answer tells.
    handler.handleToolResultAck({ ...ack, audit_head: '5:aa' });
    await settle();
    expect([handler.heartbeat().unacknowledged, fixture.api.reports.length]).toEqual([[], 1]);
  });

  it('a result that the server refuses is logged and not sent again', async () => {
    fixture.api.failures.result = [refusedResult()];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal());
    await settle();
    handler.handleToolResultAck({ tool_id: 'tool-1', status: 'rejected', error: 'no', timestamp: '' });
    expect(fixture.logger.lines.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        message: 'Tool result refused: tool-1',
        details: { call: 'tool-1', refused: 'RESULT_CONFLICT: another one stands' },
      },
      { level: 'error', message: 'Tool result rejected: tool-1', details: { call: 'tool-1', error: 'no' } },
    ]);
    expect(fixture.api.of('failed result').length).toBe(1);
  });

  it('a result that the server refuses stays in the journal, and the next life does not send it', async () => {
    fixture.api.failures.result = [new RefusedByServer('INTERNAL', 'no such thing any more', true)];
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    await sent('failed result');
    await handler.dispose();
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    expect([journal.attempt('tool-1', 1)?.report?.status, journal.unacknowledged()]).toEqual([
      'completed',
      [],
    ]);
    journal.close();
  });

  it('[DA-4] keeps the audit head, and says when the server goes back', async () => {
    fixture.api.resultAnswer = { audit_head: '7:abc' };
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal());
    await settle();
    handler.applyHeartbeatAnswer({ calls: {}, audit_head: '8:def' });
    expect(fixture.logger.messages('error')).toEqual([]);
    handler.applyHeartbeatAnswer({ calls: {}, audit_head: '7:abc' });
    expect(fixture.logger.lines.at(-1)).toEqual({
      level: 'error',
      message: "Server's audit log was cut or rewritten",
      details: { head: '7:abc', seen: '8:def' },
    });
  });

  it('history is bounded', async () => {
    const executor = new ScriptedExecutor(['read_file'], () => done);
    const handler = makeHandler({ executors: [executor] });
    for (let n = 0; n < 1001; n++)
      await handler.handleToolExecutionSignal(readSignal({ tool_id: `tool-${n}` }));
    expect([handler.executionHistory.length, handler.executionHistory[0]?.tool_id]).toEqual([1000, 'tool-1']);
  });
});

describe('execution history (founding documents: local-tool-execution)', () => {
  const ack = { tool_id: 'tool-1', attempt: 1, timestamp: '' } as const;

  it('[RN-1] keeps one entry for a call, from the question to the receipt of its result', async () => {
    fixture.api.failures.result = [new Error('offline')];
    const handler = makeHandler();
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await expect.poll(() => fixture.dialogs.shown.length).toBe(1);
    expect(handler.executionHistory).toEqual([
      {
        tool_id: 'tool-1',
        tool_type: 'write_file',
        status: 'pending',
        startTime: new Date(fixture.clock.now()),
        risk_level: 'MEDIUM',
      },
    ]);
    const startTime = new Date(fixture.clock.now());
    await fixture.clock.advance(1_000);
    fixture.dialogs.answer(true);
    await asked;
    expect(handler.executionHistory).toMatchObject([{ status: 'approved', user_approved: true }]);
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    const ended = {
      tool_id: 'tool-1',
      tool_type: 'write_file',
      status: 'completed',
      startTime,
      endTime: new Date(fixture.clock.now()),
      duration_ms: 0,
      risk_level: 'MEDIUM',
      user_approved: true,
      attempt: 1,
    };
    expect(handler.executionHistory).toEqual([ended]);
    handler.handleToolResultAck({ ...ack, attempt: 2, status: 'received', audit_head: '9:abc' });
    expect(handler.executionHistory).toEqual([ended]);
    handler.handleToolResultAck({ ...ack, status: 'received' });
    expect(handler.executionHistory).toEqual([{ ...ended, receipt_status: 'received' }]);
  });

  it('[RN-1] the answer to the result completes it as well, also one that refuses', async () => {
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal());
    await expect
      .poll(() => handler.executionHistory)
      .toMatchObject([{ status: 'completed', user_approved: false, receipt_status: 'received' }]);
    handler.handleToolResultAck({ ...ack, status: 'rejected' });
    expect(handler.executionHistory).toMatchObject([{ receipt_status: 'rejected', error: 'rejected' }]);
    fixture.api.failures.result = [refusedResult()];
    await handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }));
    await expect
      .poll(() => handler.executionHistory[1])
      .toMatchObject({ receipt_status: 'rejected', error: 'RESULT_CONFLICT: another one stands' });
  });

  it('[RN-1] [AP-2] learns what was decided elsewhere, by whom and why not', async () => {
    const handler = makeHandler({ ...elsewhere });
    const decided = [
      approvalResolved({ tool_id: 'user', status: 'approved', approved_by: 'user' }),
      approvalResolved({ tool_id: 'rule', status: 'approved', approved_by: 'config' }),
      approvalResolved({ tool_id: 'no', status: 'rejected', approved_by: null }),
      approvalResolved({ tool_id: 'late', status: 'timeout', approved_by: null }),
      approvalResolved({ tool_id: 'gone', status: 'cancelled', approved_by: null }),
      approvalResolved({
        tool_id: 'denied',
        status: 'cancelled',
        approved_by: null,
        error: { code: 'DENIED_BY_POLICY', message: 'a rule denies it', recoverable: false },
      }),
    ];
    for (const resolution of decided) {
      const asked = handler.handleToolApprovalRequest(approvalRequest({ tool_id: resolution.tool_id }));
      handler.handleApprovalResolved(resolution);
      await asked;
    }
    handler.handleApprovalResolved(approvalResolved({ tool_id: 'never-asked' }));
    const told = handler.executionHistory.map((entry) => [
      entry.tool_id,
      entry.status,
      entry.user_approved,
      entry.error,
      entry.endTime !== undefined,
    ]);
    expect(told).toEqual([
      ['user', 'approved', true, undefined, false],
      ['rule', 'approved', false, undefined, false],
      ['no', 'rejected', false, undefined, true],
      ['late', 'failed', undefined, 'Approval timeout', true],
      ['gone', 'failed', undefined, 'Approval cancelled', true],
      ['denied', 'failed', undefined, 'a rule denies it', true],
    ]);
  });

  it('[RN-1] [AP-8] a call that is asked about again is pending again, in its own entry', async () => {
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(writeSignal({ digest: `sha256:${'0'.repeat(64)}` }));
    expect(handler.executionHistory).toMatchObject([{ status: 'failed', error: expect.any(String) }]);
    const asked = handler.handleToolApprovalRequest(approvalRequest({ approval_id: 'approval-2' }));
    expect(handler.executionHistory).toEqual([
      {
        tool_id: 'tool-1',
        tool_type: 'write_file',
        status: 'pending',
        startTime: new Date(fixture.clock.now()),
        risk_level: 'MEDIUM',
        attempt: 1,
      },
    ]);
    handler.withdrawApprovals();
    await asked;
  });

  it('[EX-6] the end of an attempt that was given up does not end the newer one', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const first = handler.handleToolExecutionSignal(readSignal());
    await expect.poll(() => held.length).toBe(1);
    const second = handler.handleToolExecutionSignal(readSignal({ attempt: 2 }));
    await first;
    await expect.poll(() => held.length).toBe(2);
    expect(handler.executionHistory).toMatchObject([{ status: 'approved', attempt: 2 }]);
    held[1]?.end(done);
    await second;
    expect(handler.executionHistory).toMatchObject([{ status: 'completed', attempt: 2 }]);
  });
});

describe('active executions (founding documents: local-tool-execution)', () => {
  it('[RN-1] hold the process of a command and its timeout, and dispose ends that process', async () => {
    const handler = makeHandler();
    const tool_params = { command: 'sleep 600', timeout: 300 };
    const signal = writeSignal({ tool_name: 'shell_exec', tool_params, risk_level: 'HIGH' });
    const running = handler.handleToolExecutionSignal({
      ...signal,
      digest: await shownDigestOf(handler, signal),
    });
    await expect.poll(() => handler.activeExecutions.get('tool-1')?.process?.pid).toBeGreaterThan(0);
    const { process: child, timeout, startTime } = handler.activeExecutions.get('tool-1') ?? {};
    expect([timeout?.hasRef(), startTime]).toEqual([true, new Date(fixture.clock.now())]);
    await handler.dispose();
    expect((await running).status).toBe('cancelled');
    expect(child?.exitCode !== null || child?.signalCode !== null).toBe(true);
    expect(handler.activeExecutions.size).toBe(0);
  });

  it('a process of a call that has ended, or of another attempt, is not kept', async () => {
    const contexts: CallContext[] = [];
    const { executor: held, held: reads } = heldReads();
    const executor = new ScriptedExecutor(held.tools, (call, context) => {
      contexts.push(context);
      return held.execute(call, context);
    });
    const handler = makeHandler({ executors: [executor] });
    const running = handler.handleToolExecutionSignal(readSignal());
    await expect.poll(() => reads.length).toBe(1);
    reads[0]?.end(done);
    await running;
    const timeout = setTimeout(() => {}, 0);
    contexts[0]?.onProcess?.({ process: new ChildProcess(), timeout });
    clearTimeout(timeout);
    expect(handler.activeExecutions.size).toBe(0);
  });
});

describe('undo', () => {
  it('[RN-3] restores what a call changed and reports it with the id of the undo', async () => {
    writeFileSync(join(fixture.files.root, 'notes.md'), 'old\n');
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    expect(contentOf('notes.md')).toBe('new\n');
    const undo = { tool_id: 'tool-1', undo_id: 'undo-1', runner_id: 'runner-1', force: false };
    const event = { ...undo, project_id: 'project', session_id: 'session', timestamp: '' };
    await handler.handleToolUndo(event);
    await handler.handleToolUndo(event);
    await settle();
    expect(contentOf('notes.md')).toBe('old\n');
    expect(fixture.api.reports.at(-1)).toMatchObject({
      status: 'completed',
      undo_id: 'undo-1',
      result: { changed_files: [{ path: 'notes.md', operation: 'modified' }] },
    });
    const again = await handler.undoCalls(['tool-1'], { force: false });
    expect(again.error?.code).toBe('NOT_UNDOABLE');
  });

  it('an undo of no calls changes nothing and reports nothing', async () => {
    await makeHandler().undoCalls([], { force: false });
    await settle();
    expect(fixture.api.reports).toEqual([]);
  });

  it('[RN-3] undoes several calls as one and reports them together, with what their run changed before', async () => {
    writeFileSync(join(fixture.files.root, 'notes.md'), 'old\n');
    const handler = makeHandler();
    for (const [tool_id, content] of [
      ['tool-1', 'new\n'],
      ['tool-2', 'newer\n'],
    ] as const) {
      const approval_id = `approval-${tool_id}`;
      const tool_params = { path: 'notes.md', content, mode: 'write' };
      const signal = await approvedWrite(handler, { tool_id, approval_id, tool_params });
      await handler.handleToolExecutionSignal({ ...signal, run_id: 'run' });
    }
    await settle();
    expect(fixture.api.reports.map((report) => 'run_changes' in report && report.run_changes)).toMatchObject([
      [{ path: 'notes.md', diff: expect.stringContaining('-old\n+new\n') }],
      [{ path: 'notes.md', diff: expect.stringContaining('-old\n+newer\n') }],
    ]);
    const undo = { tool_id: 'tool-2', tool_ids: ['tool-2', 'tool-1'], undo_id: 'undo-1', force: false };
    const place = { runner_id: 'runner-1', project_id: 'project', session_id: 'session', timestamp: '' };
    await handler.handleToolUndo({ ...undo, ...place });
    await settle();
    expect(contentOf('notes.md')).toBe('old\n');
    expect(fixture.api.reports.slice(2)).toMatchObject([
      { status: 'completed', undo_id: 'undo-1', undo_tool_ids: ['tool-2', 'tool-1'] },
    ]);
  });

  it('an undo that was not acknowledged is reported by the next life', async () => {
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    await settle();
    fixture.api.failures.result = [new Error('offline')];
    await handler.undoCalls(['tool-1'], { force: false, undoId: 'undo-1' });
    await settle();
    await handler.dispose();
    makeHandler();
    await expect.poll(() => fixture.api.reports.at(-1)?.undo_id).toBe('undo-1');
  });
});

describe('the ceiling', () => {
  const ceiling = (mode = 0o600) => {
    const path = join(fixture.configFolder, 'ceiling.json');
    writeFileSync(path, JSON.stringify({ version: 1, decide_here: ['MEDIUM', 'HIGH'] }));
    chmodSync(path, mode);
  };

  /** The person at this machine says yes to the card that is shown. */
  const approveHere = async (
    handler: ToolHandler,
    over: Parameters<typeof approvalRequest>[0] = {},
    answer: DialogAnswer = true,
  ) => {
    const before = fixture.dialogs.shown.length;
    const asked = handler.handleToolApprovalRequest(approvalRequest(over));
    await expect.poll(() => fixture.dialogs.shown.length).toBe(before + 1);
    fixture.dialogs.answer(answer);
    await asked;
    return fixture.dialogs.shown[before]?.request;
  };
  const rejectHere = (handler: ToolHandler) => approveHere(handler, {}, false);
  const ranAs = async (handler: ToolHandler, signal: ExecutionSignal) => {
    const { status, error } = await handler.handleToolExecutionSignal(signal);
    return error?.code ?? status;
  };

  it('[RN-2] wants a decision made on this machine, whatever the server says', async () => {
    ceiling();
    const handler = makeHandler();
    const signal = await approvedWrite(handler);
    const elsewhere = await handler.handleToolExecutionSignal(signal);
    expect(elsewhere.error?.message).toContain('need a decision made on the machine that executes them');

    await approveHere(handler);
    expect(await ranAs(handler, { ...signal, attempt: 2 })).toBe('success');
  });

  it('[RN-2] [AP-7] the card is what this machine finds, whatever the server has drawn', async () => {
    ceiling();
    const handler = makeHandler();
    const evil = { command: 'echo pwned > pwned.sh' };
    const shown = await approveHere(handler, {
      tool_name: 'shell_exec',
      tool_params: evil,
      description: 'Agent wants to fix a typo in README.md',
      agent: 'Agent wants to fix a typo in README.md; afterwards it says that it',
      risk_level: 'MEDIUM',
      reasons: [{ rule: 'RISK-2', why: 'a plain document' }],
      network: true,
      preview: { kind: 'summary', summary: 'Fixes a typo.' },
      digest: `sha256:${'0'.repeat(64)}`,
      omitted: ['preview'],
    });
    const own = handler.decide('shell_exec', evil);
    expect(own.call).toBeDefined();
    const { preview, base } = await handler.previews.preview(own.call as never, own);
    const asked = { tool_name: 'shell_exec', tool_params: evil, risk_level: 'MEDIUM' } as const;
    const { digest } = shownView(asked, own, { preview, base });
    expect(shown).toMatchObject({
      description: 'Agent wants to fix a typo in README.md; wants to run echo pwned > pwned.sh',
      risk_level: 'HIGH',
      reasons: own.verdict.reasons,
      network: false,
      preview,
      digest,
      digest_base: base,
    });
    expect(checkShown(shown as ApprovalRequest)).toBe('fits');
    expect(shown).not.toHaveProperty('omitted');
    expect(fixture.api.of('approve')).toEqual([{ decision: 'approved', digest }]);
  });

  it('[RN-2] a call that is refused here has no digest that could be approved, and says why', async () => {
    ceiling();
    const handler = makeHandler();
    const tool_params = { path: '.env', content: 'KEY=1' };
    expect(await approveHere(handler, { tool_params, digest: `sha256:${'0'.repeat(64)}` })).toMatchObject({
      risk_level: 'HIGH',
      preview: { kind: 'unavailable', reason: expect.stringContaining('.env') },
      digest: null,
    });
  });

  it('says so if only the server rates the call HIGH', async () => {
    const shown = await approveHere(makeHandler(), { risk_level: 'HIGH' });
    expect([shown?.risk_level, shown?.reasons.at(-1)]).toEqual([
      'HIGH',
      { rule: 'SERVER-1', why: 'the server takes it for HIGH' },
    ]);
  });

  it.each<[string, Parameters<typeof approvalRequest>[0], DialogAnswer, ToolHandlerConfig]>([
    [
      'another digest than that of the card',
      {},
      { decision: 'approved', digest: `sha256:${'0'.repeat(64)}` },
      {},
    ],
    [
      'parameters that were edited and not drawn',
      {},
      { decision: 'approved', tool_params: { path: 'notes.md', content: 'new\n' } },
      {},
    ],
    ["the server's own card, of a call that another runner has", {}, true, elsewhere],
    ['another call', { tool_id: 'tool-2' }, true, {}],
    ['another approval', { approval_id: 'approval-2' }, true, {}],
    ['a rejection', {}, false, {}],
  ])('[RN-2] does not take for decided here: %s', async (_, request, answer, config) => {
    ceiling();
    const handler = makeHandler(config);
    await approveHere(handler, request, answer);
    expect(await ranAs(handler, await approvedWrite(handler))).toBe('APPROVAL_STALE');
  });

  it.each([
    ['by the same card', (handler: ToolHandler) => rejectHere(handler)],
    [
      'by a card of the next life of the runner',
      async (handler: ToolHandler) => {
        await handler.dispose();
        const next = makeHandler();
        await rejectHere(next);
        await next.dispose();
      },
    ],
    [
      'somewhere else',
      async (handler: ToolHandler) =>
        handler.handleApprovalResolved(approvalResolved({ status: 'rejected' })),
    ],
  ])('[RN-2] a rejection %s takes back an approval that the server did not take', async (_, reject) => {
    ceiling();
    const first = makeHandler();
    fixture.api.failures.approve = [new CountersignError('FORBIDDEN')];
    await approveHere(first);
    expect(fixture.api.of('failed approve').length).toBe(1);
    await reject(first);
    await first.dispose();
    const handler = makeHandler();
    expect(await ranAs(handler, await approvedWrite(handler))).toBe('APPROVAL_STALE');
  });

  it('[RN-2] an approval that did not reach the server counts until the call is rejected', async () => {
    ceiling();
    const handler = makeHandler();
    fixture.api.failures.approve = [new CountersignError('FORBIDDEN')];
    await approveHere(handler);
    expect(await ranAs(handler, await approvedWrite(handler))).toBe('success');
  });

  it('[RN-2] [AP-8] an answer to a version before the newest counts for that version', async () => {
    ceiling();
    Object.assign(fixture.dialogs, { updateApprovalDialog: () => {} });
    const handler = makeHandler();
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await expect.poll(() => fixture.dialogs.shown.length).toBe(1);
    const tool_params = { path: 'notes.md', content: 'evil\n' };
    handler.handleApprovalUpdated(approvalUpdate(approvalRequest(), { revision: 2, tool_params }));
    await expect
      .poll(() => handler.pendingApprovals.get('tool-1')?.request)
      .toMatchObject({ revision: 2, preview: { kind: 'diff' } });
    fixture.dialogs.answer(true);
    await asked;
    const digest = fixture.dialogs.shown[0]?.request.digest;
    expect(fixture.api.of('approve')).toEqual([{ decision: 'approved', digest }]);
    expect(await ranAs(handler, await approvedWrite(handler, { tool_params }))).toBe('APPROVAL_STALE');
    expect(await ranAs(handler, await approvedWrite(handler, { attempt: 2 }))).toBe('success');
  });

  it('[RN-2] [EX-6] a decision made here starts one attempt of one call, and no other', async () => {
    ceiling();
    const handler = makeHandler();
    await approveHere(handler);
    const signal = await approvedWrite(handler);
    expect(await ranAs(handler, { ...signal, tool_id: 'tool-2' })).toBe('APPROVAL_STALE');
    expect(await ranAs(handler, signal)).toBe('success');
    writeFileSync(join(fixture.files.root, 'notes.md'), '');
    for (const again of [{ attempt: 2 }, { tool_id: 'tool-3', attempt: 7 }]) {
      const next = { ...(await approvedWrite(handler)), ...again };
      expect(await ranAs(handler, next)).toBe('APPROVAL_STALE');
    }
    expect(contentOf('notes.md')).toBe('');
  });

  it('[RN-2] [EX-6] a decision made here is good for 10 minutes', async () => {
    ceiling();
    const handler = makeHandler();
    await approveHere(handler);
    await fixture.clock.advance(600_001);
    expect(await ranAs(handler, await approvedWrite(handler))).toBe('APPROVAL_STALE');
  });

  it("[RN-2] a forced undo of the server's does not replace what was changed here since; a plain one is done", async () => {
    const handler = makeHandler();
    const undo = async (undo_id: string, force: boolean) => {
      const about = { project_id: 'project', session_id: 'session', runner_id: null, timestamp: '' };
      await handler.handleToolUndo({ tool_id: 'tool-1', undo_id, force, ...about });
      return fixture.api.reports.find((report) => report.undo_id === undo_id);
    };
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    ceiling();
    writeFileSync(join(fixture.files.root, 'notes.md'), 'mine\n');
    expect(await undo('forced', true)).toMatchObject({
      error: { code: 'DENIED_BY_POLICY', message: expect.stringContaining('undo --offline --force') },
    });
    expect(contentOf('notes.md')).toBe('mine\n');
    // The person themselves, at this machine, may.
    expect((await handler.undoCalls(['tool-1'], { force: true, undoId: 'here' })).status).toBe('completed');
    expect((await handler.undoCalls(['here'], { force: false })).status).toBe('completed');
    expect(contentOf('notes.md')).toBe('mine\n');
    writeFileSync(join(fixture.files.root, 'notes.md'), 'new\n');
    expect(await undo('plain', true)).toMatchObject({ status: 'completed' });
  });

  it('[RN-2] a grant or a rule is no decision made here, whatever it covers', async () => {
    const handler = makeHandler();
    const delete_ = {
      tool_name: 'delete_file',
      tool_params: { path: 'README.md' },
      risk_level: 'HIGH',
    } as const;
    const nobody = { approval_id: null, approved_by: 'config' } as const;
    const rule = { id: 'r', effect: 'allow', tool: '*', max_risk: 'HIGH' } as const;
    const grant = {
      tool: '*',
      pattern: null,
      max_risk: 'HIGH',
      session_id: null,
      workspace: fixture.workspace.root,
      expires_at: null,
    } as const;
    const signals = [
      writeSignal({ ...delete_, ...nobody, tool_id: 'by-rule', rule }),
      writeSignal({ ...delete_, ...nobody, tool_id: 'by-grant', grant_id: 'g', grant }),
    ];
    ceiling();
    for (const signal of signals) expect(await ranAs(handler, signal)).toBe('APPROVAL_STALE');
    // Without a ceiling the server's word is enough; the digest is that of the claim (AP-4).
    rmSync(join(fixture.configFolder, 'ceiling.json'));
    for (const signal of signals) {
      writeFileSync(join(fixture.files.root, 'README.md'), 'x');
      expect(await ranAs(handler, { ...signal, attempt: 2 })).toBe('success');
    }
    expect(fixture.api.of<Claim>('claim').map(({ digest }) => typeof digest)).toEqual(['string', 'string']);
  });

  it('[RN-2] a decision counts for what was displayed, not for what the server makes of it', async () => {
    ceiling();
    const handler = makeHandler();
    await approveHere(handler);
    const other = await approvedWrite(handler, { tool_params: { path: 'other.md', content: 'evil\n' } });
    expect((await handler.handleToolExecutionSignal(other)).error?.code).toBe('APPROVAL_STALE');
  });

  it('[RN-2] a file that others could have written is not believed: nothing above LOW runs', async () => {
    ceiling(0o666);
    const handler = makeHandler();
    const result = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    expect(result.error?.code).toBe('DENIED_BY_POLICY');
    expect((await handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }))).status).toBe('success');
  });

  it('a decision that cannot be remembered is still sent', async () => {
    const journal = Journal.open({
      folder: fixture.workspace.stateFolder,
      holder: { program: 'a test' },
    });
    const handler = makeHandler({ journal });
    journal.recordDecision = () => {
      throw new Error('the disk is full');
    };
    await approveHere(handler);
    journal.close();
    expect(fixture.api.of('approve').length).toBe(1);
    expect(fixture.logger.messages('error')).toContain('Decision of this machine not recorded: tool-1');
  });

  it('a rejection is sent, and said, also where the journal cannot forget an earlier approval', async () => {
    const journal = Journal.open({
      folder: fixture.workspace.stateFolder,
      holder: { program: 'a test' },
    });
    const handler = makeHandler({ journal });
    journal.forgetDecision = () => {
      throw new Error('the disk is full');
    };
    await rejectHere(handler);
    journal.close();
    expect(fixture.api.of('reject').length).toBe(1);
    expect(fixture.logger.messages('error')).toContain('Decision of this machine not forgotten: tool-1');
  });

  it('a card that cannot be drawn is not shown, and nothing is decided', async () => {
    const handler = makeHandler({
      executes: () => {
        throw new Error('nobody knows');
      },
    });
    await handler.handleToolApprovalRequest(approvalRequest());
    expect([fixture.dialogs.shown, fixture.api.sent]).toEqual([[], []]);
    expect(fixture.logger.messages('error')).toEqual(['Approval card could not be drawn: tool-1']);
  });
});

describe('logging', () => {
  it('[OB-2] masks arguments', async () => {
    const handler = makeHandler({ secrets: ['my-own-token-value'] });
    const tool_params = { path: 'README.md', password: 'p4ssw0rd!', note: 'my-own-token-value' };
    await handler.handleToolExecutionSignal(readSignal({ tool_params }));
    const text = JSON.stringify(fixture.logger.lines);
    expect(text).toContain('Tool arguments: tool-1');
    expect(text).not.toMatch(/p4ssw0rd|my-own-token-value/);
  });

  it('[OB-2] says each step of a call at the level of the documents (founding documents: local-tool-execution)', async () => {
    const handler = makeHandler();
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    await expect.poll(() => fixture.dialogs.shown.length).toBe(1);
    fixture.dialogs.answer(true);
    await asked;
    await handler.handleToolExecutionSignal(await approvedWrite(handler));
    handler.handleToolResultAck({ tool_id: 'tool-1', status: 'received', attempt: 1, timestamp: '' });
    const call = 'tool-1';
    expect(fixture.logger.lines.filter(({ level }) => level === 'info')).toEqual([
      {
        level: 'info',
        message: 'Tool approval request received: tool-1, write_file, risk_level=MEDIUM',
        details: { call, tool: 'write_file', risk: 'MEDIUM', approval: 'approval-1' },
      },
      { level: 'info', message: 'Preview sent: approval-1', details: { call, approval: 'approval-1' } },
      { level: 'info', message: 'Tool approved: tool-1', details: { call } },
      {
        level: 'info',
        message: 'Tool execution signal received: tool-1, write_file',
        details: { call, tool: 'write_file', risk: 'MEDIUM', attempt: 1, approved_by: 'user' },
      },
      {
        level: 'info',
        message: 'Tool execution started: tool-1, write_file',
        details: { call, tool: 'write_file' },
      },
      {
        level: 'info',
        message: 'Tool execution completed: tool-1',
        details: { call, tool: 'write_file', ms: 0 },
      },
      {
        level: 'info',
        message: 'Tool result ack received: tool-1, received',
        details: { call, status: 'received', attempt: 1 },
      },
    ]);
    expect(new Set(fixture.logger.messages('debug'))).toEqual(
      new Set([
        'Tool arguments: tool-1',
        'Own verdict: write_file is MEDIUM',
        'Claimed: tool-1, attempt 1',
        'Tool result: tool-1',
        'Tool timing: tool-1',
      ]),
    );
    expect(fixture.logger.lines.find(({ message }) => message === 'Tool timing: tool-1')?.details).toEqual({
      call,
      tool: 'write_file',
      queued_ms: 0,
      verdict_ms: 0,
      permission_ms: 0,
      execution_ms: 0,
      total_ms: 0,
    });
    expect(fixture.logger.messages('error')).toEqual([]);
  });

  it('[OB-2] times each stage of a call by the clock', async () => {
    const { executor, held } = heldReads();
    const handler = makeHandler({ executors: [executor], concurrencyLimit: 1 });
    const first = handler.handleToolExecutionSignal(readSignal({ tool_id: 'a' }));
    const second = handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }));
    await expect.poll(() => held.length).toBe(1);
    await fixture.clock.advance(30);
    held[0]?.end(done);
    await first;
    await expect.poll(() => held.length).toBe(2);
    await fixture.clock.advance(12);
    held[1]?.end(done);
    await second;
    const timing = fixture.logger.lines.find(({ message }) => message === 'Tool timing: b');
    expect(timing?.details).toEqual({
      call: 'b',
      tool: 'read_file',
      queued_ms: 30,
      verdict_ms: 0,
      execution_ms: 12,
      total_ms: 42,
    });
  });

  it('[OB-2] logs errors with code, cause and stack, and timeouts, but not what was cancelled', async () => {
    const failures: Record<string, () => ToolResult> = {
      broken: () => {
        throw new CountersignError(
          'READ_FAILED',
          { path: 'README.md', problem: 'broken' },
          { cause: new Error('EIO, token=ghp_abcdefghijklmnopqrstuvwxyz0123456789') },
        );
      },
      words: () => {
        throw 'just words';
      },
      slow: () => ({ success: false, code: 'COMMAND_TIMEOUT', error: 'too slow' }),
      stopped: () => {
        throw new ExecutionCancelled();
      },
      'stopped late': () => {
        const changed_files = [{ path: 'a', operation: 'created' } as const];
        throw new EndedAfterChanges(new ExecutionCancelled(), { changed_files });
      },
    };
    const executor = new ScriptedExecutor(
      ['read_file', 'write_file'],
      (_, { toolId }) => failures[toolId]?.() ?? done,
    );
    const handler = makeHandler({ executors: [executor] });
    for (const tool_id of Object.keys(failures))
      await handler.handleToolExecutionSignal(readSignal({ tool_id }));
    for (const tool_id of ['stopped', 'stopped late'])
      await handler.handleToolExecutionSignal(await approvedWrite(handler, { tool_id }));
    await handler.handleToolExecutionSignal(
      readSignal({ tool_id: 'outside', tool_params: { path: '/etc/passwd' } }),
    );
    const errors = fixture.logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toEqual([
      {
        level: 'error',
        message: 'Tool error: broken',
        details: {
          call: 'broken',
          tool: 'read_file',
          attempt: 1,
          error: {
            name: 'CountersignError',
            code: 'READ_FAILED',
            message: expect.stringContaining('broken'),
            cause: { name: 'Error', message: 'EIO, token=[masked]', stack: expect.any(Array) },
            stack: expect.arrayContaining([expect.stringContaining('tool-handler.test.ts')]),
          },
        },
      },
      {
        level: 'error',
        message: 'Tool error: words',
        details: { call: 'words', tool: 'read_file', attempt: 1, error: 'just words' },
      },
      {
        level: 'error',
        message: 'Tool timeout: slow',
        details: { call: 'slow', tool: 'read_file', problem: 'too slow' },
      },
      {
        level: 'error',
        message: 'Tool error: outside',
        details: expect.objectContaining({
          error: expect.objectContaining({ code: 'PATH_OUTSIDE_WORKSPACE' }),
        }),
      },
    ]);
  });

  it('[OB-2] [PF-1] masks nothing for debug lines that are dropped', async () => {
    const logger = Object.assign(fixture.logger, { isDebugEnabled: false });
    await makeHandler().handleToolExecutionSignal(readSignal());
    expect(logger.messages('debug')).toEqual([]);
  });

  it('what is long is logged as its size and digest', async () => {
    const handler = makeHandler();
    await handler.handleToolExecutionSignal(readSignal({ tool_params: { path: 'a'.repeat(3000) } }));
    expect(JSON.stringify(fixture.logger.lines)).toContain('[3000 bytes, digest ');
  });
});

describe('dispose', () => {
  it('withdraws cards, cancels what runs, empties the queue and disposes of the executors', async () => {
    const { executor } = heldReads();
    const handler = makeHandler({ ...elsewhere, executors: [executor], concurrencyLimit: 1 });
    const asked = handler.handleToolApprovalRequest(approvalRequest());
    const running = handler.handleToolExecutionSignal(readSignal({ tool_id: 'a' }));
    const queued = handler.handleToolExecutionSignal(readSignal({ tool_id: 'b' }));
    await settle();
    await handler.dispose();
    await handler.dispose();
    await asked;
    expect([(await running).status, (await queued).status]).toEqual(['cancelled', 'cancelled']);
    expect({
      pending: handler.pendingApprovals.size,
      active: handler.activeExecutions.size,
      queue: handler.concurrentQueue,
      count: handler.concurrentCount,
      sent: fixture.api.sent,
      isDisposed: executor.isDisposed,
    }).toEqual({ pending: 0, active: 0, queue: [], count: 0, sent: [], isDisposed: true });
    // No timer is left.
    await fixture.clock.advance(3_600_000);
    expect(fixture.api.sent).toEqual([]);
  });

  it('takes nothing on afterwards', async () => {
    const executor = new ScriptedExecutor(['read_file'], () => done);
    const handler = makeHandler({ executors: [executor] });
    await handler.dispose();
    expect((await handler.handleToolExecutionSignal(readSignal())).status).toBe('cancelled');
    await handler.handleToolApprovalRequest(approvalRequest());
    expect([executor.executed, fixture.dialogs.shown]).toEqual([[], []]);
  });

  it('[EX-6] what had started is reported by the next life', async () => {
    const { executor } = heldReads();
    const handler = makeHandler({ executors: [executor] });
    const running = handler.handleToolExecutionSignal(await approvedWrite(handler));
    await expect.poll(() => executor.executed.length).toBe(1);
    fixture.api.failures.result = [new Error('offline')];
    await handler.dispose();
    expect((await running).status).toBe('cancelled');
    const next = makeHandler();
    await expect.poll(() => fixture.api.reports).toMatchObject([{ status: 'cancelled', attempt: 1 }]);
    expect(next.heartbeat().unacknowledged).toEqual([]);
  });

  it('a journal that cannot be settled is logged, and nothing that needs it runs', async () => {
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    journal.close();
    const handler = makeHandler({ journal, executors: [fileTools(fixture.workspace)] });
    const written = await handler.handleToolExecutionSignal(await approvedWrite(handler));
    const read = await handler.handleToolExecutionSignal(readSignal({ tool_id: 'tool-2' }));
    expect([written.error?.code, read.status]).toEqual(['JOURNAL_UNAVAILABLE', 'success']);
    expect(fixture.logger.messages('error').slice(0, 2)).toEqual([
      'Journal recovery failed',
      'Journal not readable: tool-1',
    ]);
    expect(() => contentOf('notes.md')).toThrow();
    handler.pruneJournal();
    expect(fixture.logger.messages('error').at(-1)).toBe('Journal not pruned');
  });
});
