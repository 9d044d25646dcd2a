import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FileChange, versionOf } from '../files/file-snapshot.ts';
import { type RunnerFixture, runnerFixture } from '../handler-fixture.test-data.ts';
import { Journal } from '../journal/journal.ts';
import { FileUndo } from './file-undo.ts';

let fixture: RunnerFixture;
let journal: Journal;
let desk: FileUndo;

beforeEach(() => {
  fixture = runnerFixture();
  journal = Journal.open({ folder: fixture.workspace.stateFolder, holder: { program: 'a test' } });
  desk = new FileUndo(journal, fixture.workspace);
});
afterEach(() => {
  journal.close();
  fixture.remove();
});

const at = (path: string) => join(fixture.files.root, path);
const contentOf = (path: string) => readFileSync(at(path), 'utf8');
const version = (text: string | null) => (text === null ? null : versionOf(Buffer.from(text)));

/** Records and makes a change by a call: the file gets the content `after`; with null it is deleted. */
function call(toolId: string, path: string, after: string | null): void {
  const before = existsSync(at(path)) ? contentOf(path) : null;
  const operation: FileChange['operation'] =
    before === null ? 'created' : after === null ? 'deleted' : 'modified';
  const original =
    before === null ? undefined : { bytes: Buffer.from(before), mode: statSync(at(path)).mode & 0o7777 };
  if (!journal.attempt(toolId, 1)) journal.start(toolId, 1, 'write_file');
  journal.recordChanges(toolId, 1, [
    { path, operation, before: version(before), after: version(after), original },
  ]);
  if (after === null) rmSync(at(path));
  else {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), after);
  }
  journal.end(toolId, 1, {
    status: 'completed',
    result: { success: true },
    attempt: 1,
    execution_time_ms: 1,
  });
}

/** Does something after an undo is journalled and before it touches a file. */
function justBefore(work: () => void): void {
  const { begin } = journal.landings;
  journal.landings.begin = async (...args) => {
    await begin.apply(journal.landings, args);
    work();
  };
}

const undo = (toolIds: string[], force = false) =>
  desk.undo(`undo-${toolIds.join('-')}-${force}`, toolIds, { force });

it('[RN-3] puts back what was changed, created and deleted, with its mode', async () => {
  writeFileSync(at('run.sh'), 'old\n');
  chmodSync(at('run.sh'), 0o750);
  writeFileSync(at('gone.md'), 'gone\n');
  call('a', 'run.sh', 'new\n');
  call('a', 'deep/new.md', 'new\n');
  call('a', 'gone.md', null);
  chmodSync(at('run.sh'), 0o600);
  const report = await undo(['a']);
  expect(report).toEqual({
    undo_id: 'undo-a-false',
    attempt: 1,
    execution_time_ms: 0,
    status: 'completed',
    result: {
      success: true,
      changed_files: [
        { path: 'gone.md', operation: 'created' },
        { path: 'deep/new.md', operation: 'deleted' },
        { path: 'run.sh', operation: 'modified' },
      ],
    },
  });
  expect([contentOf('run.sh'), contentOf('gone.md'), existsSync(at('deep/new.md'))]).toEqual([
    'old\n',
    'gone\n',
    false,
  ]);
  expect(statSync(at('run.sh')).mode & 0o777).toBe(0o750);
});

it('[RN-3] undoes several calls as one, the newest change first', async () => {
  writeFileSync(at('x.md'), '0');
  call('a', 'x.md', '1');
  call('b', 'y.md', 'other');
  call('c', 'x.md', '2');
  call('b', 'x.md', '3');
  const report = await undo(['a', 'b', 'c']);
  expect([report.status, contentOf('x.md'), existsSync(at('y.md'))]).toEqual(['completed', '0', false]);
});

