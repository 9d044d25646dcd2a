import { existsSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type CountersignEvent, defaultLimits, sentLimits } from '@countersign/protocol';
import { settle } from '@countersign/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  approvalRequest,
  approvalResolved,
  approvalUpdate,
  readSignal,
  ScriptedExecutor,
  writeSignal,
} from './call-samples.test-data.ts';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import type { PreviewReport } from './runner-api.ts';
import { WorkspaceRunner, type WorkspaceRunnerOptions } from './workspace-runner.ts';

let fixture: RunnerFixture;
let runner: WorkspaceRunner | undefined;

beforeEach(() => {
  fixture = runnerFixture();
});
afterEach(async () => {
  await runner?.dispose();
  runner = undefined;
  fixture.remove();
});

function startRunner(options: Partial<WorkspaceRunnerOptions> = {}): WorkspaceRunner {
  const { api, dialogs, logger, clock, workspace, configFolder } = fixture;
  runner = new WorkspaceRunner({
    runnerId: 'runner-1',
    projectId: 'project',
    workspace,
    api,
    dialogProvider: dialogs,
    logger,
    clock,
    configFolder,
    isIsolated: true,
    ...options,
  });
  return runner;
}

const event = <E extends CountersignEvent['event']>(name: E, data: unknown) =>
  ({ event: name, data }) as CountersignEvent;
const previews = () => fixture.api.of<PreviewReport>('preview');
const timestamp = '2026-11-15T12:00:00.000Z';
const place = { project_id: 'project', session_id: 'session' };

it('[AP-7] previews a request where the files are, with its own risk, and shows the card', async () => {
  writeFileSync(join(fixture.files.root, 'notes.md'), 'old\n');
  startRunner().receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(previews).toMatchObject([
    {
      revision: 1,
      risk_level: 'MEDIUM',
      network: false,
      preview: { kind: 'diff', files: [{ path: 'notes.md', operation: 'modified' }] },
      digest: expect.stringMatching(/^sha256:/),
    },
  ]);
  expect(fixture.dialogs.shown.length).toBe(1);
  expect(runner?.handler.isIdle).toBe(false);
});

it('[VA-8] refuses at the preview what the real disk forbids, and what cannot succeed', async () => {
  startRunner();
  for (const [approval_id, tool_name, tool_params] of [
    ['a', 'write_file', { path: '.env', content: '' }],
    ['b', 'edit_file', { path: 'README.md', old: 'no such text', new: '' }],
  ] as const) {
    runner?.receive(
      event(
        'tool.approval_request',
        approvalRequest({ approval_id, tool_id: approval_id, tool_name, tool_params }),
      ),
    );
  }
  await expect
    .poll(() =>
      previews()
        .map((report) => ('refused' in report ? report.refused.code : 'shown'))
        .sort(),
    )
    .toEqual(['EDIT_NO_MATCH', 'PATH_SENSITIVE']);
});

it('[VA-2] says on the card of a command which sensitive files it could read', async () => {
  const ask = (approval_id: string, tool_name: string, tool_params: Record<string, string | string[]>) =>
    runner?.receive(
      event(
        'tool.approval_request',
        approvalRequest({ approval_id, tool_id: approval_id, tool_name, tool_params }),
      ),
    );
  const told = () => previews().map(({ reasons }) => reasons.find(({ rule }) => rule === 'SENS-8')?.operand);
  startRunner();
  ask('a', 'shell_exec', { command: 'echo x' });
  await expect.poll(told).toEqual([undefined]);
  mkdirSync(join(fixture.files.root, 'api'));
  for (const path of ['.env', 'api/.env.local']) writeFileSync(join(fixture.files.root, path), 'TOKEN=1\n');
  ask('b', 'shell_exec', { command: 'echo x' });
  await expect.poll(() => told().length).toBe(2);
  ask('c', 'execute_command', { command: 'npm', args: ['test'] });
  await expect.poll(() => told().length).toBe(3);
  ask('d', 'write_file', { path: 'notes.md', content: 'x' });
  await expect.poll(() => told().length).toBe(4);
  const [, shell, command, write] = told();
  expect([shell, command].map((names) => names?.split(', ').sort())).toEqual([
    ['.env', 'api/.env.local'],
    ['.env', 'api/.env.local'],
  ]);
  expect(write).toBeUndefined();
});

