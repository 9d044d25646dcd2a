import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { progressTicks } from '../progress-ticks.test-data.ts';
import { GitFixture } from './git-fixture.test-data.ts';
import { type HttpRemote, startHttpRemote } from './http-remote.test-data.ts';
import { type SshRemote, sshHome, sshServerProgram, startSshRemote } from './ssh-remote.test-data.ts';

let fixture: GitFixture;
let server: HttpRemote;
beforeEach(async () => {
  fixture = new GitFixture().withCommit();
  server = await startHttpRemote('ada:hunter2', { tls: true });
  server.folder = fixture.outside;
  fixture.git('init', '-q', '--bare', '--initial-branch=main', join(fixture.outside, 'remote.git'));
  fixture.git('remote', 'add', 'origin', `${server.url}/remote.git`);
  trust(server);
  fixture.personsGit('credential.helper', 'store');
  login(server, 'ada:hunter2');
});
afterEach(async () => {
  server.close();
  await fixture.remove();
});

/** The person trusts its certificate. */
function trust({ url, certificate = '' }: HttpRemote): void {
  const file = join(fixture.home, `${new URL(url).port}.pem`);
  writeFileSync(file, certificate);
  fixture.personsGit(`http.${url}/.sslCAInfo`, file);
}
/** The person has signed in there: what `git credential-store` keeps. */
function login({ address }: HttpRemote, word: string): void {
  writeFileSync(join(fixture.home, '.git-credentials'), `https://${word}@${address}\n`, { flag: 'a' });
}
const commit = (subject: string): string => {
  fixture.git('commit', '-q', '--allow-empty', '-m', subject);
  return fixture.git('rev-parse', 'HEAD').trim();
};
const tipOf = (branch: string): string =>
  fixture.git('-C', join(fixture.outside, 'remote.git'), 'rev-parse', branch).trim();

