import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DIRECTORY, type FileChange, versionOf } from '../files/file-snapshot.ts';
import { type RunnerFixture, runnerFixture } from '../handler-fixture.test-data.ts';
import { Journal } from '../journal/journal.ts';
import { FileUndo } from './file-undo.ts';
import { runChanges } from './run-changes.ts';

let fixture: RunnerFixture;
let journal: Journal;
let now = Date.now();

beforeEach(() => {
  now = Date.now();
  fixture = runnerFixture();
  const folder = fixture.workspace.stateFolder;
  journal = Journal.open({ folder, holder: { program: 'a test' }, now: () => now });
});
afterEach(() => {
  journal.close();
  fixture.remove();
});

const at = (path: string) => join(fixture.files.root, path);

/**
 * A call of a run that gives a file the content `text`, or deletes it if that is null. Returns what the runner would
 * report.
 */
async function call(toolId: string, path: string, text: string | null, runId = 'run') {
  const original = existsSync(at(path))
    ? { bytes: readFileSync(at(path)), mode: statSync(at(path)).mode & 0o7777 }
    : undefined;
  const bytes = text === null ? null : Buffer.from(text);
  const change: FileChange = {
    path,
    operation: !original ? 'created' : bytes ? 'modified' : 'deleted',
    before: original ? versionOf(original.bytes) : null,
    after: bytes && versionOf(bytes),
    original,
    contentAfter: bytes && { bytes, mode: original?.mode },
  };
  journal.start(toolId, 1, 'write_file');
  journal.recordChanges(toolId, 1, [change], runId);
  if (bytes) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), bytes);
  } else rmSync(at(path));
  journal.end(toolId, 1, { status: 'completed', result: { success: true }, attempt: 1 });
  return runChanges(journal, runId, [change]);
}

it('tells one difference from before the first call of the run to after the last', async () => {
  writeFileSync(at('x.md'), 'one\ntwo\nthree\n');
  await call('earlier', 'x.md', 'one\n2\nthree\n', 'another run');
  await call('a', 'x.md', 'one\n2\nthree\nfour\n');
  await call('b', 'y.md', 'other\n');
  await call('c', 'x.md', 'ONE\n2\nthree\nfour\n');
  expect(await call('d', 'x.md', 'ONE\n2\nthree\n4\n')).toEqual([
    {
      path: 'x.md',
      operation: 'modified',
      diff: '--- a/x.md\n+++ b/x.md\n@@ -1,3 +1,4 @@\n-one\n+ONE\n 2\n three\n+4\n',
      truncated: false,
      added: 2,
      removed: 1,
    },
  ]);
});

it('says created, deleted or nothing for the run as a whole', async () => {
  expect(await call('a', 'new.md', 'new\n')).toMatchObject([{ operation: 'created', added: 1, removed: 0 }]);
  expect(await call('b', 'new.md', 'newer\n')).toMatchObject([
    { operation: 'created', diff: '--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+newer\n' },
  ]);
  const nothing = { operation: 'none', diff: '', added: 0, removed: 0 };
  expect(await call('c', 'new.md', null)).toMatchObject([nothing]);
  writeFileSync(at('x.md'), 'old\n');
  await call('d', 'x.md', 'new\n');
  expect(await call('e', 'x.md', null)).toMatchObject([{ operation: 'deleted', added: 0, removed: 1 }]);
  expect(await call('f', 'x.md', 'old\n')).toMatchObject([nothing]);
});

it('begins anew after the calls before were undone', async () => {
  writeFileSync(at('x.md'), 'old\n');
  await call('a', 'x.md', 'first try\n');
  await new FileUndo(journal, fixture.workspace).undo('u', ['a'], { force: false });
  expect(await call('b', 'x.md', 'second try\n')).toMatchObject([
    { diff: expect.stringContaining('-old\n+second try\n') },
  ]);
});

it('counts lines that look like the header of a diff', async () => {
  writeFileSync(at('x.sql'), '-- old\n@@ x\n');
  expect(await call('a', 'x.sql', '++ new\n@@ x\n')).toMatchObject([{ added: 1, removed: 1 }]);
});

it('tells a directory without a diff, and no diff of a large file', async () => {
  const made = { operation: 'created', before: null, after: DIRECTORY, original: undefined } as const;
  const change = { path: 'made', ...made, contentAfter: null };
  journal.start('a', 1, 'create_directory');
  journal.recordChanges('a', 1, [change], 'run');
  expect(await runChanges(journal, 'run', [change])).toMatchObject([
    { path: 'made', operation: 'created', diff: '' },
  ]);
  expect(await call('b', 'large.md', 'x'.repeat(3 * 1024 * 1024))).toEqual([]);
  expect(await call('c', 'large.md', 'small')).toMatchObject([{ operation: 'created', added: 1 }]);
});

it('forgets a run with its undo copies', async () => {
  writeFileSync(at('run.sh'), 'old\n');
  chmodSync(at('run.sh'), 0o755);
  await call('a', 'run.sh', 'new\n');
  expect(journal.firstChangeOfRun('run', 'run.sh')).toMatchObject({ toolId: 'a', mode: 0o755 });
  now += 31 * 24 * 60 * 60 * 1000;
  journal.prune();
  expect(journal.firstChangeOfRun('run', 'run.sh')).toBeUndefined();
});
