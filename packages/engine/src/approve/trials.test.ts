import type { RequestBody } from '@countersign/protocol';
import { codeOf, digest, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
let page: Listener;
const capabilities = ['preview', 'path_rules', 'trials'];

beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1', capabilities, instance: 'first' });
  page = await fixture.listen();
});

const commandPreview = {
  kind: 'command' as const,
  commands: [['node', 'a.js']],
  cwd: '.',
  network: false,
  reversible: false,
  scripts: ['a.js'],
};
const trial = {
  ended: 'exit' as const,
  exit_code: 0,
  duration_ms: 3,
  stdout: '',
  stderr: '',
  files: [],
  counts: { created: 0, modified: 0, deleted: 0, mode: 0 },
  withheld: [],
  left_out: [],
  hosts: [],
};
type Sent = Partial<RequestBody<'submitPreview'>>;
const plain: Sent = { preview: commandPreview };
const withTrial: Sent = { preview: { ...commandPreview, trial }, digest_base: digest('b') };

async function previewed(): Promise<string> {
  const { approval_id } = await fixture.submit('execute_command', { command: 'node', args: ['a.js'] });
  await fixture.preview(approval_id, plain);
  return String(approval_id);
}
const tryIt = (approvalId: string) =>
  fixture.engine.approvals.tryTool(fixture.person, approvalId, { device: 'phone' });
const row = async (approvalId: string) => fixture.store.read((tx) => tx.get('approvals', approvalId));
const lastUpdate = () => page.last('approval.updated');

describe('[RN-13] a trial that was asked for', () => {
  it('[EV-1] goes to the runner alone, is recorded, and changes neither deadline nor digest', async () => {
    const id = await previewed();
    const before = await row(id);
    expect(await tryIt(id)).toMatchObject({
      approval_id: id,
      trying: true,
      revision: 1,
      digest: before?.digest,
    });
    expect(await runner.last('tool.try')).toMatchObject({
      approval_id: id,
      revision: 1,
      runner_id: 'runner-1',
    });
    expect(page.all('tool.try')).toEqual([]);
    expect(await lastUpdate()).toMatchObject({ trying: true, digest: before?.digest });
    expect((await row(id))?.deadline_at).toBe(before?.deadline_at);
    const audit = await fixture.store.read((tx) => tx.audit('ada', 0, 100));
    expect(audit.find(({ action }) => action === 'approval.try_asked')).toMatchObject({
      subject: id,
      data: { token: 'token-person', device: 'phone', runner: 'runner-1' },
    });
    expect(await codeOf(tryIt(id))).toBe('TRIAL_RUNNING');
  });

  it('[AP-8] replaces the preview with another digest; a decision on the old one is refused', async () => {
    const id = await previewed();
    const old = (await row(id))?.digest as string;
    await tryIt(id);
    await fixture.preview(id, withTrial);
    const shown = await row(id);
    expect(shown).toMatchObject({ revision: 2, trial: null, preview: { trial: { ended: 'exit' } } });
    expect((await lastUpdate()).trying).toBeUndefined();
    const decide = (named: string) =>
      codeOf(fixture.engine.approvals.approveTool(fixture.person, id, { digest: named }));
    expect(await decide(old)).toBe('PREVIEW_CHANGED');
    expect(await decide(shown?.digest as string)).toBe('ok');
  });

  it('[AP-9] no runner replaces what a person reads by a trial that nobody asked for', async () => {
    const id = await previewed();
    const before = await row(id);
    expect(await codeOf(fixture.preview(id, withTrial))).toBe('TRIAL_NOT_ASKED');
    await tryIt(id);
    await fixture.preview(id, withTrial);
    const other: Sent = {
      preview: { ...commandPreview, trial: { ...trial, stdout: 'something else' } },
      revision: 2,
    };
    expect(await codeOf(fixture.preview(id, other))).toBe('TRIAL_NOT_ASKED');
    expect(await row(id)).toMatchObject({ revision: 2, deadline_at: before?.deadline_at });
  });

  it('[AP-6] ends with an edit, whose parameters nobody asked to try', async () => {
    const id = await previewed();
    await tryIt(id);
    const tool_params = { command: 'npm', args: ['publish'] };
    await codeOf(
      fixture.engine.approvals.approveTool(fixture.person, id, {
        tool_params,
        digest: (await row(id))?.digest as string,
      }),
    );
    expect(await row(id)).toMatchObject({ revision: 2, trial: null });
    expect(await codeOf(fixture.preview(id, { ...withTrial, revision: 2 }))).toBe('TRIAL_NOT_ASKED');
  });

  it('[AP-8] is made again by itself when the approved one was stale', async () => {
    const id = await previewed();
    await tryIt(id);
    await fixture.preview(id, withTrial);
    const { tool_id, digest: shown } = (await row(id)) as { tool_id: string; digest: string };
    await fixture.engine.approvals.approveTool(fixture.person, id, { digest: shown });
    const { attempt } = await runner.last('tool.execution_signal');
    await fixture.report(tool_id, {
      status: 'failed',
      error: { code: 'APPROVAL_STALE', message: 'x' },
      attempt,
    });
    const again = await runner.last('tool.approval_request');
    expect(again).toMatchObject({ tool_id, trying: true, asked_before: 1 });
    expect(again.approval_id).not.toBe(id);
    await fixture.preview(again.approval_id, plain);
    expect(await runner.last('tool.try')).toMatchObject({ approval_id: again.approval_id });
    expect((await row(again.approval_id))?.trial).toMatchObject({ runner_id: 'runner-1' });
  });
});