describe('[RN-6] git_push over https', () => {
  it("uses the login of the person's own credential helper, for new, moved and unmoved branches", async () => {
    const first = fixture.git('rev-parse', 'HEAD').trim();
    const pushed = { success: true, remote: 'origin', branch: 'main' };
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: null, to: first });
    expect(tipOf('main')).toBe(first);
    fixture.write('src/deep/new.txt', 'new');
    fixture.git('add', '.');
    const second = commit('second');
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: first, to: second });
    expect(tipOf('main')).toBe(second);
    expect(await fixture.call('git_push')).toEqual({ ...pushed, from: second, to: second });
    expect(fixture.git('rev-parse', 'refs/remotes/origin/main').trim()).toBe(second);
    expect(new Set(server.logins)).toEqual(new Set([undefined, 'ada:hunter2']));
  });

  it('sends no more than is missing, for a new branch with merges of what is there and of what is not', async () => {
    for (let at = 0; at < 40; at++) fixture.write(`many/${at}.txt`, `${at}\n`.repeat(50));
    fixture.git('add', '.');
    commit('many');
    fixture.git('branch', 'older', 'HEAD^');
    await fixture.call('git_push');
    fixture.git('checkout', '-q', '-b', 'topic', 'older');
    fixture.write('topic.txt', 'topic');
    fixture.git('add', '.');
    commit('topic');
    fixture.git('merge', '-q', '--no-edit', 'main');
    const tip = commit('last');
    const tick = progressTicks();
    const pushed = await fixture.call('git_push', { branch: 'topic' });
    tick();
    expect(pushed).toMatchObject({ from: null, to: tip });
    expect(tipOf('topic')).toBe(tip);
    fixture.git('-C', join(fixture.outside, 'remote.git'), 'fsck', '--full', '--strict');
    const said = fixture.progress.map(({ message = '' }) => message).join('\n');
    // Only topic.txt, its two parent folders and three commits are sent, not the many other files.
    expect(said).toMatch(/Writing objects: 100% \(6\/6\)$/);
  });

  it('pushes from a shallow clone', async () => {
    commit('second');
    await fixture.call('git_push');
    fixture.git('fetch', '-q', '--depth=1', `file://${join(fixture.outside, 'remote.git')}`, 'main');
    expect(readFileSync(join(fixture.root, '.git/shallow'), 'utf8')).toMatch(/^[0-9a-f]{40}\n$/);
    const tip = commit('third');
    expect(await fixture.call('git_push')).toMatchObject({ to: tip });
    expect(tipOf('main')).toBe(tip);
  });

  it('never pushes by force, and says what to do', async () => {
    await fixture.call('git_push');
    const published = commit('published');
    await fixture.call('git_push');
    fixture.git('reset', '-q', '--hard', 'HEAD^');
    commit('another');
    fixture.git('config', 'remote.origin.push', '+refs/heads/*:refs/heads/*');
    fixture.git('config', 'remote.origin.mirror', 'true');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('[rejected] (non-fast-forward). It is never pushed by force'),
    });
    const other = join(fixture.outside, 'other');
    fixture.git('clone', '-q', join(fixture.outside, 'remote.git'), other);
    fixture.git('-C', other, 'commit', '-q', '--allow-empty', '-m', 'elsewhere');
    fixture.git('-C', other, 'push', '-q');
    fixture.git('reset', '-q', '--hard', published);
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      message: expect.stringContaining('so run git fetch origin'),
    });
  });

  it('[AP-7] refuses to publish commits that the card left out', async () => {
    await fixture.call('git_push');
    commit('hidden');
    fixture.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    commit('shown');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      message: expect.stringContaining('lacks 1 commits that the card did not show'),
    });
    // For a new branch, commits that any branch of the remote seems to have are left out.
    fixture.git('branch', 'new');
    await expect(fixture.call('git_push', { branch: 'new' })).rejects.toMatchObject({
      message: expect.stringContaining('lacks 1 commits'),
    });
    fixture.git('update-ref', 'refs/remotes/origin/main', 'HEAD~2');
    expect(await fixture.call('git_push')).toMatchObject({ success: true });
  });

  it('runs the pre-push hook in isolation, before anything is sent, as git runs it', async () => {
    const first = fixture.git('rev-parse', 'HEAD').trim();
    const hook = (script: string) => {
      fixture.write('.git/hooks/pre-push', `#!/bin/sh\n${script}\n`);
      chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    };
    hook(
      `echo "$@" > args.txt; cat > lines.txt; ls ${fixture.home} > home.txt 2>&1; git rev-parse HEAD > head.txt`,
    );
    await fixture.call('git_push');
    const read = (name: string) => readFileSync(join(fixture.root, name), 'utf8');
    expect(read('args.txt')).toBe(`origin ${server.url}/remote.git\n`);
    expect(read('lines.txt')).toBe(`refs/heads/main ${first} refs/heads/main ${'0'.repeat(40)}\n`);
    expect(read('home.txt')).toContain('No such file');
    expect(read('head.txt')).toBe(`${first}\n`);
    hook('echo "not today" >&2; exit 1');
    commit('second');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('the hook .git/hooks/pre-push refused it: not today'),
    });
    expect(tipOf('main')).toBe(first);
  });

  it("its hook does not get a login that the person's own rewriting contains", async () => {
    fixture.personsGit(`url.https://ada:hunter2@${server.address}/.insteadOf`, 'work:');
    fixture.git('config', 'remote.origin.url', 'work:remote.git');
    fixture.write('.git/hooks/pre-push', '#!/bin/sh\n(echo "$@"; env) > hook.txt\n');
    chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    expect(await fixture.call('git_push')).toMatchObject({ success: true });
    expect(readFileSync(join(fixture.root, 'hook.txt'), 'utf8')).toMatch(/^origin https:\/\/ada:\*\*\*@/);
    expect(JSON.stringify(fixture.progress)).not.toContain('hunter2');
  });

  it('says what to do where the login is missing or wrong, and never asks on a terminal', async () => {
    writeFileSync(join(fixture.home, '.git-credentials'), '');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('the person must try it once: git push origin main'),
    });
    login(server, 'ada:wrong-word');
    const failure = await fixture.call('git_push').catch((error: Error) => error.message);
    expect(failure).toContain('did not accept the login');
    expect(JSON.stringify([failure, fixture.progress])).not.toMatch(/wrong-word/);
  });

  it("follows the person's own rewriting and shows where it leads", async () => {
    fixture.git('config', 'remote.origin.url', 'work:remote.git');
    fixture.personsGit(`url.${server.url}/.insteadOf`, 'work:');
    // The person's rewrite must not apply twice.
    fixture.personsGit('url.https://elsewhere.invalid/.insteadOf', `${server.url}/`);
    expect((await fixture.preview('git_push', {})).preview).toMatchObject({
      url: `${server.url}/remote.git`,
    });
    expect(await fixture.call('git_push')).toMatchObject({ success: true });
  });

  it("reads what the person includes for the workspace's folder", async () => {
    const mine = join(fixture.home, 'mine');
    const theirs = join(fixture.home, 'theirs');
    writeFileSync(mine, `[url "${server.url}/"]\n\tinsteadOf = work:\n`);
    writeFileSync(theirs, `[url "https://elsewhere.invalid/long/"]\n\tinsteadOf = work:r\n`);
    fixture.git('config', 'remote.origin.url', 'work:remote.git');
    fixture.personsGit(`includeIf.gitdir:${fixture.root}/.path`, '~/mine');
    fixture.personsGit(`includeIf.gitdir:${fixture.outside}/.path`, '~/theirs');
    expect(await fixture.call('git_push')).toMatchObject({ success: true });
  });
});

