import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { type ComparisonBounds, watchChanges } from './workspace-changes.ts';

const fixtures: IsolationFixture[] = [];
afterEach(async () => {
  for (const fixture of fixtures.splice(0)) await fixture.remove();
});

/** Writes files before the scan. */
function setup(paths: readonly string[], options: ConstructorParameters<typeof IsolationFixture>[0] = {}) {
  const fixture = new IsolationFixture(options);
  fixtures.push(fixture);
  for (const path of paths) fixture.write(path, `${path}\n`);
  const at = (path: string) => join(fixture.root, path);
  const watch = (bounds?: ComparisonBounds, signal = new AbortController().signal) =>
    watchChanges(fixture.workspace, signal, bounds);
  return { fixture, at, watch };
}

describe('watchChanges', () => {
  it('[TL-2] names what was created, modified and deleted (founding documents: tool-system)', async () => {
    const { fixture, at, watch } = setup(['same.txt', 'b/changed.txt', 'gone.txt', 'd/e/moved.txt', 'é.txt']);
    const changesSince = await watch();
    fixture.write('b/changed.txt', 'longer than before\n');
    fixture.write('new/deep/file.txt', 'x');
    fixture.write('é.txt', 'other\n');
    rmSync(at('gone.txt'));
    renameSync(at('d/e'), at('f'));
    expect(await changesSince()).toEqual({
      changed_files: [
        { path: 'b/changed.txt', operation: 'modified' },
        { path: 'd/e/moved.txt', operation: 'deleted' },
        { path: 'f/moved.txt', operation: 'created' },
        { path: 'gone.txt', operation: 'deleted' },
        { path: 'new/deep/file.txt', operation: 'created' },
        { path: 'é.txt', operation: 'modified' },
      ],
    });
  });

  it('[TL-2] finds a change that keeps size and time of the file', async () => {
    const { at, watch } = setup(['a.txt']);
    const past = new Date('2020-01-01T00:00:00Z');
    utimesSync(at('a.txt'), past, past);
    const changesSince = await watch();
    writeFileSync(at('a.txt'), 'A.TXT\n');
    utimesSync(at('a.txt'), past, past);
    expect(await changesSince()).toEqual({ changed_files: [{ path: 'a.txt', operation: 'modified' }] });
  });

  it('says nothing where nothing changed', async () => {
    const { watch } = setup(['a.txt']);
    expect(await (await watch())()).toEqual({});
  });

  it('[VA-2] leaves out sensitive files, .git, links and installed packages', async () => {
    const { fixture, at, watch } = setup(['.env', '.hidden/a', 'node_modules/p/index.js']);
    fixture.makeRepository();
    const changesSince = await watch();
    for (const path of ['.env', '.env.local', '.hidden/a', '.git/notes', 'sub/.git/config', 'sub/id_rsa'])
      fixture.write(path, 'changed\n');
    fixture.write('node_modules/p/index.js', 'changed\n');
    symlinkSync('/etc', at('link'));
    expect(await changesSince()).toEqual({ changed_files: [{ path: '.hidden/a', operation: 'modified' }] });
  });

  it('leaves out what git ignores, also where a repository begins above', async () => {
    const { fixture, watch } = setup(['.gitignore', 'dist/a.js']);
    execFileSync('git', ['init', '--quiet', fixture.parent]);
    fixture.write('.gitignore', 'dist/\n');
    const changesSince = await watch();
    fixture.write('dist/a.js', 'built\n');
    fixture.write('dist/b.js', 'built\n');
    fixture.write('src/a.ts', 'x\n');
    expect(await changesSince()).toEqual({ changed_files: [{ path: 'src/a.ts', operation: 'created' }] });
  });

  it('does not report files as deleted or created when git’s ignore rules change', async () => {
    const { fixture, at, watch } = setup(['.gitignore', 'one/a.txt', 'two/old.txt']);
    fixture.makeRepository();
    fixture.write('.gitignore', 'two/\n');
    while (Date.now() <= statSync(at('two/old.txt')).ctimeMs) await setImmediate();
    const changesSince = await watch({ clockSlackMs: 0 });
    fixture.write('.gitignore', 'one/\n');
    expect(await changesSince()).toEqual({ changed_files: [{ path: '.gitignore', operation: 'modified' }] });
  });

  it('[VA-1] does not follow a link that took the place of a folder', async () => {
    const { fixture, at, watch } = setup(['a/x.txt']);
    const changesSince = await watch();
    rmSync(at('a'), { recursive: true });
    writeFileSync(join(fixture.home, 'x.txt'), 'outside\n');
    symlinkSync(fixture.home, at('a'));
    expect(await changesSince()).toEqual({ changed_files: [{ path: 'a/x.txt', operation: 'deleted' }] });
  });

  it('says that there are more files than it compares', async () => {
    const { fixture, watch } = setup(['a', 'b', 'c']);
    const changesSince = await watch({ files: 2 });
    fixture.write('d', 'new\n');
    expect(await changesSince()).toEqual({
      changed_files_incomplete: 'the workspace has more than 2 files; others were not compared',
    });
  });

  it('says that the time limit was reached', async () => {
    const { watch } = setup(['a']);
    const changesSince = await watch({ milliseconds: 0 });
    expect(await changesSince()).toEqual({
      changed_files_incomplete: 'comparing the workspace took too long; not every file was compared',
    });
  });

  it('[TL-2] does not report files as modified that the first scan had no time for', async () => {
    const { watch } = setup(['a/1', 'b/2', 'c/3', 'd/4', 'e/5', 'f/6', 'g/7', 'h/8']);
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
    const changesSince = await watch({ milliseconds: 50_000 });
    clock.mockRestore();
    expect(await changesSince()).toEqual({
      changed_files_incomplete: 'comparing the workspace took too long; not every file was compared',
    });
  });

  it('[TL-2] does not report files as deleted that it may not read any more', () => {
    const { fixture, at } = setup(['a.txt', 'closed/b.txt', 'closed/deep/c.txt']);
    // Root may look everywhere, so as root the test runs the scan as another user.
    const somebody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    if (somebody.uid !== undefined)
      for (const path of ['.', 'a.txt', 'closed', 'closed/b.txt', 'closed/deep', 'closed/deep/c.txt'])
        chownSync(at(path), somebody.uid, somebody.gid);
    chmodSync(fixture.parent, 0o755);
    const source = (name: string) => JSON.stringify(import.meta.resolve(name));
    const script = `
      import { chmodSync, rmSync } from 'node:fs';
      import { defaultLimits } from '@countersign/protocol';
      import { watchChanges } from ${source('./workspace-changes.ts')};
      const workspace = { root: process.argv[1], limits: defaultLimits };
      const changes = [];
      for (const mode of [0o600, 0o000, 0o300]) {
        const changesSince = await watchChanges(workspace, new AbortController().signal);
        chmodSync(process.argv[1] + '/closed', mode);
        changes.push(await changesSince());
        chmodSync(process.argv[1] + '/closed', 0o700);
      }
      console.log(JSON.stringify(changes));`;
    const args = ['--input-type=module', '-e', script, fixture.root];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      ...somebody,
    });
    const incomplete = 'some folders may not be looked into; their files were not compared';
    expect(stdout, stderr).not.toBe('');
    expect(JSON.parse(stdout)).toEqual([
      { changed_files_incomplete: incomplete },
      { changed_files_incomplete: incomplete },
      {}, // known files can still be compared
    ]);
  });

  it('[TL-3] lists at most 1,000 entries, and says how many there are', async () => {
    const { fixture, watch } = setup([], { limits: { entries: 2 } });
    const changesSince = await watch();
    for (const name of ['a', 'b', 'c']) fixture.write(name, 'x');
    expect(await changesSince()).toEqual({
      changed_files: [
        { path: 'a', operation: 'created' },
        { path: 'b', operation: 'created' },
      ],
      changed_files_incomplete: '3 files changed; 2 of them are listed',
    });
  });

  it('ends at once when the call is cancelled', async () => {
    const { watch } = setup(['a']);
    await expect(watch({}, AbortSignal.abort())).rejects.toThrow(ExecutionCancelled);
  });
});
