import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, resultSchemaOf } from '@countersign/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { shownDigestOf } from '../call-samples.test-data.ts';
import { versionOf } from '../files/file-snapshot.ts';
import { type RunnerFixture, runnerFixture } from '../handler-fixture.test-data.ts';
import { ToolHandler } from '../tool-handler.ts';
import { Journal } from './journal.ts';
import { appendCall, type Death, type MortalRun, shellCall } from './mortal-runner.test-data.ts';

let fixture: RunnerFixture;
let handler: ToolHandler | undefined;
const program = fileURLToPath(new URL('mortal-runner.test-data.ts', import.meta.url));

beforeEach(() => {
  fixture = runnerFixture();
  for (const name of ['notes.md', 'a.md', 'b.md']) writeFileSync(at(name), 'old\n');
});
afterEach(async () => {
  await handler?.dispose();
  handler = undefined;
  fixture.remove();
});

const at = (path: string) => join(fixture.files.root, path);
const contentOf = (path: string) => readFileSync(at(path), 'utf8');

/** A runner in a process of its own that is killed at one step. */
function killAt(death: Death): void {
  const { workspace, configFolder } = fixture;
  const run: MortalRun = { workspace, configFolder, death };
  const ended = spawnSync(process.execPath, [program, JSON.stringify(run)], { encoding: 'utf8' });
  expect(ended, ended.stderr).toMatchObject({ signal: 'SIGKILL' });
}

/** The next runner of the same workspace. */
function restart(): ToolHandler {
  const { api, logger, workspace, configFolder, clock } = fixture;
  handler = new ToolHandler(api, undefined, logger, { workspace, configFolder, clock });
  return handler;
}

it('[RN-3] killed after the claim: nothing had started, and the repeated signal runs it, once', async () => {
  killAt('claimed');
  const next = restart();
  const signal = appendCall();
  const result = await next.handleToolExecutionSignal({
    ...signal,
    digest: await shownDigestOf(next, signal),
  });
  expect([result.status, contentOf('notes.md')]).toEqual(['success', 'old\nline\n']);
});

