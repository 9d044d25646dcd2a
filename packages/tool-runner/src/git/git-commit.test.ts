import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failedReport } from '../result-outbox.ts';
import { GitFixture } from './git-fixture.test-data.ts';

let fixture: GitFixture;
beforeEach(() => {
  fixture = new GitFixture();
});
afterEach(() => fixture.remove());

const hook = (name: string, script: string, folder = '.git/hooks'): void => {
  fixture.write(`${folder}/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(fixture.root, folder, name), 0o755);
};
const staged = (): string[] =>
  fixture.git('diff', '--cached', '--name-status', '--no-renames').split('\n').filter(Boolean);
const committed = (): string[] =>
  fixture.git('show', '--format=', '--name-status', '--no-renames', 'HEAD').split('\n').filter(Boolean);

describe('git_commit', () => {
  it('[RN-6] commits new, changed and deleted files, and nothing else', async () => {
    fixture.withCommit();
    for (const name of ['gone.txt', 'other.txt', 'staged.txt']) fixture.write(name, 'x\n');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'second');
    fixture.write('a.txt', 'staged\n');
    fixture.git('add', 'a.txt');
    fixture.write('a.txt', 'working\n');
    fixture.write('staged.txt', 'staged\n');
    fixture.write('staged-new.txt', 'x\n');
    fixture.git('add', 'staged.txt', 'staged-new.txt');
    fixture.write('other.txt', 'changed\n');
    rmSync(join(fixture.root, 'gone.txt'));
    fixture.write('dir/new "file".txt', 'new\n');
    const files = ['a.txt', 'gone.txt', './dir/new "file".txt', 'a.txt', '[x].txt'];
    fixture.write('[x].txt', 'x\n');
    fixture.write('x.txt', 'not named\n');

    const result = await fixture.call('git_commit', { message: '# subject\n\nbody\n', files });
    expect(result).toEqual({
      success: true,
      commit: {
        id: fixture.git('rev-parse', 'HEAD').trim(),
        author: 'Ada',
        email: 'ada@example.org',
        date: expect.any(String),
        subject: '# subject',
        body: 'body',
      },
      changed_files: [
        { path: '[x].txt', operation: 'created' },
        { path: 'a.txt', operation: 'modified' },
        { path: 'dir/new "file".txt', operation: 'created' },
        { path: 'gone.txt', operation: 'deleted' },
      ],
    });
    expect(fixture.git('show', 'HEAD:a.txt')).toBe('working\n');
    expect(staged()).toEqual(['A\tstaged-new.txt', 'M\tstaged.txt']);
    expect(fixture.git('status', '--porcelain', 'other.txt')).toBe(' M other.txt\n');
    expect(fixture.git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(fixture.git('reflog', '-1')).toContain('commit: # subject');
  });

  it('[RN-6] makes the first commit, and one on a detached head', async () => {
    fixture.git('init', '-q', '--initial-branch=main');
    fixture.write('a.txt', 'x\n');
    fixture.write('b.txt', 'x\n');
    const { changed_files } = await fixture.call('git_commit', { message: 'first', files: ['a.txt'] });
    expect(changed_files).toEqual([{ path: 'a.txt', operation: 'created' }]);
    expect(fixture.git('reflog', 'show', 'main')).toContain('first');
    fixture.git('checkout', '-q', '--detach');
    await fixture.call('git_commit', { message: 'second', files: ['b.txt'] });
    expect(fixture.git('log', '--format=%s')).toBe('second\nfirst\n');
    expect(fixture.git('rev-parse', 'main')).not.toBe(fixture.git('rev-parse', 'HEAD'));
  });

  it('takes one side of a rename, both sides, and links', async () => {
    fixture.withCommit();
    fixture.git('mv', 'a.txt', 'b.txt');
    await fixture.call('git_commit', { message: 'new name', files: ['b.txt'] });
    expect(committed()).toEqual(['A\tb.txt']);
    expect(staged()).toEqual(['D\ta.txt']);
    await fixture.call('git_commit', { message: 'old name', files: ['a.txt'] });
    expect(committed()).toEqual(['D\ta.txt']);
    symlinkSync('b.txt', join(fixture.root, 'link'));
    await fixture.call('git_commit', { message: 'link', files: ['link'] });
    expect(fixture.git('show', 'HEAD:link')).toBe('b.txt');
  });

  it('[AP-7] runs the hooks, and what they say is progress', async () => {
    fixture.withCommit();
    hook('pre-commit', 'echo checking >&2; git diff --cached --name-only -- "*.txt" > seen');
    hook('commit-msg', 'echo "signed off" >> "$1"');
    hook('post-commit', 'git log -1 --format=%s > after');
    fixture.write('a.txt', 'changed\n');
    fixture.write('a.md', 'new\n');
    const { commit } = await fixture.call('git_commit', { message: 'change', files: ['a.txt', 'a.md'] });
    expect(commit.subject).toBe('change signed off');
    const text = (path: string) => readFileSync(join(fixture.root, path), 'utf8');
    expect([text('seen'), text('after')]).toEqual(['a.txt\n', 'change signed off\n']);
    expect(fixture.progress).toContainEqual({
      output: { stream: 'stderr', chunk: expect.stringContaining('checking') },
    });
  });

  it('[RN-5] hooks run in isolation: without network, home or sensitive files', async () => {
    fixture.withCommit();
    let connections = 0;
    const server = createServer(() => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      fixture.write('.env', 'SECRET');
      hook(
        'pre-commit',
        `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}'; [ -e ${fixture.home} ] && : > home; cat .env > secret; echo x > .git/hooks/new; true`,
      );
      fixture.write('a.txt', 'changed\n');
      await fixture.call('git_commit', { message: 'change', files: ['a.txt'] });
      expect(readFileSync(join(fixture.root, 'secret'), 'utf8')).toBe('');
      expect([connections, fixture.exists('home'), fixture.exists('.git/hooks/new')]).toEqual([
        0,
        false,
        false,
      ]);
    } finally {
      server.close();
    }
  });

  it('[VA-3] [RN-6] files that a hook plants are set aside and reported; it can change neither configuration nor hooks', async () => {
    fixture.withCommit();
    fixture.git('config', 'core.hooksPath', 'tools/hooks');
    rmSync(join(fixture.root, '.git/hooks'), { recursive: true });
    const config = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    const evil = `printf '[core]\\n\\tfsmonitor = /bin/evil\\n' >> .git/config
mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout; echo x > .git/commondir
echo evil > .envrc; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; exit 0`;
    hook('pre-commit', evil, 'tools/hooks');
    fixture.write('new.txt', 'new\n');
    await fixture.call('git_commit', { message: 'm', files: ['new.txt'] });
    expect(committed()).toEqual(['A\tnew.txt']);
    expect(readFileSync(join(fixture.root, '.git/config'), 'utf8')).toBe(config);
    const places = ['.envrc', 'sub/.vscode', '.git/hooks', '.git/commondir'];
    expect(places.filter((path) => fixture.exists(path))).toEqual([]);
    const said = fixture.progress.map(({ output }) => output?.chunk).join('');
    for (const path of ['.envrc', 'sub/.vscode']) expect(said).toContain(`"${path}" would execute later`);
  });

  it('[TL-2] says which files its hooks changed, also where one then says no (founding documents: tool-system)', async () => {
    fixture.withCommit();
    fixture.write('a.txt', 'changed\n');
    fixture.write('other.txt', 'x\n');
    hook('pre-commit', 'echo formatted > other.txt; echo x > made.txt');
    const { changed_files } = await fixture.call('git_commit', { message: 'm', files: ['a.txt'] });
    expect(changed_files).toEqual([
      { path: 'a.txt', operation: 'modified' },
      { path: 'made.txt', operation: 'created' },
      { path: 'other.txt', operation: 'modified' },
    ]);
    hook('pre-commit', 'echo again >> other.txt; exit 1');
    fixture.write('a.txt', 'once more\n');
    const failure = await fixture
      .call('git_commit', { message: 'm', files: ['a.txt'] })
      .catch((error: unknown) => error);
    expect(failedReport(failure, 1)).toMatchObject({
      status: 'failed',
      error: { code: 'GIT_FAILED' },
      result: {
        success: false,
        code: 'GIT_FAILED',
        changed_files: [{ path: 'other.txt', operation: 'modified' }],
      },
    });
  });

  it('[RN-6] a hook that says no leaves everything as it was', async () => {
    fixture.withCommit();
    hook('pre-commit', 'echo "the linter is not happy" >&2; exit 1');
    fixture.write('new.txt', 'x\n');
    fixture.write('a.txt', 'changed\n');
    const before = fixture.git('status', '--porcelain');
    await expect(
      fixture.call('git_commit', { message: 'no', files: ['a.txt', 'new.txt'] }),
    ).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('the linter is not happy'),
    });
    expect(fixture.git('status', '--porcelain')).toBe(before);
    expect(fixture.git('log', '--format=%s')).toBe('first\n');
  });

  it('[EX-8] cancelled while a hook runs, it leaves everything as it was', async () => {
    fixture.withCommit();
    hook('pre-commit', 'echo started >&2; sleep 60');
    fixture.write('new.txt', 'x\n');
    const controller = new AbortController();
    const call = fixture.call('git_commit', { message: 'no', files: ['new.txt'] }, controller.signal);
    await expect.poll(() => fixture.progress.length).toBeGreaterThan(0);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    expect(fixture.git('status', '--porcelain')).toBe('?? new.txt\n');
    expect(fixture.exists('.git/index.lock')).toBe(false);
  });

  it('a hook that takes too long is stopped', async () => {
    await fixture.remove();
    fixture = new GitFixture({ limits: { commandTimeoutMaxSeconds: 1 } });
    fixture.withCommit();
    hook('pre-commit', 'sleep 60');
    fixture.write('a.txt', 'x\n');
    await expect(fixture.call('git_commit', { message: 'no', files: ['a.txt'] })).rejects.toMatchObject({
      code: 'COMMAND_TIMEOUT',
    });
  });

  it("uses the repository's own name before the person's, and asks for one where there is none", async () => {
    fixture.withCommit();
    fixture.git('config', 'user.name', 'Grüße "W" x');
    fixture.write('a.txt', 'changed\n');
    const { commit } = await fixture.call('git_commit', { message: 'm', files: ['a.txt'] });
    expect([commit.author, commit.email]).toEqual(['Grüße "W" x', 'ada@example.org']);
    fixture.git('config', '--unset', 'user.name');
    rmSync(join(fixture.home, '.gitconfig'));
    fixture.write('a.txt', 'changed again\n');
    await expect(fixture.call('git_commit', { message: 'm', files: ['a.txt'] })).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringMatching(/user|identity|email/i),
    });
  });

  it('[VA-2] refuses what a partial commit cannot do', async () => {
    fixture.withCommit();
    mkdirSync(join(fixture.root, 'empty'));
    fixture.write('dir/f', 'x');
    fixture.git('add', '.');
    fixture.git('commit', '-qm', 'dir');
    fixture.write('.env', 'SECRET');
    const commit = (...files: string[]) => fixture.call('git_commit', { message: 'm', files });
    fixture.git('init', '-q', 'nested');
    execFileSync('mkfifo', [join(fixture.root, 'pipe')]);
    await expect(commit('pipe')).rejects.toMatchObject({ code: 'NOT_A_REGULAR_FILE' });
    await expect(commit('nested')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    await expect(commit('missing')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(commit('dir')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    await expect(commit('empty')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    await expect(commit('.')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    await expect(commit('.env')).rejects.toMatchObject({ code: 'PATH_SENSITIVE' });
    await expect(commit('../x')).rejects.toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
    await expect(commit('a.txt')).rejects.toMatchObject({ code: 'GIT_FAILED' }); // nothing changed
    rmSync(join(fixture.root, 'dir'), { recursive: true });
    await expect(commit('dir')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    fixture.git('rm', '-rq', '--cached', 'dir');
    await expect(commit('dir')).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    fixture.write('.gitignore', 'ignored\n');
    fixture.write('ignored', 'x');
    await expect(commit('ignored')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('ignored'),
    });
    const many = Array.from({ length: 1001 }, (_, i) => `f${i}`);
    await expect(commit(...many)).rejects.toMatchObject({ message: expect.stringContaining('1001 files') });
  });

  it('refuses files of a filter, conflicts, an unfinished merge and too large files', async () => {
    await fixture.remove();
    fixture = new GitFixture({ limits: { fileBytes: 1000 } });
    fixture.withCommit();
    const commit = (...files: string[]) => fixture.call('git_commit', { message: 'm', files });
    fixture.write('big', 'x'.repeat(1001));
    await expect(commit('big')).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
    fixture.write('.gitattributes', '*.png filter=lfs\n*.txt text -filter\n');
    fixture.write('x.png', 'x');
    await expect(commit('x.png')).rejects.toMatchObject({ message: expect.stringContaining('"lfs"') });
    fixture.git('checkout', '-q', '-b', 'other');
    fixture.write('a.txt', 'other\n');
    fixture.git('commit', '-qam', 'other');
    fixture.git('checkout', '-q', 'main');
    fixture.write('a.txt', 'main\n');
    fixture.git('commit', '-qam', 'ours');
    fixture.tryGit(['merge', 'other']);
    await expect(commit('.gitattributes')).rejects.toMatchObject({
      message: expect.stringContaining('not finished'),
    });
    rmSync(join(fixture.root, '.git/MERGE_HEAD'));
    await expect(commit('a.txt')).rejects.toMatchObject({
      message: expect.stringContaining('has conflicts'),
    });
  });

  it('[VA-3] hooks that stand outside are refused; those that are off or not executable do not run', async () => {
    fixture.withCommit();
    fixture.write('a.txt', 'changed\n');
    const params = { message: 'm', files: ['a.txt'] };
    for (const path of [fixture.outside, '~/hooks', '../outside', '%(prefix)/hooks']) {
      fixture.git('config', 'core.hooksPath', path);
      await expect(fixture.call('git_commit', params)).rejects.toMatchObject({
        code: 'REPOSITORY_UNSAFE',
        message: expect.stringContaining('hooks folder'),
      });
    }
    fixture.git('config', '--unset', 'core.hooksPath');
    fixture.canary('canary');
    symlinkSync(join(fixture.outside, 'canary.sh'), join(fixture.root, '.git/hooks/pre-commit'));
    await expect(fixture.call('git_commit', params)).rejects.toMatchObject({ code: 'REPOSITORY_UNSAFE' });
    rmSync(join(fixture.root, '.git/hooks/pre-commit'));
    fixture.write('.git/hooks/pre-commit', 'exit 1');
    expect((await fixture.preview('git_commit', params)).preview).toMatchObject({ hooks: [] });
    chmodSync(join(fixture.root, '.git/hooks/pre-commit'), 0o755);
    expect((await fixture.preview('git_commit', params)).preview).toMatchObject({
      hooks: ['.git/hooks/pre-commit'],
    });
    fixture.git('config', 'core.hooksPath', '/dev/null');
    expect((await fixture.preview('git_commit', params)).preview).toMatchObject({ hooks: [] });
    await fixture.call('git_commit', params);
  });
});

describe('the preview of a commit', () => {
  it('[AP-7] shows that a link is one, also where a file becomes one', async () => {
    fixture.withCommit();
    symlinkSync('b.txt', join(fixture.root, 'link'));
    rmSync(join(fixture.root, 'a.txt'));
    symlinkSync('b.txt', join(fixture.root, 'a.txt'));
    const { preview } = await fixture.preview('git_commit', { message: 'm', files: ['link', 'a.txt'] });
    const diffs = preview.kind === 'commit' ? preview.files.map(({ diff }) => diff) : [];
    expect(diffs).toEqual([
      expect.stringContaining('new file mode 120000\n'),
      expect.stringContaining('old mode 100644\nnew mode 120000\n'),
    ]);
  });

  it('[AP-7] shows message, diffs and hooks', async () => {
    fixture.withCommit();
    fixture.git('config', 'core.hooksPath', '.husky/_');
    hook('pre-commit', 'exit 0', '.husky/_');
    fixture.write('a.txt', 'one\n2\nthree\n');
    fixture.write('new\u202e.txt', 'new\n');
    fixture.write('bin', new Uint8Array([0, 1]));
    fixture.write('gone', 'x\n');
    fixture.git('add', 'gone');
    fixture.git('commit', '-qm', 'gone', '--no-verify');
    rmSync(join(fixture.root, 'gone'));
    const { preview } = await fixture.preview('git_commit', {
      message: 'm\u202e',
      files: ['a.txt', 'new\u202e.txt', 'bin', 'gone'],
    });
    expect(preview).toEqual({
      kind: 'commit',
      message: 'm⟨U+202E⟩',
      files: [
        {
          path: 'a.txt',
          operation: 'modified',
          diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
          truncated: false,
          size_before: 14,
          size_after: 12,
        },
        expect.objectContaining({ path: 'new⟨U+202E⟩.txt', operation: 'created', size_before: null }),
        expect.objectContaining({ path: 'bin', operation: 'created' }),
        expect.objectContaining({ path: 'gone', operation: 'deleted', size_after: null }),
      ],
      hooks: ['.husky/_/pre-commit'],
    });
  });

  it('[AP-8] its base covers the hook that runs, however many files stand before it', async () => {
    fixture.withCommit();
    fixture.git('config', 'core.hooksPath', 'tools');
    for (let i = 0; i < 250; i++) fixture.write(`tools/a${i}`, 'x');
    hook('pre-commit', 'exit 0', 'tools');
    fixture.write('a.txt', 'changed\n');
    const base = async () => (await fixture.preview('git_commit', { message: 'm', files: ['a.txt'] })).base;
    const before = await base();
    hook('pre-commit', 'evil; exit 0', 'tools');
    expect(await base()).not.toEqual(before);
  });

  it('[AP-8] its base changes with all that the commit depends on, and with nothing else', async () => {
    fixture.withCommit();
    fixture.git('config', 'core.hooksPath', '.husky/_');
    hook('pre-commit', 'exit 0', '.husky/_');
    fixture.write('.husky/pre-commit', 'npm test\n');
    fixture.write('a.txt', 'changed\n');
    const base = async () => (await fixture.preview('git_commit', { message: 'm', files: ['a.txt'] })).base;
    let last = await base();
    expect(await base()).toEqual(last);
    fixture.write('b.txt', 'something else\n');
    fixture.git('add', 'b.txt');
    expect(await base()).toEqual(last);
    const changes: [string, () => void][] = [
      ['the file', () => fixture.write('a.txt', 'changed again\n')],
      ['its mode', () => chmodSync(join(fixture.root, 'a.txt'), 0o755)],
      ['what is staged', () => fixture.git('add', 'a.txt')],
      ['the head', () => fixture.git('commit', '-q', '--no-verify', '--only', '-m', 'b', 'b.txt')],
      ['the branch', () => fixture.git('checkout', '-q', '-b', 'other')],
      ['a hook', () => hook('pre-commit', 'exit 1', '.husky/_')],
      ['what a hook calls', () => fixture.write('.husky/pre-commit', 'npm run evil\n')],
      ['whether a hook runs', () => chmodSync(join(fixture.root, '.husky/_/pre-commit'), 0o644)],
      ['a new hook', () => hook('post-commit', 'exit 0', '.husky/_')],
      ['the configuration', () => fixture.git('config', 'core.autocrlf', 'input')],
      [
        'who commits',
        () => fixture.write(join(fixture.home, '.gitconfig'), '[user]\n\tname = Eve\n\temail = e@e\n'),
      ],
      ['that it is gone', () => rmSync(join(fixture.root, 'a.txt'))],
    ];
    for (const [what, change] of changes) {
      change();
      const now = await base();
      expect(now, what).not.toEqual(last);
      last = now;
    }
  });

  it('writes nothing', async () => {
    fixture.withCommit();
    fixture.write('a.txt', 'changed\n');
    fixture.write('new.txt', 'x\n');
    const index = readFileSync(join(fixture.root, '.git/index'));
    await fixture.preview('git_commit', { message: 'm', files: ['a.txt', 'new.txt'] });
    expect(readFileSync(join(fixture.root, '.git/index'))).toEqual(index);
    expect(fixture.git('status', '--porcelain')).toBe(' M a.txt\n?? new.txt\n');
  });
});