it('[RN-3] refuses where the file was changed since, touches nothing then, and does it when forced', async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'new');
  call('a', 'y.md', 'new');
  writeFileSync(at('x.md'), 'mine');
  const refused = await undo(['a']);
  expect([refused.error?.code, contentOf('x.md'), contentOf('y.md')]).toEqual([
    'UNDO_CONFLICT',
    'mine',
    'new',
  ]);
  const forced = await undo(['a'], true);
  expect([forced.status, contentOf('x.md'), existsSync(at('y.md'))]).toEqual(['completed', 'old', false]);
});

it('[RN-3] names every file that was changed since, and a call without copies refuses the whole undo', async () => {
  call('a', 'x.md', 'new');
  call('b', 'y.md', 'new');
  call('c', 'z.md', 'new');
  for (const path of ['x.md', 'z.md']) writeFileSync(at(path), 'mine');
  expect((await undo(['c', 'b', 'a'])).error).toMatchObject({
    code: 'UNDO_CONFLICT',
    message: expect.stringContaining('Changed after the call: "z.md", "x.md".'),
  });
  expect((await undo(['b', 'unknown'])).error?.code).toBe('NOT_UNDOABLE');
  expect(contentOf('y.md')).toBe('new');
});

it('[RN-3] a repeated undo of calls that are undone already completes, if it may skip them', async () => {
  call('a', 'x.md', 'new');
  call('b', 'y.md', 'new');
  expect((await undo(['a'])).status).toBe('completed');
  const options = { force: false, skipUndone: true };
  expect((await desk.undo('u', ['b', 'a'], options)).status).toBe('completed');
  expect(existsSync(at('y.md'))).toBe(false);
  writeFileSync(at('x.md'), 'mine');
  expect(await desk.undo('v', ['b', 'a'], options)).toMatchObject({
    status: 'completed',
    result: { changed_files: [] },
  });
  expect(contentOf('x.md')).toBe('mine');
});

it("[RN-3] what undo replaces is kept: a forced one can be undone, and then the call's undo is possible again", async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'agent');
  call('a', 'y.md', 'agent');
  writeFileSync(at('x.md'), "the person's own work of two weeks");
  chmodSync(at('x.md'), 0o640);
  rmSync(at('y.md'));
  expect((await desk.undo('forced', ['a'], { force: true })).status).toBe('completed');
  expect(contentOf('x.md')).toBe('old');

  expect(await desk.undo('back', ['forced'], { force: false })).toMatchObject({
    status: 'completed',
    result: { changed_files: [{ path: 'x.md', operation: 'modified' }] },
  });
  expect([contentOf('x.md'), statSync(at('x.md')).mode & 0o777]).toEqual([
    "the person's own work of two weeks",
    0o640,
  ]);
  expect((await desk.undo('twice', ['forced'], { force: false })).error?.code).toBe('NOT_UNDOABLE');
  expect((await desk.undo('plain', ['a'], { force: false })).error?.code).toBe('UNDO_CONFLICT');
  expect((await desk.undo('anew', ['a'], { force: true })).status).toBe('completed');
  expect((await desk.undo('and back', ['anew'], { force: false })).status).toBe('completed');
  expect(contentOf('x.md')).toBe("the person's own work of two weeks");
});

it('[RN-3] a plain undo can be taken back too: files it restored, created and removed', async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'new');
  call('a', 'made.md', 'new');
  writeFileSync(at('gone.md'), 'gone');
  call('a', 'gone.md', null);
  await desk.undo('u', ['a'], { force: false });
  expect((await desk.undo('v', ['u'], { force: false })).status).toBe('completed');
  expect([contentOf('x.md'), contentOf('made.md'), existsSync(at('gone.md'))]).toEqual(['new', 'new', false]);
});

it('[RN-3] nothing is replaced that could not be kept before', async () => {
  call('a', 'x.md', 'new');
  writeFileSync(at('x.md'), 'mine');
  journal.landings.begin = () => {
    throw new CountersignError('JOURNAL_UNAVAILABLE', { problem: 'the disk is full' });
  };
  expect((await undo(['a'], true)).error?.code).toBe('JOURNAL_UNAVAILABLE');
  expect(contentOf('x.md')).toBe('mine');
});

