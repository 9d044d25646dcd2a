import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { progressTicks } from '../progress-ticks.test-data.ts';
import { GitFixture } from './git-fixture.test-data.ts';
import { planPush } from './push-plan.ts';

let fixture: GitFixture;
let remote: string;
beforeEach(() => {
  fixture = new GitFixture();
  fixture.withCommit();
  remote = join(fixture.outside, 'remote.git');
  fixture.git('init', '-q', '--bare', '--initial-branch=main', remote);
  fixture.git('remote', 'add', 'origin', remote);
});
afterEach(() => fixture.remove());

const commit = (subject: string): string => {
  fixture.git('commit', '-q', '--allow-empty', '-m', subject);
  return fixture.git('rev-parse', 'HEAD').trim();
};
const tipOf = (branch: string): string => fixture.git('-C', remote, 'rev-parse', branch).trim();

describe('git_branch', () => {
  it('[TL-2] lists branches with their upstream, all or one', async () => {
    const id = fixture.git('rev-parse', 'HEAD').trim();
    fixture.git('push', '-q', '-u', 'origin', 'main');
    fixture.git('branch', '--no-track', 'feature/x');
    const main = { name: 'main', commit: id, upstream: 'origin/main' };
    const feature = { name: 'feature/x', commit: id, upstream: null };
    expect(await fixture.call('git_branch')).toEqual({
      success: true,
      current: 'main',
      branches: [feature, main],
    });
    expect((await fixture.call('git_branch', { name: 'main' })).branches).toEqual([main]);
    expect((await fixture.call('git_branch', { name: 'feature' })).branches).toEqual([]);
    fixture.git('checkout', '-q', '--detach');
    expect((await fixture.call('git_branch')).current).toBeNull();
  });

  it('[RN-6] creates one from the current commit, where the name is free and valid', async () => {
    const id = fixture.git('rev-parse', 'HEAD').trim();
    expect(await fixture.call('git_branch', { name: 'new', create: true })).toEqual({
      success: true,
      current: 'main',
      branches: [{ name: 'new', commit: id, upstream: null }],
    });
    await expect(fixture.call('git_branch', { name: 'new', create: true })).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('already exists'),
    });
    await expect(fixture.call('git_branch', { name: '-D', create: true })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
    });
  });

  it('says so where there is no commit yet', async () => {
    rmSync(join(fixture.root, '.git'), { recursive: true });
    fixture.git('init', '-q', '--initial-branch=main');
    expect(await fixture.call('git_branch')).toEqual({ success: true, current: 'main', branches: [] });
    await expect(fixture.call('git_branch', { name: 'x', create: true })).rejects.toMatchObject({
      code: 'GIT_FAILED',
    });
  });
});