it('[AP-6] previews each new revision, and no request that is not its own', async () => {
  startRunner();
  const request = approvalRequest({ runner_id: 'runner-1' });
  const { preview } = { preview: { kind: 'summary', summary: 'shown' } as const };
  const others = [
    approvalRequest({ approval_id: 'b', tool_id: 'b', runner_id: 'runner-2' }),
    approvalRequest({ approval_id: 'c', tool_id: 'c', project_id: 'other' }),
  ];
  for (const one of [request, ...others]) runner?.receive(event('tool.approval_request', one));
  await expect.poll(() => previews().length).toBe(1);
  const edited = { path: 'other.md', content: '' };
  runner?.receive(event('approval.updated', approvalUpdate(request, { revision: 2, tool_params: edited })));
  runner?.receive(event('approval.updated', { ...approvalUpdate(request, {}), approval_id: 'unknown' }));
  await expect.poll(() => previews().map(({ revision }) => revision)).toEqual([1, 2]);
  // A preview that the server already has is not sent again; one that does not match the disk here is replaced.
  const [, second] = previews() as { digest: string }[];
  const known = { revision: 2, tool_params: edited, preview };
  const { digest } = second as { digest: string };
  runner?.receive(event('approval.updated', approvalUpdate(request, { ...known, digest })));
  await settle();
  const forged = { ...known, revision: 3, digest: `sha256:${'0'.repeat(64)}` };
  runner?.receive(event('approval.updated', approvalUpdate(request, forged)));
  await expect.poll(() => previews().map(({ revision }) => revision)).toEqual([1, 2, 3]);
  expect(fixture.api.sent.filter(({ what }) => what === 'preview').map(({ id }) => id)).toEqual([
    'approval-1',
    'approval-1',
    'approval-1',
  ]);
});

it("[RK-5] [VA-8] says with the preview that it will refuse what links lead to, by the person's rules at the server", async () => {
  const at = (name: string) => join(fixture.files.root, name);
  mkdirSync(at('private'));
  writeFileSync(at('private/a.md'), 'private');
  symlinkSync('private/a.md', at('link.md'));
  const rule = { id: 'no-private', effect: 'deny', tool: '*', path: 'private/**' } as const;
  const tool_params = { path: 'link.md', content: 'x' };
  const request = approvalRequest({ tool_params, path_rules: [rule] });
  startRunner().receive(event('tool.approval_request', request));
  const refused = { revision: 1, refused: { code: 'DENIED_BY_POLICY' }, reasons: [{ rule: 'no-private' }] };
  await expect.poll(previews).toMatchObject([refused]);
  await expect
    .poll(() => fixture.dialogs.shown.map(({ request }) => request))
    .toMatchObject([{ preview: { kind: 'unavailable' }, digest: null, reasons: [{ rule: 'no-private' }] }]);
  // The rule was taken out of the policy, and the person looks again.
  const { path_rules: _, ...without } = request;
  runner?.receive(event('approval.updated', approvalUpdate(without, { revision: 2 })));
  await expect.poll(() => previews().at(-1)).toMatchObject({ revision: 2, preview: { kind: 'diff' } });
  runner?.receive(event('approval.updated', approvalUpdate(request, { revision: 3, path_rules: [rule] })));
  await expect.poll(() => previews().at(-1)).toMatchObject({ ...refused, revision: 3 });
});

it('sends a preview again until it arrives, and not when it was decided or there is a newer one', async () => {
  fixture.api.failures.preview = [new Error('offline'), new CountersignError('PREVIEW_CHANGED')];
  startRunner();
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(1);
  await fixture.clock.advance(500);
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(2);
  await fixture.clock.advance(60_000);
  expect(previews()).toEqual([]);

  fixture.api.failures.preview = [new Error('offline'), new Error('offline')];
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(3);
  runner?.receive(event('tool.approval_request', approvalRequest())); // the same revision, still under way
  runner?.receive(event('tool.approval_request', approvalRequest({ revision: 2 })));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(4);
  runner?.receive(event('approval.resolved', approvalResolved()));
  await fixture.clock.advance(60_000);
  expect(previews()).toEqual([]);
});