it('[RN-2] says why it was not forced, where that matters', async () => {
  call('a', 'x.md', 'new');
  call('b', 'y.md', 'new');
  writeFileSync(at('x.md'), 'mine');
  const options = { force: false, whyNotForced: 'that is decided here' };
  expect((await desk.undo('u', ['a'], options)).error).toMatchObject({
    code: 'DENIED_BY_POLICY',
    message: expect.stringContaining('"x.md" was changed after the call, and that is decided here'),
  });
  expect((await desk.undo('v', ['b'], options)).status).toBe('completed');
});

describe('[RN-3] directories', () => {
  /** A call of create_directory. */
  function create(toolId: string, ...paths: string[]): void {
    if (!journal.attempt(toolId, 1)) journal.start(toolId, 1, 'create_directory');
    const made = { operation: 'created', before: null, after: 'directory', original: undefined } as const;
    journal.recordChanges(
      toolId,
      1,
      paths.map((path) => ({ path, ...made })),
    );
    for (const path of paths) mkdirSync(at(path));
  }

  it('are removed when they are empty, the inner one first, and made again when that is undone', async () => {
    create('a', 'made', 'made/deep');
    expect(await desk.undo('u', ['a'], { force: false })).toMatchObject({
      status: 'completed',
      result: {
        changed_files: [
          { path: 'made/deep', operation: 'deleted' },
          { path: 'made', operation: 'deleted' },
        ],
      },
    });
    expect(existsSync(at('made'))).toBe(false);
    expect((await desk.undo('v', ['u'], { force: false })).status).toBe('completed');
    expect(statSync(at('made/deep')).isDirectory()).toBe(true);
  });

  it('stay when something is in them, forced or not; what the same undo removes does not count', async () => {
    create('a', 'made');
    call('b', 'made/x.md', 'new');
    writeFileSync(at('made/mine.md'), 'mine');
    for (const force of [false, true]) {
      expect((await undo(['a', 'b'], force)).error?.code).toBe('UNDO_CONFLICT');
      expect([contentOf('made/x.md'), contentOf('made/mine.md')]).toEqual(['new', 'mine']);
    }
    rmSync(at('made/mine.md'));
    expect((await desk.undo('u', ['a', 'b'], { force: false })).status).toBe('completed');
    expect(existsSync(at('made'))).toBe(false);
  });

  it('stay when something is put into them just then', async () => {
    create('a', 'made');
    justBefore(() => writeFileSync(at('made/mine.md'), 'mine'));
    expect((await undo(['a'])).error?.code).toBe('UNDO_CONFLICT');
    expect(contentOf('made/mine.md')).toBe('mine');
  });

  it('are not confused with the file that was changed', async () => {
    call('a', 'x.md', 'new');
    rmSync(at('x.md'));
    mkdirSync(at('x.md'));
    create('b', 'made');
    rmdirSync(at('made'));
    writeFileSync(at('made'), 'mine');
    for (const force of [false, true]) {
      expect((await undo(['a'], force)).error?.code).toBe('UNDO_CONFLICT');
    }
    expect((await undo(['b'])).error?.code).toBe('UNDO_CONFLICT');
    expect([statSync(at('x.md')).isDirectory(), contentOf('made')]).toEqual([true, 'mine']);
  });
});

it('an earlier call cannot be undone below a later one', async () => {
  writeFileSync(at('x.md'), '0');
  call('a', 'x.md', '1');
  call('b', 'x.md', '2');
  expect((await undo(['a'])).error?.code).toBe('UNDO_CONFLICT');
  expect((await undo(['b'])).status).toBe('completed');
  expect((await desk.undo('again', ['a'], { force: false })).status).toBe('completed');
  expect(contentOf('x.md')).toBe('0');
});