it.each(['started', 'recorded', 'temporary file'] as const)(
  '[RN-3] killed when %s: the file is as before, so it was not done; the call may be made again',
  async (death) => {
    killAt(death);
    if (death === 'temporary file')
      expect(readdirSync(fixture.files.root).filter((name) => name.endsWith('.tmp')).length).toBe(1);
    const next = restart();
    await expect
      .poll(() => fixture.api.reports)
      .toMatchObject([{ status: 'failed', attempt: 1, error: { code: 'WRITE_FAILED', recoverable: true } }]);
    expect((await next.handleToolExecutionSignal(appendCall())).error?.code).toBe('WRITE_FAILED');
    expect(contentOf('notes.md')).toBe('old\n');
    expect(readdirSync(fixture.files.root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await next.dispose();
    const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
    expect([journal.changesOf('tool-1'), readdirSync(join(fixture.workspace.stateFolder, 'undo'))]).toEqual([
      [],
      [],
    ]);
    journal.close();
  },
);

it.each(['renamed', 'journalled', 'sent'] as const)(
  '[RN-3] killed when %s: the file is as after, so it is completed, and never done twice',
  async (death) => {
    killAt(death);
    const next = restart();
    await expect.poll(() => fixture.api.reports).toMatchObject([{ status: 'completed', attempt: 1 }]);
    const repeated = await next.handleToolExecutionSignal(appendCall());
    expect([repeated.status, contentOf('notes.md')]).toEqual(['success', 'old\nline\n']);
    const tool = findTool('write_file');
    expect(tool && resultSchemaOf(tool).safeParse(repeated.output)).toMatchObject({ success: true });
    await next.undoCalls(['tool-1'], { force: false });
    expect(contentOf('notes.md')).toBe('old\n');
  },
);

it.each([
  [[], 'WRITE_FAILED'],
  [['made'], 'RUNNER_LOST'],
  [['made', 'made/deep'], 'completed'],
] as const)('[RN-3] a create_directory that left %j is settled as %s', async (left, expected) => {
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  journal.start('tool-1', 1, 'create_directory');
  const created = { operation: 'created', before: null, after: 'directory', original: undefined } as const;
  journal.recordChanges('tool-1', 1, [
    { path: 'made', ...created },
    { path: 'made/deep', ...created },
  ]);
  journal.close();
  for (const path of left) mkdirSync(at(path));
  const next = restart();
  await expect
    .poll(() => fixture.api.reports.map(({ status, error }) => error?.code ?? status))
    .toEqual([expected]);
  if (expected !== 'completed') return;
  const [report] = fixture.api.reports;
  const tool = findTool('create_directory');
  expect(tool && resultSchemaOf(tool).safeParse(report?.result)).toMatchObject({ success: true });
  expect(report?.result).toMatchObject({ path: 'made/deep' });
  expect((await next.undoCalls(['tool-1'], { force: false })).status).toBe('completed');
  expect(readdirSync(fixture.files.root)).not.toContain('made');
});

it.each([
  ['old', undefined, 'WRITE_FAILED'],
  ['old', 'old', 'RUNNER_LOST'],
  [undefined, 'old', 'completed'],
  [undefined, undefined, 'RUNNER_LOST'],
  ['mine', 'old', 'RUNNER_LOST'],
])('[RN-3] a move_file that left %j and %j is settled as %s', async (source, dest, expected) => {
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  const bytes = Buffer.from('old');
  const version = versionOf(bytes);
  journal.start('tool-1', 1, 'move_file');
  journal.recordChanges('tool-1', 1, [
    { path: 'new.md', operation: 'created', before: null, after: version, original: undefined },
    { path: 'old.md', operation: 'deleted', before: version, after: null, original: { bytes, mode: 0o640 } },
  ]);
  journal.close();
  if (source !== undefined) writeFileSync(at('old.md'), source);
  if (dest !== undefined) writeFileSync(at('new.md'), dest);
  const next = restart();
  await expect
    .poll(() => fixture.api.reports.map(({ status, error }) => error?.code ?? status))
    .toEqual([expected]);
  if (expected !== 'completed') return;
  expect(fixture.api.reports[0]?.result).toEqual({
    success: true,
    path: 'new.md',
    size: 3,
    changed_files: [
      { path: 'new.md', operation: 'created' },
      { path: 'old.md', operation: 'deleted' },
    ],
  });
  expect((await next.undoCalls(['tool-1'], { force: false })).status).toBe('completed');
  expect([contentOf('old.md'), existsSync(at('new.md'))]).toEqual(['old', false]);
});

/** Journals what an earlier runner left: a write that has begun, from `old` to `old` plus a line. */
function leaveBehind(path = 'notes.md'): void {
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  const bytes = Buffer.from('old\n');
  journal.start('tool-1', 1, 'write_file');
  journal.recordChanges('tool-1', 1, [
    {
      path,
      operation: 'modified',
      before: versionOf(bytes),
      after: versionOf(Buffer.from('old\nline\n')),
      original: { bytes, mode: 0o644 },
    },
  ]);
  journal.close();
}

it.each([
  ['another content', () => writeFileSync(at('notes.md'), 'somebody else\n')],
  ['nothing', () => rmSync(at('notes.md'))],
  [
    'a folder',
    () => {
      rmSync(at('notes.md'));
      mkdirSync(at('notes.md'));
    },
  ],
])('[RN-3] neither as before nor as after but %s: unknown', async (_, change) => {
  leaveBehind();
  change();
  restart();
  const unknown = { status: 'failed', error: { code: 'RUNNER_LOST', recoverable: false } };
  await expect.poll(() => fixture.api.reports).toMatchObject([unknown]);
});

it('[RN-3] a folder that was swapped for a link out of the workspace: unknown, and nothing there is touched', async () => {
  leaveBehind('deep/notes.md');
  writeFileSync(join(fixture.files.outside, '.countersign-tool-1-x.tmp'), '');
  symlinkSync(fixture.files.outside, at('deep'));
  restart();
  await expect.poll(() => fixture.api.reports).toMatchObject([{ error: { code: 'RUNNER_LOST' } }]);
  expect(readdirSync(fixture.files.outside)).toEqual(['.countersign-tool-1-x.tmp']);
  expect(fixture.logger.messages('error')).toEqual([
    'A temporary file could not be removed beside deep/notes.md',
  ]);
});

it('[EX-7] a command that was started and not ended: outcome unknown, and it is not run again', async () => {
  killAt('command');
  const next = restart();
  const repeated = await next.handleToolExecutionSignal(shellCall);
  expect(repeated.error).toEqual({
    code: 'RUNNER_LOST',
    message: 'The runner was lost while the call ran: outcome unknown, look before repeating.',
  });
  await expect
    .poll(() => new Set(fixture.api.reports.map(({ error }) => error?.code)))
    .toEqual(new Set(['RUNNER_LOST']));
  // The execution time is unknown, so it is left out instead of 0.
  const told = fixture.api.reports.map(({ execution_time_ms }) => execution_time_ms);
  expect(new Set(told)).toEqual(new Set([undefined]));
});

it('[RN-3] killed in the middle of an undo: it is completed', async () => {
  killAt('undo half done');
  expect([contentOf('a.md'), contentOf('b.md')].sort()).toEqual(['old\n', 'old\nline\n']);
  const next = restart();
  await expect
    .poll(() => fixture.api.reports.filter(({ undo_id }) => undo_id === 'undo-1'))
    .toMatchObject([
      {
        status: 'completed',
        result: { changed_files: [{ path: 'b.md' }, { path: 'a.md' }] },
        undo_tool_ids: ['tool-a', 'tool-b'],
      },
    ]);
  expect([contentOf('a.md'), contentOf('b.md')]).toEqual(['old\n', 'old\n']);
  expect((await next.undoCalls(['tool-a'], { force: false })).error?.code).toBe('NOT_UNDOABLE');
});

it('[RN-3] killed before an undo began: said so, and it can be asked for again', async () => {
  killAt('sent');
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  journal.startUndo('undo-1', ['tool-1']);
  journal.close();
  const next = restart();
  const ofUndo = () => fixture.api.reports.filter(({ undo_id }) => undo_id === 'undo-1');
  await expect
    .poll(ofUndo)
    .toMatchObject([{ status: 'failed', error: { message: expect.stringContaining('Undo it again') } }]);
  expect((await next.undoCalls(['tool-1'], { force: false })).status).toBe('completed');
  expect(contentOf('notes.md')).toBe('old\n');
});

it('[RN-11] a command that was killed in its layer changed nothing', async () => {
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  journal.start('tool-1', 1, 'shell_exec');
  journal.recordLayer('tool-1', 1, 'layer-1');
  journal.close();
  restart();
  await expect
    .poll(() => fixture.api.reports)
    .toMatchObject([{ status: 'failed', error: { code: 'LAYER_DROPPED', recoverable: true } }]);
});

it('[RN-12] a landing whose layer is gone has an unknown outcome, and the other calls are settled', async () => {
  const journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  for (const id of ['tool-1', 'tool-2']) journal.start(id, 1, 'shell_exec');
  const layer = {
    id: 'layer-1',
    upper: join(fixture.workspace.stateFolder, 'gone'),
    result: { success: true },
  };
  await journal.landings.begin({ toolId: 'tool-1', attempt: 1, layer, notUndoable: undefined }, []);
  journal.close();
  restart();
  await expect
    .poll(() => fixture.api.reports.map(({ error }) => error?.code))
    .toEqual(['RUNNER_LOST', 'RUNNER_LOST']);
  expect(fixture.logger.messages('error')).toEqual(['Landing not resumed: tool-1']);
});