it('[AP-7] sends a preview again that the server could not take while it waited for the stream', async () => {
  const problem = 'it waits for this runner to open its stream again';
  fixture.api.failures.preview = [new CountersignError('UNAVAILABLE', { problem })];
  startRunner();
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(1);
  await fixture.clock.advance(500);
  await expect.poll(() => previews().length).toBe(1);
});

it('[AP-7] sends a preview again that a server without room could not keep, and ends no call for that', async () => {
  const full = { problem: 'database or disk is full', remedy: 'Free space' };
  fixture.api.failures.preview = [new CountersignError('STORAGE_FULL', full)];
  startRunner();
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(1);
  await fixture.clock.advance(500);
  await expect.poll(previews).toMatchObject([{ revision: 1, preview: { kind: 'diff' } }]);
});

it('[AP-7] a preview that fails in an unexpected way ends the call, and says that it was the preview', async () => {
  startRunner({
    previews: {
      preview: () => Promise.reject(new Error('odd')),
      base: () => Promise.reject(new Error('odd')),
    },
  });
  runner?.receive(event('tool.approval_request', approvalRequest()));
  const message = expect.stringContaining('could not be shown, so that nobody could approve it: odd');
  await expect.poll(previews).toMatchObject([{ refused: { code: 'PREVIEW_FAILED', message } }]);
});

it('[AP-7] a preview that takes more than a minute ends the call, and what comes of it later is ignored', async () => {
  const later: PromiseWithResolvers<never>[] = [];
  const making = () => {
    later.push(Promise.withResolvers<never>());
    return (later.at(-1) as PromiseWithResolvers<never>).promise;
  };
  startRunner({ previews: { preview: making, base: making } });
  const asked = (id: string) => approvalRequest({ approval_id: id, tool_id: `tool-${id}` });
  for (const id of ['a', 'b']) runner?.receive(event('tool.approval_request', asked(id)));
  await expect.poll(() => later.length).toBe(2);
  await fixture.clock.advance(59_999);
  expect(previews()).toEqual([]);
  await fixture.clock.advance(1);
  const message = expect.stringContaining('making the preview took more than 60 s');
  const failed = { revision: 1, refused: { code: 'PREVIEW_FAILED', message } };
  await expect.poll(previews).toMatchObject([failed, failed]);
  later[0]?.resolve({ preview: { kind: 'summary', summary: 'late' }, base: 'late' } as never);
  later[1]?.reject(new Error('late'));
  await settle();
  expect(previews().length).toBe(2);
  expect(
    fixture.logger.lines.filter(({ message }) => message === 'Preview failed: write_file'),
  ).toMatchObject([
    { level: 'error', details: { call: 'tool-a', approval: 'a', error: { code: 'PREVIEW_FAILED' } } },
    { level: 'error', details: { call: 'tool-b', approval: 'b', error: { code: 'PREVIEW_FAILED' } } },
  ]);
});

it('[OB-2] the lines of a preview name its call and its approval', async () => {
  fixture.api.failures.preview = [new Error('offline')];
  fixture.api.failures.params = [new Error('offline')];
  fixture.api.params = { path: 'notes.md', content: 'new\n' };
  startRunner().receive(
    event('tool.approval_request', approvalRequest({ tool_params: {}, omitted: ['tool_params'] })),
  );
  await expect.poll(() => fixture.api.of('failed params').length).toBe(1);
  await fixture.clock.advance(500);
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(1);
  await fixture.clock.advance(500);
  const about = { call: 'tool-1', approval: 'approval-1' };
  await expect
    .poll(() => fixture.logger.lines.filter(({ message }) => /preview|parameters/i.test(message)))
    .toMatchObject([
      { message: 'Fetching the parameters failed: tool-1, try 1', details: { call: 'tool-1' } },
      { level: 'error', message: 'Sending the preview failed: approval-1, try 1', details: about },
      { level: 'info', message: 'Preview sent: approval-1', details: about },
    ]);
  fixture.api.failures.preview = [new CountersignError('NOT_FOUND', { what: 'runner' })];
  runner?.receive(event('tool.approval_request', approvalRequest({ revision: 2 })));
  await expect
    .poll(() => fixture.logger.lines.at(-1))
    .toMatchObject({ level: 'error', message: 'Sending the preview failed: approval-1', details: about });
});

