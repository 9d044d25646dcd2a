import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWithinJsonLimits, routes } from '@countersign/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { approvalRequest, approvalResolved } from './call-samples.test-data.ts';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import type { PreviewReport } from './runner-api.ts';
import { WorkspaceRunner } from './workspace-runner.ts';

let fixture: RunnerFixture;
let runner: WorkspaceRunner;

beforeEach(() => {
  fixture = runnerFixture();
  const { api, logger, clock, workspace, configFolder } = fixture;
  runner = new WorkspaceRunner({
    runnerId: 'runner-1',
    workspace,
    api,
    dialogProvider: undefined,
    logger,
    clock,
    configFolder,
    isIsolated: true,
  });
});
afterEach(async () => {
  await runner.dispose();
  fixture.remove();
});

/** The server's default limit for the body of a preview. */
const BODY_BYTES = 8 * 1024 * 1024;

/** The body that a runner sends of a call, as the server's routes check it. */
async function bodyOf(tool_name: string, tool_params: Record<string, unknown>) {
  const before = fixture.api.of('preview').length;
  const data = approvalRequest({
    approval_id: tool_name,
    tool_id: `call-${before}`,
    tool_name,
    tool_params: tool_params as never,
  });
  runner.receive({ event: 'tool.approval_request', data });
  await expect.poll(() => fixture.api.of('preview').length, { timeout: 30_000 }).toBe(before + 1);
  const report = fixture.api.of<PreviewReport>('preview').at(-1) as PreviewReport;
  runner.receive({ event: 'approval.resolved', data: approvalResolved({ approval_id: tool_name }) });
  const body = { runner_id: 'runner-1', ...report };
  return { report, body };
}

async function expectTaken(tool: string, params: Record<string, unknown>) {
  const { report, body } = await bodyOf(tool, params);
  const parsed = routes.submitPreview.body.safeParse(body);
  const bytes = Buffer.byteLength(JSON.stringify(body));
  expect([tool, parsed.error?.message, bytes < BODY_BYTES, isWithinJsonLimits(body)]).toEqual([
    tool,
    undefined,
    true,
    true,
  ]);
  return report;
}

const name = (letter: string, end = '') => letter.repeat(255 - end.length) + end;
/** A path of 4,096 bytes, made of names of the maximum length. */
const longest = (end: string): string =>
  `${`${name('d')}/`.repeat(15)}e/${'f'.repeat(254 - end.length)}${end}`;
const huge = 'я'.repeat(3_000_000);

it('[AP-7] the largest values that policy lets through fit into what the server takes, for every tool that asks', async () => {
  const root = fixture.files.root;
  const far = longest('.md');
  expect(Buffer.byteLength(far)).toBe(4096);
  const near = name('x', '.md');
  writeFileSync(join(root, near), `${huge}\n`);
  expect(
    await expectTaken('write_file', { path: far, content: `${'line\n'.repeat(400_000)}${huge}` }),
  ).toMatchObject({
    risk_level: 'MEDIUM',
  });
  await expectTaken('write_file', { path: longest(''), content: '\u0007'.repeat(2_000_000) });
  await expectTaken('edit_file', { path: near, old: huge, new: `${huge}\u202e` });
  await expectTaken('copy_file', { source: near, dest: far });
  await expectTaken('delete_file', { path: near });
  await expectTaken('create_directory', { path: far });
  await expectTaken('execute_command', { command: 'node', args: [near, ...Array(40_000).fill('ab')] });
  await expectTaken('execute_command', { command: 'node', args: ['-e', 'x'.repeat(120_000)] });
  await expectTaken('execute_command', { command: 'tar', args: ['-cf', far, near] });
  const line = `${Array.from({ length: 2_000 }, (_, i) => `rm ${i}.md`).join('; ')}; rm ${near}`;
  await expectTaken('shell_exec', { command: line });
  await expectTaken('shell_exec', { command: `echo ${'\u202e'.repeat(100_000)} > ${near}` });
  await expectTaken('shell_background', { command: `node ${near}` });
  await expectTaken('git_branch', { name: 'b'.repeat(240), create: true });
});

it('[AP-7] the same for a commit of as many files as it may have, with a very long message', async () => {
  const root = fixture.files.root;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'ignore' });
  git('init', '-q');
  const files = Array.from({ length: 900 }, (_, i) => `${i}-${'n'.repeat(100)}.md`);
  for (const file of files) writeFileSync(join(root, file), 'я'.repeat(5_000));
  const report = await expectTaken('git_commit', { message: huge, files });
  if (!('preview' in report) || report.preview.kind !== 'commit') throw new Error(JSON.stringify(report));
  expect(report.preview.files).toHaveLength(900);
  expect(report.preview.files.at(-1)).toMatchObject({
    truncated: true,
    diff: expect.stringContaining('not shown'),
  });
  expect(report.preview.message).toMatch(/⟨\d+ more characters⟩$/);
});

it('[AP-7] a refusal fits too, however long what it quotes', async () => {
  for (const [tool, params] of [
    ['write_file', { path: 'x'.repeat(1_000_000), content: '' }],
    ['write_file', { path: `${'a/'.repeat(10_000)}.env`, content: '' }],
    ['execute_command', { command: 'x'.repeat(100_000), args: [] }],
    ['shell_exec', { command: `rm -rf / ${'x'.repeat(100_000)}` }],
    ['git_push', { remote: '-'.repeat(200) }],
    ['x'.repeat(100_000), {}],
  ] as const)
    expect(await expectTaken(tool, params)).toHaveProperty('refused');
});
