import { chmodSync, linkSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture } from './git-fixture.test-data.ts';

let fixture: GitFixture;
beforeEach(() => {
  fixture = new GitFixture();
});
afterEach(() => fixture.remove());

describe('git_status', () => {
  it('[TL-2] tells branch, head and the state of each file', async () => {
    fixture.withCommit();
    fixture.write('gone.txt', 'x\n');
    fixture.write('moved.txt', 'a line that is long enough to be known again\n');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'second');
    fixture.write('a.txt', 'changed\n');
    fixture.git('add', 'a.txt');
    fixture.write('a.txt', 'changed twice\n');
    fixture.git('mv', 'moved.txt', 'now here.txt');
    rmSync(join(fixture.root, 'gone.txt'));
    fixture.write('sub/new.txt', 'new\n');

    expect(await fixture.call('git_status')).toEqual({
      success: true,
      branch: 'main',
      head: fixture.git('rev-parse', 'HEAD').trim(),
      upstream: null,
      ahead: 0,
      behind: 0,
      files: [
        { path: 'a.txt', staged: 'modified', unstaged: 'modified' },
        { path: 'gone.txt', staged: null, unstaged: 'deleted' },
        { path: 'now here.txt', old_path: 'moved.txt', staged: 'renamed', unstaged: null },
        { path: 'sub/new.txt', staged: null, unstaged: 'untracked' },
      ],
      truncated: false,
    });
    expect((await fixture.call('git_status', { path: 'sub' })).files).toEqual([
      { path: 'sub/new.txt', staged: null, unstaged: 'untracked' },
    ]);
  });

  it('[RN-6] knows a branch before its first commit and a detached head', async () => {
    fixture.git('init', '-q', '--initial-branch=main');
    fixture.write('a.txt', 'x');
    fixture.git('add', '.');
    expect(await fixture.call('git_status')).toMatchObject({
      branch: 'main',
      head: null,
      files: [{ path: 'a.txt', staged: 'added', unstaged: null }],
    });
    fixture.git('commit', '-qm', 'first');
    fixture.git('checkout', '-q', '--detach');
    expect(await fixture.call('git_status')).toMatchObject({ branch: null, files: [] });
  });

  it('[RN-6] tells conflicts, type changes and how far the upstream is', async () => {
    fixture.withCommit();
    fixture.write('type.txt', 'x');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'second');
    fixture.git('clone', '-q', '--bare', fixture.root, join(fixture.outside, 'up.git'));
    fixture.git('remote', 'add', 'origin', join(fixture.outside, 'up.git'));
    fixture.git('fetch', '-q');
    fixture.git('branch', '-q', '--set-upstream-to=origin/main');
    fixture.git('checkout', '-q', '-b', 'other');
    fixture.write('a.txt', 'other\n');
    fixture.git('commit', '-qam', 'other');
    fixture.git('checkout', '-q', 'main');
    fixture.write('a.txt', 'main\n');
    fixture.git('commit', '-qam', 'ours');
    fixture.tryGit(['merge', 'other']);
    rmSync(join(fixture.root, 'type.txt'));
    symlinkSync('a.txt', join(fixture.root, 'type.txt'));
    expect(await fixture.call('git_status')).toMatchObject({
      upstream: 'origin/main',
      ahead: 1,
      behind: 0,
      files: [
        { path: 'type.txt', staged: null, unstaged: 'type_changed' },
        { path: 'a.txt', staged: 'conflicted', unstaged: 'conflicted' },
      ],
    });
    const diff = await fixture.call('git_diff');
    expect(diff.files.map(({ path, state }) => [path, state])).toEqual([
      ['a.txt', 'modified'],
      ['type.txt', 'type_changed'],
    ]);
    expect(diff.files[0]?.hunks[0]?.lines).toContain('+<<<<<<< HEAD');
    expect(diff.files[1]?.hunks.map((hunk) => hunk.lines[0])).toEqual(['-x', '+a.txt']);
    expect((await fixture.call('git_diff', { staged: true })).files).toEqual([
      { path: 'a.txt', state: 'conflicted', binary: false, hunks: [] },
    ]);
  });

  it('[RN-6] takes names with line feeds, quotes, blanks and bytes that are no UTF-8', async () => {
    fixture.withCommit();
    const names = ['line\nfeed', 'quo"te', ' blank ', 'tab\t', 'ünï', 'back\\slash'];
    for (const name of names) fixture.write(name, 'x\n');
    writeFileSync(Buffer.concat([Buffer.from(`${fixture.root}/`), Buffer.from([0x66, 0xff])]), 'x\n');
    const status = await fixture.call('git_status');
    expect(status.files.map((file) => file.path).sort()).toEqual([...names, '"f\\377"'].sort());
    fixture.git('add', '.');
    const diff = await fixture.call('git_diff', { staged: true });
    expect(diff.files.map((file) => file.path).sort()).toEqual([...names, '"f\\377"'].sort());
    expect(diff.files.every((file) => file.hunks[0]?.lines[0] === '+x')).toBe(true);
  });

  it('[VA-2] leaves sensitive files out, by name and by content', async () => {
    fixture.withCommit();
    fixture.write('.env', 'SECRET=one\nSECOND=two\nTHIRD=three\n');
    fixture.write('keys/server.key', 'KEY\n');
    fixture.git('add', '-f', '.');
    fixture.git('commit', '-qm', 'oops');
    fixture.write('.env', 'SECRET=other\nSECOND=two\nTHIRD=three\n');
    fixture.write('keys/server.key', 'OTHER\n');
    fixture.write('.env.local', 'x\n');
    fixture.write('b.txt', 'fine\n');
    expect((await fixture.call('git_status')).files.map((file) => file.path)).toEqual(['b.txt']);
    expect((await fixture.call('git_diff')).files).toEqual([]);
    // The file was renamed from a sensitive one, so its diff would show lines of the secret.
    fixture.git('checkout', '-q', '.');
    fixture.git('mv', '.env', 'settings.txt');
    expect((await fixture.call('git_status')).files).toEqual([
      { path: 'settings.txt', staged: 'added', unstaged: null },
      { path: 'b.txt', staged: null, unstaged: 'untracked' },
    ]);
    expect(JSON.stringify(await fixture.call('git_diff', { staged: true }))).not.toContain('SECRET');
    await expect(fixture.call('git_diff', { path: '.env.local' })).rejects.toMatchObject({
      code: 'PATH_SENSITIVE',
    });
  });

  it('[RN-6] tells a submodule that moved, and does not look into it', async () => {
    fixture.withCommit();
    fixture.git('init', '-q', join(fixture.outside, 'sub'));
    fixture.git('-C', join(fixture.outside, 'sub'), 'commit', '-q', '--allow-empty', '-m', 'sub');
    fixture.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      'add',
      '-q',
      join(fixture.outside, 'sub'),
      'sub',
    );
    fixture.git('commit', '-qm', 'with submodule');
    const before = fixture.git('-C', 'sub', 'rev-parse', 'HEAD').trim();
    fixture.write('sub/untracked', 'x');
    expect((await fixture.call('git_status')).files).toEqual([]);
    fixture.git('-C', 'sub', 'commit', '-q', '--allow-empty', '-m', 'more');
    const after = fixture.git('-C', 'sub', 'rev-parse', 'HEAD').trim();
    expect((await fixture.call('git_status')).files).toEqual([
      { path: 'sub', staged: null, unstaged: 'modified' },
    ]);
    expect((await fixture.call('git_diff')).files[0]?.hunks[0]?.lines).toEqual([
      `-Subproject commit ${before}`,
      `+Subproject commit ${after}`,
    ]);
    const { preview, base } = await fixture.preview('git_commit', { message: 'move', files: ['sub'] });
    expect(preview).toMatchObject({
      files: [{ path: 'sub', diff: expect.stringContaining(`+Subproject commit ${after}`) }],
    });
    fixture.git('-C', 'sub', 'commit', '--quiet', '--allow-empty', '-m', 'later');
    const later = await fixture.preview('git_commit', { message: 'move', files: ['sub'] });
    expect(later.base).not.toBe(base);
    const { changed_files } = await fixture.call('git_commit', { message: 'move', files: ['sub'] });
    expect(changed_files).toEqual([{ path: 'sub', operation: 'modified' }]);
  });
});