describe('git_push', () => {
  it("[EV-1] tells git's own progress, and keeps it out of what git says (founding documents: tool-system)", async () => {
    const tick = progressTicks();
    commit('second');
    await fixture.call('git_push');
    tick();
    expect(fixture.progress.filter(({ message }) => message !== undefined)).toEqual([
      { percent: 90, message: expect.stringMatching(/^Writing objects: 100% \(\d+\/\d+\)$/) },
    ]);
    expect(fixture.progress.map(({ output }) => output?.chunk ?? '').join('')).not.toMatch(/objects|Total/);
  });

  it('[TL-2] says which files a pre-push hook changed (founding documents: tool-system)', async () => {
    fixture.write('.git/hooks/pre-push', '#!/bin/sh\necho built > made.txt\n');
    chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    expect(await fixture.call('git_push')).toMatchObject({
      changed_files: [{ path: 'made.txt', operation: 'created' }],
    });
  });

  it('[VA-3] a hook of ours changes neither configuration nor hooks of the repository it is pushed to', async () => {
    const config = readFileSync(join(remote, 'config'), 'utf8');
    fixture.write(
      '.git/hooks/pre-push',
      `#!/bin/sh
cd ${remote} && echo evil >> config; echo evil > hooks/post-update; rm hooks/*; exit 0`,
    );
    chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    const hooks = readdirSync(join(remote, 'hooks'));
    const id = commit('second');
    expect(await fixture.call('git_push')).toMatchObject({ to: id });
    expect(readFileSync(join(remote, 'config'), 'utf8')).toBe(config);
    expect(readdirSync(join(remote, 'hooks'))).toEqual(hooks);
    expect(tipOf('main')).toBe(id);
  });

  it('[RN-6] pushes one branch to a repository on this machine, new, forward and up to date', async () => {
    const first = fixture.git('rev-parse', 'HEAD').trim();
    const pushed = { success: true, remote: 'origin', branch: 'main' };
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: null, to: first });
    expect(tipOf('main')).toBe(first);
    const second = commit('second');
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: first, to: second });
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: second, to: second });
    expect(fixture.git('rev-parse', 'origin/main').trim()).toBe(second);
    fixture.git('branch', 'other', first);
    expect(await fixture.call('git_push', { branch: 'other' })).toMatchObject({ branch: 'other', to: first });
    expect(fixture.git('-C', remote, 'branch', '--format=%(refname:short)')).toBe('main\nother\n');
  });

  it('never pushes by force', async () => {
    await fixture.call('git_push');
    const published = commit('published');
    await fixture.call('git_push');
    fixture.git('reset', '-q', '--hard', 'HEAD^');
    commit('another');
    fixture.git('config', 'remote.origin.push', '+refs/heads/*:refs/heads/*');
    fixture.git('config', 'remote.origin.mirror', 'true');
    fixture.git('config', 'push.default', 'matching');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('[rejected]'),
    });
    expect(tipOf('main')).toBe(published);
  });

  it('[RN-5] sees nothing outside the workspace but the remote', async () => {
    fixture.write(`${fixture.outside}/secret`, 'secret');
    fixture.write(
      `${remote}/hooks/post-receive`,
      `#!/bin/sh\n[ -e "${fixture.outside}/secret" ] && : > "$PWD/saw-secret"\n: > "$PWD/ran"\n`,
    );
    chmodSync(join(remote, 'hooks/post-receive'), 0o755);
    await fixture.call('git_push');
    expect([existsSync(join(remote, 'ran')), existsSync(join(remote, 'saw-secret'))]).toEqual([true, false]);
  });

  it('[AP-7] runs the pre-push hook that the preview lists, and those of a remote on this machine', async () => {
    fixture.write('.git/hooks/pre-push', '#!/bin/sh\necho "$1" >&2\nexit 1\n');
    chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    fixture.write(`${remote}/hooks/update`, '#!/bin/sh\necho "not on my watch" >&2\nexit 1\n');
    chmodSync(join(remote, 'hooks/update'), 0o755);
    const { preview } = await fixture.preview('git_push', {});
    expect(preview).toMatchObject({ hooks: ['.git/hooks/pre-push', join(remote, 'hooks/update')] });
    await expect(fixture.call('git_push')).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(fixture.progress.map((said) => said.output?.chunk).join('')).toContain('origin');
    rmSync(join(fixture.root, '.git/hooks/pre-push'));
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      message: expect.stringContaining('hook declined'),
    });
    expect(fixture.progress.map((said) => said.output?.chunk).join('')).toContain('not on my watch');
  });

  it("runs no program that the remote's own configuration names", async () => {
    await fixture.remove();
    fixture = new GitFixture({ isolated: false });
    fixture.withCommit();
    remote = join(fixture.outside, "it's a remote.git");
    fixture.git('init', '-q', '--bare', remote);
    fixture.git('remote', 'add', 'origin', remote);
    const canary = fixture.canary('canary');
    mkdirSync(join(fixture.outside, 'hooks'));
    fixture.write(`${fixture.outside}/hooks/update`, readFileSync(canary));
    chmodSync(join(fixture.outside, 'hooks/update'), 0o755);
    fixture.git('-C', remote, 'config', 'core.hooksPath', join(fixture.outside, 'hooks'));
    fixture.git('-C', remote, 'config', 'core.alternateRefsCommand', canary);
    fixture.git('config', 'remote.origin.receivepack', canary);
    fixture.git('clone', '-q', '--bare', fixture.root, join(fixture.outside, 'borrowed.git'));
    fixture.write(`${remote}/objects/info/alternates`, `${fixture.outside}/borrowed.git/objects\n`);
    fixture.takeMarks();
    await fixture.call('git_push');
    expect(fixture.takeMarks()).toEqual([]);
    expect(tipOf('main')).toBe(fixture.git('rev-parse', 'HEAD').trim());
  });

  it('refuses remotes that are not configured, ambiguous or would start a program', async () => {
    const push = (params: object = {}) => fixture.call('git_push', params);
    await expect(push({ remote: 'upstream' })).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('there are: origin'),
    });
    await expect(push({ remote: '/tmp/x' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
    await expect(push({ branch: '--force' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
    await expect(push({ branch: 'missing' })).rejects.toMatchObject({
      message: expect.stringContaining('"missing"'),
    });
    const canary = fixture.canary('canary');
    for (const url of [
      `ext::${canary}`,
      `foo::${remote}`,
      'git://host.invalid/x',
      '/nowhere/at/all',
      '-oProxyCommand=x',
      'ssh://-oProxyCommand=x/y',
      `${fixture.outside}`,
    ]) {
      fixture.git('config', 'remote.origin.url', url);
      await expect(push()).rejects.toMatchObject({ code: 'REPOSITORY_UNSAFE' });
      await expect(fixture.preview('git_push', {})).rejects.toMatchObject({ code: 'REPOSITORY_UNSAFE' });
    }
    fixture.git('config', 'remote.origin.url', remote);
    fixture.git('config', '--add', 'remote.origin.url', 'https://example.org/second');
    await expect(push()).rejects.toMatchObject({ message: expect.stringContaining('several addresses') });
    fixture.git('remote', 'remove', 'origin');
    await expect(push()).rejects.toMatchObject({ message: expect.stringContaining('none is configured') });
    fixture.git('remote', 'add', 'origin', remote);
    fixture.git('checkout', '-q', '--detach');
    await expect(push()).rejects.toMatchObject({ message: expect.stringContaining('detached') });
    expect(fixture.takeMarks()).toEqual([]);
  });
});

describe('the preview of a push', () => {
  it('[AP-7] shows the URL, the branch and the commits that the remote does not have', async () => {
    await fixture.call('git_push');
    const ids = [commit('second'), commit('third \u001b[31m')];
    expect((await fixture.preview('git_push', {})).preview).toEqual({
      kind: 'push',
      remote: 'origin',
      url: remote,
      branch: 'main',
      commits: [
        { id: ids[1], subject: 'third ⟨U+001B⟩[31m', author: 'Ada' },
        { id: ids[0], subject: 'second', author: 'Ada' },
      ],
      hooks: [],
    });
  });

  it('[AP-7] no ref of another branch hides a commit, and the one that is pushed is always shown', async () => {
    await fixture.call('git_push');
    const ids = [commit('evil'), commit('harmless')];
    const shown = async () => {
      const { preview } = await fixture.preview('git_push', {});
      return preview.kind === 'push' ? preview.commits.map(({ id }) => id) : [];
    };
    fixture.git('update-ref', 'refs/remotes/origin/other', 'HEAD');
    expect(await shown()).toEqual(ids.toReversed());
    fixture.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    expect(await shown()).toEqual([ids[1]]);
    fixture.git('update-ref', '-d', 'refs/remotes/origin/main');
    expect(await shown()).toEqual([ids[1]]);
  });

  it('[AP-7] shows the URL that is really used, without its password', async () => {
    const shown = async () => {
      const { preview } = await fixture.preview('git_push', {});
      return preview.kind === 'push' ? preview.url : undefined;
    };
    fixture.git('config', 'remote.origin.url', 'https://good.example/x.git');
    // The repository's own rewriting does not count; the person's does.
    fixture.git('config', 'url.https://evil.example/.pushInsteadOf', 'https://good.example/');
    expect(await shown()).toBe('https://good.example/x.git');
    fixture.personsGit('url.https://ada:hunter2@mine.example/.pushInsteadOf', 'https://good.example/');
    expect(await shown()).toBe('https://ada:***@mine.example/x.git');
    const { base } = await planPush(fixture.repository, { remote: 'origin' });
    expect(JSON.stringify(base)).not.toContain('hunter2');
    fixture.git('config', 'remote.origin.pushurl', 'git@other.example:x.git');
    expect(await shown()).toBe('git@other.example:x.git');
    // Letters that look like Latin ones: the name's ASCII form is shown, and used.
    fixture.git('config', 'remote.origin.pushurl', 'https://g\u0456thub.com/x.git');
    expect(await shown()).toBe('https://xn--gthub-n2e.com/x.git');
  });

  it('says how many commits there are besides those it lists', async () => {
    await fixture.remove();
    fixture = new GitFixture({ limits: { entries: 2 } });
    fixture.withCommit();
    fixture.git('remote', 'add', 'origin', 'https://example.org/x.git');
    for (const subject of ['2', '3', '4']) commit(subject);
    expect((await fixture.preview('git_push', {})).preview).toMatchObject({
      commits: [{ subject: '4' }, { subject: '3' }, { id: '', subject: 'and 2 earlier commits', author: '' }],
    });
  });

  it('[AP-8] its base changes with all that the push depends on', async () => {
    const base = async () => (await fixture.preview('git_push', {})).base;
    let last = await base();
    expect(await base()).toEqual(last);
    const changes: [string, () => void][] = [
      ['the tip', () => commit('second')],
      ['what is known of the remote', () => fixture.git('push', '-q', 'origin', 'main')],
      ['a hook', () => fixture.write('.git/hooks/pre-push', '#!/bin/sh\n')],
      ['whether it runs', () => chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755)],
      ['a hook of the remote', () => fixture.write(`${remote}/hooks/update`, '#!/bin/sh\n')],
      ['the URL', () => fixture.git('config', 'remote.origin.url', 'https://example.org/x.git')],
      [
        'a rewriting of the person',
        () => fixture.personsGit('url.https://mine.example/.insteadOf', 'https://example.org/'),
      ],
    ];
    for (const [what, change] of changes) {
      change();
      const now = await base();
      expect(now, what).not.toEqual(last);
      last = now;
    }
  });
});