describe('[RN-13] a runner that does not say what came of it', () => {
  it('is lost: the trial ends', async () => {
    const id = await previewed();
    await tryIt(id);
    await fixture.loseRunner('ada', 'runner-1');
    expect((await row(id))?.trial).toBeNull();
    expect((await lastUpdate()).trying).toBeUndefined();
  });

  it('is another program now: the trial ends; the same program goes on', async () => {
    const id = await previewed();
    await tryIt(id);
    runner.close();
    runner = await fixture.listen({ runnerId: 'runner-1', capabilities, instance: 'first' });
    expect((await row(id))?.trial).not.toBeNull();
    runner.close();
    await fixture.listen({ runnerId: 'runner-1', capabilities, instance: 'second' });
    expect((await row(id))?.trial).toBeNull();
  });

  it('sends the same preview again, because it was started again: the trial ends', async () => {
    const id = await previewed();
    await tryIt(id);
    await fixture.preview(id, plain);
    expect(await row(id)).toMatchObject({ trial: null, revision: 1 });
  });
});

describe('[RE-3] what cannot be tried', () => {
  it.each([
    ['a call that is no command', 'write_file', { path: 'a.md', content: 'a' }],
    ['a background job', 'shell_background', { command: 'node a.js' }],
    ['a call with network', 'shell_exec', { command: 'npm install', network: true }],
  ] as const)('%s', async (_, tool, params) => {
    const { approval_id } = await fixture.submit(tool, params);
    expect(await codeOf(tryIt(String(approval_id)))).toBe('NOT_TRYABLE');
  });

  it('a call whose runner cannot, or that has none', async () => {
    fixture = await EngineFixture.open();
    const { approval_id } = await fixture.submit('execute_command', { command: 'node', args: ['a.js'] });
    expect(await codeOf(tryIt(String(approval_id)))).toBe('NOT_TRYABLE');
    await fixture.listen({ runnerId: 'runner-1', capabilities: ['preview', 'path_rules'] });
    expect(await codeOf(tryIt(String(approval_id)))).toBe('NOT_TRYABLE');
  });

  it('a decided one, and that of somebody else', async () => {
    const id = await previewed();
    const grace = { ...fixture.person, userId: 'grace' };
    expect(await codeOf(fixture.engine.approvals.tryTool(grace, id, {}))).toBe('NOT_FOUND');
    await fixture.engine.approvals.rejectTool(fixture.person, id, {});
    expect(await codeOf(tryIt(id))).toBe('ALREADY_DECIDED');
  });
});