describe('bounds', () => {
  it('[TL-3] stops at the number of entries and says so', async () => {
    await fixture.remove();
    fixture = new GitFixture({ limits: { entries: 3, outputStreamBytes: 4096 } });
    fixture.withCommit();
    for (let i = 0; i < 5; i++) fixture.write(`f${i}`, 'x\n');
    const status = await fixture.call('git_status');
    expect([status.files.length, status.truncated]).toEqual([3, true]);
    fixture.git('add', '.');
    const diff = await fixture.call('git_diff');
    expect([diff.files.length, diff.truncated]).toEqual([3, true]);
    // More than 4 KiB of output: the part before the cut is reported, in whole lines.
    fixture.git('reset', '-q');
    for (let i = 0; i < 5; i++) rmSync(join(fixture.root, `f${i}`));
    fixture.write('a.txt', 'a line of some length\n'.repeat(1000));
    const cut = await fixture.call('git_diff');
    expect(cut).toMatchObject({ truncated: true, files: [{ path: 'a.txt' }] });
    expect(cut.files[0]?.hunks[0]?.lines.at(-1)).toBe('+a line of some length');
    for (let i = 0; i < 100; i++) fixture.write(`${'d'.repeat(60)}/${i}`, 'x\n');
    expect((await fixture.call('git_status')).truncated).toBe(true);
  });

  it('[TL-3] a text of many megabytes is mentioned, not shown', async () => {
    fixture.withCommit();
    fixture.write('a.txt', Buffer.alloc(20 * 1024 * 1024, 'line\n'));
    const { files } = await fixture.call('git_diff');
    expect(files).toEqual([{ path: 'a.txt', state: 'modified', binary: true, hunks: [] }]);
  });
});