it('[AP-7] a judgement that fails in an unexpected way ends the call too', async () => {
  const started = startRunner();
  started.handler.decide = () => {
    throw new TypeError('a bug');
  };
  started.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(previews).toMatchObject([{ refused: { code: 'PREVIEW_FAILED' } }]);
});

it.each(['INVALID_BODY', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const)(
  '[AP-7] a preview that the server refuses with %s ends the call with that reason',
  async (code) => {
    fixture.api.failures.preview = [new CountersignError(code), new Error('offline')];
    startRunner().receive(event('tool.approval_request', approvalRequest()));
    await expect.poll(() => fixture.api.of('failed preview').length).toBe(2);
    await fixture.clock.advance(500);
    await expect
      .poll(previews)
      .toMatchObject([{ revision: 1, reasons: [], refused: { code: 'PREVIEW_FAILED' } }]);
  },
);

it('[AP-7] a call whose parameters cannot be had for its preview ends with that reason', async () => {
  fixture.api.fetchToolParams = () =>
    Promise.reject(new CountersignError('NOT_FOUND', { what: 'tool call' }));
  const request = approvalRequest({ tool_params: {}, omitted: ['tool_params'] });
  startRunner().receive(event('tool.approval_request', request));
  await expect.poll(previews).toMatchObject([{ revision: 1, refused: { code: 'NOT_FOUND' } }]);
});

it('[RK-5] [VA-8] a denial that the person saves on this machine after the approval refuses before the claim', async () => {
  startRunner().receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(previews).toMatchObject([{ preview: { kind: 'diff' } }]);
  const digest = (previews() as { digest: string }[]).at(0)?.digest ?? '';
  const rules = [{ id: 'no', effect: 'deny', tool: 'write_file' }];
  writeFileSync(join(fixture.configFolder, 'policy.json'), JSON.stringify({ version: 1, rules }), {
    mode: 0o600,
  });
  runner?.receive(event('tool.execution_signal', writeSignal({ digest })));
  await expect
    .poll(() => fixture.api.reports)
    .toMatchObject([{ status: 'failed', error: { code: 'DENIED_BY_POLICY' } }]);
  expect(fixture.api.of('claim')).toEqual([]);
  expect(existsSync(join(fixture.files.root, 'notes.md'))).toBe(false);
});

it('executes signals that are its own, and no others', async () => {
  const executor = new ScriptedExecutor(['read_file'], () => ({ success: true }));
  startRunner({ executors: [executor] });
  runner?.receive(event('tool.execution_signal', readSignal({ tool_id: 'a', runner_id: 'runner-2' })));
  runner?.receive(event('tool.execution_signal', readSignal({ tool_id: 'b', runner_id: null })));
  runner?.receive(event('tool.execution_signal', readSignal({ tool_id: 'c' })));
  await expect.poll(() => fixture.api.reports.length).toBe(1);
  expect(executor.executed.map(({ context }) => context.toolId)).toEqual(['c']);
});

it('[EV-2] fetches parameters that an event left out, also when that fails first', async () => {
  const executor = new ScriptedExecutor(['read_file'], () => ({ success: true }));
  fixture.api.failures.params = [new Error('offline')];
  fixture.api.params = { path: 'docs/guide.md' };
  startRunner({ executors: [executor] });
  runner?.receive(event('tool.execution_signal', readSignal({ tool_params: {}, omitted: ['tool_params'] })));
  await expect.poll(() => fixture.api.of('failed params').length).toBe(1);
  await fixture.clock.advance(500);
  await expect
    .poll(() => executor.executed.map(({ call }) => call.params))
    .toEqual([{ path: 'docs/guide.md' }]);

  fixture.api.params = { path: 'notes.md', content: 'x' };
  const request = approvalRequest({ tool_params: {}, omitted: ['tool_params'] });
  runner?.receive(event('tool.approval_request', request));
  await expect.poll(() => fixture.dialogs.shown[0]?.request.tool_params).toEqual(fixture.api.params);
  runner?.receive(
    event('approval.updated', approvalUpdate(request, { revision: 2, omitted: ['tool_params'] })),
  );
  await expect.poll(() => fixture.dialogs.shown[1]?.request.revision).toBe(2);
});

it('[EV-2] a call whose parameters cannot be fetched does not run', async () => {
  fixture.api.failures.params = [new CountersignError('NOT_FOUND', { what: 'call' })];
  startRunner();
  runner?.receive(event('tool.execution_signal', readSignal({ omitted: ['tool_params'] })));
  await expect
    .poll(() => fixture.logger.messages('error'))
    .toEqual(['Event could not be handled: tool.execution_signal']);
  Object.assign(fixture.api, { fetchToolParams: undefined });
  runner?.receive(event('tool.approval_request', approvalRequest({ omitted: ['tool_params'] })));
  await expect.poll(() => fixture.logger.messages('error').length).toBe(2);
  expect([fixture.api.reports, fixture.dialogs.shown]).toEqual([[], []]);
});

it('a request that is decided while its parameters are fetched is not shown', async () => {
  fixture.api.failures.params = [new Error('offline')];
  startRunner();
  runner?.receive(event('tool.approval_request', approvalRequest({ omitted: ['tool_params'] })));
  await settle();
  runner?.receive(event('approval.resolved', approvalResolved()));
  await fixture.clock.advance(500);
  expect([fixture.dialogs.shown, previews()]).toEqual([[], []]);
});

it('[EX-7] sends a heartbeat every 10 s and when it connects, one at a time, and obeys the response', async () => {
  const executor = new ScriptedExecutor(
    ['read_file'],
    (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  );
  fixture.api.failures.heartbeat = [new Error('offline')];
  startRunner({ executors: [executor] });
  runner?.receive(event('tool.execution_signal', readSignal()));
  await fixture.clock.advance(9_999);
  expect(fixture.api.of('failed heartbeat')).toEqual([]);
  await fixture.clock.advance(1);
  expect(fixture.api.of('failed heartbeat')).toEqual([
    {
      ...{ queued: [], executing: ['tool-1'], unacknowledged: [] },
      ...{ limits: sentLimits(defaultLimits), policy: {} },
    },
  ]);
  expect(fixture.logger.messages('error')).toEqual(['Heartbeat failed']);
  fixture.api.heartbeatAnswer = { calls: { 'tool-1': 'cancel' } };
  runner?.connected();
  runner?.connected();
  await expect.poll(() => fixture.api.reports).toMatchObject([{ status: 'failed' }]);
  expect(fixture.api.of('heartbeat').length).toBe(1);
});

it('[EX-7] a heartbeat that comes before the server knows the runner is not an error', async () => {
  fixture.api.failures.heartbeat = [
    new CountersignError('NOT_FOUND', { what: 'runner' }),
    new Error('offline'),
  ];
  startRunner();
  runner?.connected();
  await expect.poll(() => fixture.api.of('failed heartbeat').length).toBe(1);
  await expect.poll(() => fixture.logger.messages('debug')).toContain('Heartbeat failed');
  expect(fixture.logger.messages('error')).toEqual([]);
  await fixture.clock.advance(10_000);
  expect(fixture.logger.messages('error')).toEqual(['Heartbeat failed']);
});

it("[RK-5] tells the person's policy file, and again within a second after it changed", async () => {
  const path = join(fixture.configFolder, 'policy.json');
  const allow = { id: 'docs', effect: 'allow', tool: 'write_file', path: '*.md' } as const;
  const example = { tool: 'write_file', args: { path: 'a.md', content: '' } };
  const save = (...rules: object[]) =>
    writeFileSync(path, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
  const told = () =>
    fixture.api.of<{ policy?: unknown }>('heartbeat').flatMap(({ policy }) => (policy ? [policy] : []));
  save({ ...allow, matches: [example] });
  startRunner();
  runner?.connected();
  await expect.poll(told).toEqual([{ policy: { version: 1, rules: [allow] } }]);
  await fixture.clock.advance(5_000);
  expect(told()).toHaveLength(1);
  save();
  await fixture.clock.advance(1_000);
  await expect.poll(() => told()[1]).toEqual({ policy: { version: 1, rules: [] } });
  writeFileSync(path, '{');
  await fixture.clock.advance(1_000);
  await expect.poll(() => told()[2]).toEqual({ problem: expect.stringContaining('not JSON') });
  fixture.api.failures.heartbeat = [new Error('offline')];
  rmSync(path);
  await fixture.clock.advance(1_000);
  await expect.poll(() => fixture.api.of('failed heartbeat').length).toBe(1);
  await fixture.clock.advance(10_000); // until the next heartbeat
  await expect.poll(() => told()[3]).toEqual({});
});

it('[TL-3] tells its limits until the server has them, and again when it is connected anew', async () => {
  fixture.api.failures.heartbeat = [new Error('offline'), new Error('offline')];
  startRunner();
  for (let beat = 0; beat < 4; beat++) await fixture.clock.advance(10_000);
  const told = (what: string) =>
    fixture.api.of<{ limits?: unknown }>(what).map(({ limits }) => limits !== undefined);
  expect([told('failed heartbeat'), told('heartbeat')]).toEqual([
    [true, true],
    [true, false],
  ]);
  // While the server is unreachable, only one line is logged.
  expect([fixture.logger.messages('error'), fixture.logger.messages('debug')]).toEqual([
    ['Heartbeat failed'],
    ['Heartbeat failed'],
  ]);
  runner?.connected();
  await expect.poll(() => told('heartbeat')).toEqual([true, false, true]);
});

it('removes old records once an hour', async () => {
  startRunner();
  const orphan = join(fixture.workspace.stateFolder, 'undo', 'orphan');
  writeFileSync(orphan, '');
  await fixture.clock.advance(3_590_000);
  expect(existsSync(orphan)).toBe(true);
  await fixture.clock.advance(10_000);
  expect(existsSync(orphan)).toBe(false);
});

it('[EX-6] sends owed results when it is connected again', async () => {
  fixture.api.failures.result = [new Error('offline')];
  startRunner();
  runner?.receive(event('tool.execution_signal', readSignal()));
  await expect.poll(() => fixture.api.of('failed result').length).toBe(1);
  runner?.connected();
  await expect.poll(() => fixture.api.reports.length).toBe(1);
});

it('takes cancels, acknowledgements and undos, and leaves the rest to front ends', async () => {
  startRunner();
  for (const sent of [
    event('tool.cancel', { tool_id: 'tool-1', ...place, reason: '', timestamp }),
    event('tool.result_ack', { tool_id: 'tool-1', status: 'received', timestamp }),
    event('tool.undo', {
      tool_id: 'a',
      ...place,
      undo_id: 'undo-1',
      runner_id: 'runner-2',
      force: false,
      timestamp,
    }),
    event('tool.undo', {
      tool_id: 'b',
      ...place,
      undo_id: 'undo-2',
      runner_id: 'runner-1',
      force: false,
      timestamp,
    }),
    event('agent.state', { ...place, run_id: null, state: 'idle', timestamp }),
  ]) {
    runner?.receive(sent);
  }
  await expect
    .poll(() => fixture.api.reports)
    .toMatchObject([{ undo_id: 'undo-2', error: { code: 'NOT_UNDOABLE' } }]);
  expect((await runner?.handler.undoCalls(['c'], { force: true }))?.error?.code).toBe('NOT_UNDOABLE');
  expect(fixture.logger.messages('info')).toContain('Tool cancel received: tool-1');
});

it('[EV-2] withdraws its cards when the stream starts anew: what is pending follows', async () => {
  startRunner().receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.dialogs.shown.length).toBe(1);
  runner?.receive(event('stream.reset', { reason: 'too old', timestamp }));
  expect(fixture.dialogs.shown[0]?.signal.aborted).toBe(true);
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.dialogs.shown.length).toBe(2);
});

it('an event that cannot be handled is logged', async () => {
  startRunner().receive(event('tool.approval_request', approvalRequest({ tool_name: 'format_disk' })));
  await expect
    .poll(() => fixture.logger.messages('error'))
    .toEqual(['Event could not be handled: tool.approval_request']);
});

it('[RN-10] a second runner of the workspace is told that there is one', () => {
  startRunner({ program: 'the terminal' });
  expect(() => new WorkspaceRunner({ ...optionsOf(), program: 'VS Code' })).toThrow(
    /this workspace has a runner already: the terminal, process/,
  );
});

it('[RN-10] an editor gets the workspace once it is idle, and no other program does', async () => {
  const wanted: string[] = [];
  startRunner({
    program: 'the terminal',
    onWanted: (program) => {
      wanted.push(program);
      void runner?.dispose();
    },
  });
  const start = (options: Partial<WorkspaceRunnerOptions>) =>
    new WorkspaceRunner({ ...optionsOf(), ...options });
  const editor = { program: 'VS Code', takesOver: true };

  expect(() => start({ program: 'a second terminal' })).toThrow('has a runner already');
  await fixture.clock.advance(5_000);
  expect(wanted).toEqual([]);

  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.dialogs.shown.length).toBe(1);
  expect(() => start(editor)).toThrow('has a runner already');
  await fixture.clock.advance(5_000);
  expect(wanted).toEqual([]); // somebody looks at a card

  runner?.receive(event('approval.resolved', approvalResolved()));
  await expect.poll(() => runner?.handler.isIdle).toBe(true);
  await fixture.clock.advance(1_000);
  expect(wanted).toEqual(['VS Code']);
  await runner?.dispose();
  runner = start(editor);
  expect(runner.handler.wantedBy).toBe(undefined); // the request was fulfilled
});