it('a file that is as it was already needs nothing', async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'new');
  writeFileSync(at('x.md'), 'old');
  expect(await undo(['a'])).toMatchObject({ status: 'completed', result: { changed_files: [] } });
});

it('nothing is undone twice, and what is not known cannot be undone', async () => {
  call('a', 'x.md', 'new');
  const first = await undo(['a']);
  writeFileSync(at('x.md'), 'new');
  expect(await undo(['a'])).toEqual(first); // a repeated undo gets its result from the journal
  expect((await desk.undo('other', ['a'], { force: true })).error?.message).toContain(
    'it was undone already',
  );
  expect((await undo(['unknown'])).error?.message).toContain('no copy is kept');
  expect(contentOf('x.md')).toBe('new');
});

it('restores a file whose folder is gone', async () => {
  call('a', 'deep/er/x.md', 'old');
  call('b', 'deep/er/x.md', null);
  rmSync(at('deep'), { recursive: true });
  expect((await undo(['b'])).status).toBe('completed');
  expect(contentOf('deep/er/x.md')).toBe('old');
});

it('[VA-1] does not follow a folder that was swapped for a link out of the workspace, forced or not', async () => {
  call('a', 'deep/x.md', 'old');
  call('b', 'deep/x.md', 'new');
  writeFileSync(join(fixture.files.outside, 'x.md'), 'new');
  renameSync(at('deep'), at('moved'));
  symlinkSync(fixture.files.outside, at('deep'));
  for (const force of [false, true]) expect((await undo(['b'], force)).error?.code).toBe('UNDO_CONFLICT');
  expect(readFileSync(join(fixture.files.outside, 'x.md'), 'utf8')).toBe('new');
});

it('[VA-3] does not follow a folder that was swapped for a link to another place of the workspace either', async () => {
  mkdirSync(at('.git/hooks'), { recursive: true });
  call('a', 'samples/pre-commit', 'echo evil');
  call('b', 'samples/pre-commit', null);
  rmSync(at('samples'), { recursive: true });
  symlinkSync('.git/hooks', at('samples'));
  for (const force of [false, true]) expect((await undo(['b'], force)).error?.code).toBe('UNDO_CONFLICT');
  expect(existsSync(at('.git/hooks/pre-commit'))).toBe(false);
});

it('[VA-3] nor one that is swapped while it is being undone', async () => {
  mkdirSync(at('.git/hooks'), { recursive: true });
  call('a', 'samples/pre-commit', 'echo evil');
  call('b', 'samples/pre-commit', null);
  justBefore(() => {
    rmSync(at('samples'), { recursive: true });
    symlinkSync('.git/hooks', at('samples'));
  });
  expect((await undo(['b'])).error?.code).toBe('UNDO_CONFLICT');
  expect(existsSync(at('.git/hooks/pre-commit'))).toBe(false);
});

it('does not touch a link that stands in the place of the file', async () => {
  call('a', 'x.md', 'old');
  call('b', 'x.md', 'new');
  rmSync(at('x.md'));
  symlinkSync('README.md', at('x.md'));
  expect((await undo(['b'], true)).error?.code).toBe('UNDO_CONFLICT');
});

it('[RN-3] refuses when the file changes while it is being undone', async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'new');
  justBefore(() => writeFileSync(at('x.md'), 'just now'));
  expect((await undo(['a'])).error?.code).toBe('UNDO_CONFLICT');
  expect(contentOf('x.md')).toBe('just now');
});

it('[RN-3] nothing is undone when the journal cannot be written', async () => {
  writeFileSync(at('x.md'), 'old');
  call('a', 'x.md', 'new');
  journal.startUndo = () => {
    throw new Error('the disk is full');
  };
  expect((await undo(['a'])).error?.code).toBe('EXECUTION_FAILED');
  journal.endUndo = journal.startUndo as never;
  expect((await undo(['a'])).error?.code).toBe('EXECUTION_FAILED');
  expect(contentOf('x.md')).toBe('new');
  await desk.idle();
});