describe('git_diff', () => {
  it('[VA-1] leaves out the lines of a file that may be one outside, and says so', async () => {
    fixture.withCommit();
    fixture.write('b.txt', 'own\n');
    fixture.git('add', '.');
    writeFileSync(join(fixture.outside, 'secret.txt'), 'secret\n');
    rmSync(join(fixture.root, 'a.txt'));
    linkSync(join(fixture.outside, 'secret.txt'), join(fixture.root, 'a.txt'));
    const diff = await fixture.call('git_diff');
    expect(diff).toMatchObject({
      files: [
        { path: 'a.txt', state: 'modified', hunks: [] },
        { path: 'b.txt', hunks: [{ lines: ['+own'] }] },
      ],
      truncated: true,
    });
    expect(JSON.stringify(diff)).not.toContain('secret');
    const staged = await fixture.call('git_diff', { staged: true });
    expect(staged).toMatchObject({ files: [{ path: 'b.txt' }], truncated: false });
  });

  it('[TL-2] tells hunks, renames, modes and binary files', async () => {
    fixture.withCommit();
    fixture.write('bin', new Uint8Array([0, 1, 2]));
    fixture.write('old.txt', 'first\nsecond\nthird\nfourth\nfifth\n');
    fixture.write('run.sh', 'echo\n');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'second');
    fixture.write('a.txt', 'one\n2\nthree');
    fixture.write('bin', new Uint8Array([0, 1, 3]));
    renameSync(join(fixture.root, 'old.txt'), join(fixture.root, 'new.txt'));
    fixture.write('new.txt', 'first\nsecond\nthird\nfourth\nlast\n');
    chmodSync(join(fixture.root, 'run.sh'), 0o755);
    fixture.git('add', '--intent-to-add', 'new.txt');
    expect(await fixture.call('git_diff')).toEqual({
      success: true,
      files: [
        {
          path: 'a.txt',
          state: 'modified',
          binary: false,
          hunks: [
            {
              old_start: 1,
              old_lines: 3,
              new_start: 1,
              new_lines: 3,
              header: '',
              lines: [' one', '-two', '-three', '+2', '+three', '\\ No newline at end of file'],
            },
          ],
        },
        { path: 'bin', state: 'modified', binary: true, hunks: [] },
        {
          path: 'new.txt',
          old_path: 'old.txt',
          state: 'renamed',
          binary: false,
          hunks: [expect.objectContaining({ lines: [' second', ' third', ' fourth', '-fifth', '+last'] })],
        },
        { path: 'run.sh', state: 'modified', binary: false, hunks: [] },
      ],
      truncated: false,
    });
    expect((await fixture.call('git_diff', { path: 'bin' })).files.map((file) => file.path)).toEqual(['bin']);
    expect((await fixture.call('git_diff', { staged: true })).files.map((file) => file.path)).toEqual([]);
  });

  it('[RN-6] knows a copy from what it was copied', async () => {
    fixture.withCommit();
    fixture.write('copy.txt', 'one\ntwo\nthree\n');
    fixture.write('a.txt', 'one\ntwo\nthree\nfour\n');
    fixture.git('add', '.');
    expect((await fixture.call('git_status')).files).toEqual([
      { path: 'a.txt', staged: 'modified', unstaged: null },
      { path: 'copy.txt', old_path: 'a.txt', staged: 'copied', unstaged: null },
    ]);
    expect((await fixture.call('git_diff', { staged: true })).files[1]).toEqual({
      path: 'copy.txt',
      old_path: 'a.txt',
      state: 'copied',
      binary: false,
      hunks: [],
    });
  });

  it('[RN-6] compares with nothing before the first commit', async () => {
    fixture.git('init', '-q', '--object-format=sha256');
    fixture.write('a.txt', 'x\n');
    fixture.git('add', '.');
    const expected = [
      { path: 'a.txt', state: 'added', binary: false, hunks: [expect.objectContaining({ lines: ['+x'] })] },
    ];
    expect((await fixture.call('git_diff')).files).toEqual(expected);
    expect((await fixture.call('git_diff', { staged: true })).files).toEqual(expected);
    expect(await fixture.call('git_log')).toEqual({ success: true, commits: [], truncated: false });
    expect(await fixture.call('git_branch')).toMatchObject({ branches: [] });
  });

  it('says what git says when it fails', async () => {
    fixture.withCommit();
    fixture.write('.git/index', 'not an index');
    await expect(fixture.call('git_diff')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('index file'),
    });
    await expect(fixture.call('git_status')).rejects.toMatchObject({ code: 'GIT_FAILED' });
    const objects = join(fixture.root, '.git/objects');
    for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
    await expect(fixture.call('git_log')).rejects.toMatchObject({ code: 'GIT_FAILED' });
  });
});