it('[RN-10] a request for the workspace expires unless it is repeated, and an invalid one is ignored', () => {
  startRunner({ program: 'the terminal' });
  const wish = join(fixture.workspace.stateFolder, 'journal.sqlite.wanted');
  const wantedBy = () => runner?.handler.wantedBy;
  expect(() => new WorkspaceRunner({ ...optionsOf(), program: 'VS Code', takesOver: true })).toThrow();
  expect(wantedBy()).toBe('VS Code');
  const longAgo = Date.now() / 1000 - 31;
  utimesSync(wish, longAgo, longAgo);
  expect(wantedBy()).toBe(undefined);
  writeFileSync(wish, 'rubbish');
  expect(wantedBy()).toBe(undefined);
});

it('[RN-10] a program that cannot leave its request is still told who has the workspace', () => {
  startRunner({ program: 'the terminal' });
  mkdirSync(join(fixture.workspace.stateFolder, 'journal.sqlite.wanted'));
  const start = () => new WorkspaceRunner({ ...optionsOf(), program: 'VS Code', takesOver: true });
  expect(start).toThrow('has a runner already: the terminal');
});

const optionsOf = (): WorkspaceRunnerOptions => {
  const { api, logger, workspace, configFolder } = fixture;
  return { runnerId: 'runner-2', workspace, api, dialogProvider: undefined, logger, configFolder };
};

it('dispose leaves nothing behind, and nothing is taken afterwards', async () => {
  fixture.api.failures.preview = [new Error('offline')];
  startRunner();
  runner?.receive(event('tool.approval_request', approvalRequest()));
  await expect.poll(() => fixture.api.of('failed preview').length).toBe(1);
  await runner?.dispose();
  await runner?.dispose();
  const { length } = fixture.api.sent;
  runner?.receive(event('tool.execution_signal', writeSignal()));
  runner?.connected();
  await fixture.clock.advance(3_600_000);
  expect(fixture.api.sent.length).toBe(length);
  expect([runner?.handler.isIdle, fixture.dialogs.shown[0]?.signal.aborted]).toEqual([true, true]);
});