describe.runIf(existsSync(sshServerProgram))('[RN-6] git_push over ssh', () => {
  let remote: SshRemote;
  let folder: string;
  beforeEach(async () => {
    remote = await startSshRemote();
    folder = join(fixture.outside, 'remote.git');
    fixture.git('config', 'remote.origin.url', remote.url + folder);
    fixture.personsGit('core.sshCommand', sshHome(fixture.home, remote));
  });
  afterEach(() => remote.close());

  it("uses the key in the person's agent, which commands never see", async () => {
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('the person must try it once: git push origin main'),
    });
    fixture.environment.SSH_AUTH_SOCK = remote.agent;
    fixture.write(
      '.git/hooks/pre-push',
      '#!/bin/sh\nenv > env.txt; ls -d "$1" /tmp/countersign-ssh-* >> env.txt 2>&1; exit 0',
    );
    chmodSync(join(fixture.root, '.git/hooks/pre-push'), 0o755);
    const first = fixture.git('rev-parse', 'HEAD').trim();
    expect(await fixture.call('git_push')).toMatchObject({ from: null, to: first });
    expect(tipOf('main')).toBe(first);
    expect(readFileSync(join(fixture.root, 'env.txt'), 'utf8')).not.toMatch(/SSH_AUTH_SOCK|agent$/m);
    const second = commit('second');
    expect(await fixture.call('git_push')).toMatchObject({ from: first, to: second });
    expect(remote.identities()).toContain('person');
  });

  it('a host that the person never met is not trusted', async () => {
    fixture.environment.SSH_AUTH_SOCK = remote.agent;
    writeFileSync(join(fixture.home, '.ssh/known_hosts'), '');
    await expect(fixture.call('git_push')).rejects.toMatchObject({
      message: expect.stringContaining('Host key verification failed'),
    });
  });

  it('neither asks nor lends anything where the person has no ssh command of their own', async () => {
    const program = join(fixture.outside, 'ssh');
    writeFileSync(program, `#!/bin/sh\necho "$@" >> ${fixture.outside}/ssh.txt\nexit 255\n`);
    chmodSync(program, 0o755);
    fixture.environment.PATH = `${fixture.outside}:${process.env.PATH}`;
    writeFileSync(join(fixture.home, '.gitconfig'), '');
    fixture.git('config', 'core.sshCommand', 'false');
    await fixture.call('git_push').catch(() => {});
    const [words = ''] = readFileSync(`${fixture.outside}/ssh.txt`, 'utf8').split('\n');
    expect(words).toContain(
      '-o BatchMode=yes -o ForwardAgent=no -o ForwardX11=no -o ClearAllForwardings=yes',
    );
    expect(words).toMatch(/-p \d+ \w+@127.0.0.1 git-upload-pack '.*remote.git'$/);
  });
});