describe('git_log', () => {
  it('[TL-2] tells commits, newest first, limited by number and path, through renames', async () => {
    fixture.withCommit();
    fixture.git('mv', 'a.txt', 'b.txt');
    fixture.git('commit', '-qm', 'subject\n\nbody\nmore\n');
    fixture.write('c/c.txt', 'x');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'ünï "quoted"', '--date=2026-01-02T03:04:05+02:00');
    const { commits, truncated } = await fixture.call('git_log', { limit: 2 });
    expect(truncated).toBe(true);
    expect(commits).toEqual([
      {
        id: fixture.git('rev-parse', 'HEAD').trim(),
        author: 'Ada',
        email: 'ada@example.org',
        date: '2026-01-02T03:04:05+02:00',
        subject: 'ünï "quoted"',
      },
      expect.objectContaining({ subject: 'subject', body: 'body\nmore' }),
    ]);
    const subjects = async (path: string) =>
      (await fixture.call('git_log', { path })).commits.map((commit) => commit.subject);
    expect(await subjects('b.txt')).toEqual(['subject', 'first']);
    expect(await subjects('c')).toEqual(['ünï "quoted"']);
    expect(await subjects('a.txt')).toEqual(['subject', 'first']);
  });

  it('reads a commit whose date and author are invalid', async () => {
    fixture.withCommit();
    const tree = fixture.git('write-tree').trim();
    fixture.write('object', `tree ${tree}\nauthor nobody\ncommitter nobody\n\nbroken\n`);
    const id = fixture.git('hash-object', '-t', 'commit', '-w', '--literally', 'object').trim();
    fixture.git('update-ref', 'refs/heads/main', id);
    expect((await fixture.call('git_log')).commits).toEqual([
      {
        id,
        author: expect.any(String),
        email: expect.any(String),
        date: '1970-01-01T00:00:00Z',
        subject: 'broken',
      },
    ]);
  });
});

describe('a call', () => {
  it('[EX-8] ends when it is cancelled, before and while git runs', async () => {
    fixture.withCommit();
    const controller = new AbortController();
    const call = fixture.call('git_status', {}, controller.signal);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    await expect(fixture.call('git_log', {}, controller.signal)).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
    });
  });

  it('leaves nothing behind', async () => {
    expect(fixture.isIsolated).toBe(true);
    fixture.withCommit();
    await fixture.allReads();
    fixture.repository.dispose();
    fixture.repository.dispose();
    expect(readdirSync(fixture.workspace.stateFolder)).toEqual(['isolation']);
    // The repository can be used again.
    expect(await fixture.call('git_status')).toMatchObject({ branch: 'main' });
    await fixture.executor.dispose();
    await fixture.executor.dispose();
    expect(readdirSync(fixture.workspace.stateFolder)).toEqual(['isolation']);
  });

  it('[PF-3] is quick once it is warm', async () => {
    fixture.withCommit();
    await fixture.call('git_status');
    const once = async () => {
      const start = performance.now();
      await fixture.call('git_status');
      return performance.now() - start;
    };
    // Other programs may delay single calls, but at least one call must be fast.
    await expect.poll(once).toBeLessThan(250);
  });
});
