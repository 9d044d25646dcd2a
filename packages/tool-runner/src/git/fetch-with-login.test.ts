import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture } from './git-fixture.test-data.ts';
import { type HttpRemote, startHttpRemote } from './http-remote.test-data.ts';
import { type SshRemote, sshHome, sshServerProgram, startSshRemote } from './ssh-remote.test-data.ts';

let fixture: GitFixture;
let server: HttpRemote;
let remote: string;
/** The clone in which somebody else works. */
let other: string;
beforeEach(async () => {
  fixture = new GitFixture().withCommit();
  server = await startHttpRemote('ada:hunter2', { tls: true });
  server.folder = fixture.outside;
  remote = join(fixture.outside, 'remote.git');
  other = join(fixture.outside, 'other');
  fixture.git('clone', '-q', '--bare', fixture.root, remote);
  fixture.git('clone', '-q', remote, other);
  fixture.git('remote', 'add', 'origin', `${server.url}/remote.git`);
  fixture.git('config', 'branch.main.remote', 'origin');
  fixture.git('config', 'branch.main.merge', 'refs/heads/main');
  fixture.personsGit(`http.${server.url}/.sslCAInfo`, join(fixture.home, 'ca.pem'));
  writeFileSync(join(fixture.home, 'ca.pem'), server.certificate ?? '');
  fixture.personsGit('credential.helper', 'store');
  writeFileSync(join(fixture.home, '.git-credentials'), `https://ada:hunter2@${server.address}\n`);
});
afterEach(async () => {
  server.close();
  await fixture.remove();
});

/** Somebody else publishes a commit, with a tag. */
function publish(branch: string, tag?: string): string {
  fixture.git('-C', other, 'checkout', '-q', '-B', branch);
  appendFileSync(join(other, `${branch}.txt`), `${branch}\n`);
  fixture.git('-C', other, 'add', '.');
  fixture.git('-C', other, 'commit', '-q', '-m', branch);
  if (tag !== undefined) fixture.git('-C', other, 'tag', tag);
  fixture.git('-C', other, 'push', '-q', 'origin', branch, ...(tag === undefined ? [] : [tag]));
  return fixture.git('-C', other, 'rev-parse', 'HEAD').trim();
}
const refs = (): string =>
  fixture.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/remotes', 'refs/tags');
const run = (...args: string[]) =>
  fixture.call('execute_command', { command: 'git', args, timeout: 200 }, undefined, 'MEDIUM');
const line = (command: string) => fixture.call('shell_exec', { command, timeout: 200 }, undefined, 'HIGH');
const leftovers = (): string[] =>
  readdirSync(join(fixture.parent, 'state')).filter((name) => name.startsWith('git-transport'));

describe('[RN-6] git fetch over https', () => {
  it("uses the person's login, and fetches what the repository asks for: branches and their tags", async () => {
    const main = publish('main', 'v1');
    const topic = publish('topic');
    expect(await run('fetch')).toMatchObject({ success: true, exit_code: 0 });
    expect(refs()).toBe(
      `refs/remotes/origin/main ${main}\nrefs/remotes/origin/topic ${topic}\nrefs/tags/v1 ${main}\n`,
    );
    expect(fixture.git('show', `${topic}:topic.txt`)).toBe('topic\n');
    expect(readFileSync(join(fixture.root, '.git/FETCH_HEAD'), 'utf8')).toContain(
      `branch 'main' of ${server.url}/remote`,
    );
    expect(new Set(server.logins)).toEqual(new Set([undefined, 'ada:hunter2']));
    expect(leftovers()).toEqual([]);
    fixture.git('fsck', '--full');
  });

  it('fetches only what is new, prunes, and takes single branches and tags', async () => {
    writeFileSync(join(other, 'large'), randomBytes(200_000));
    publish('main');
    publish('topic');
    await run('fetch', '-q');
    const next = publish('topic', 'v2');
    expect(server.sent).toBeGreaterThan(200_000);
    server.sent = 0;
    await run('fetch', 'origin', 'topic');
    expect(server.sent).toBeGreaterThan(0);
    expect(server.sent).toBeLessThan(20_000);
    expect(await run('fetch', 'origin', 'topic:refs/heads/theirs')).toMatchObject({ success: true });
    expect(fixture.git('rev-parse', 'theirs').trim()).toBe(next);
    fixture.git('-C', other, 'push', '-q', 'origin', ':topic');
    expect(await run('fetch', '--prune', 'origin')).toMatchObject({ success: true });
    expect(refs()).not.toContain('refs/remotes/origin/topic');
    fixture.git('tag', '-d', 'v2');
    expect(await run('fetch', '--no-tags', 'origin', 'v2')).toMatchObject({ success: true });
    expect(fixture.git('rev-parse', 'FETCH_HEAD').trim()).toBe(next);
  });

  it('pulls, in a shell line too', async () => {
    const main = publish('main');
    expect(await line('git pull --ff-only')).toMatchObject({
      success: true,
      changed_files: [{ path: 'main.txt', operation: 'created' }],
    });
    expect(fixture.git('rev-parse', 'HEAD').trim()).toBe(main);
    fixture.git('commit', '-q', '--allow-empty', '-m', 'mine');
    const next = publish('main');
    expect(await run('pull', '--rebase', 'origin', 'main')).toMatchObject({ success: true });
    expect(fixture.git('log', '--format=%s', '-2')).toBe('mine\nmain\n');
    expect(fixture.git('rev-parse', 'HEAD^').trim()).toBe(next);
    publish('main');
    expect(await run('pull', '--no-rebase', '--no-edit')).toMatchObject({ success: true });
    expect(fixture.git('log', '--format=%s', '-1').trim()).toBe(
      `Merge branch 'main' of ${server.url}/remote`,
    );
  });

  it('[AP-7] the card shows the address and what is asked of it; the digest covers both', async () => {
    const call = { command: 'git', args: ['fetch', 'origin', 'main', '+refs/notes/*:refs/notes/*'] };
    const { preview, base } = await fixture.preview('execute_command', call);
    expect(preview).toMatchObject({
      kind: 'command',
      fetches: { url: `${server.url}/remote.git`, refs: ['refs/heads/main', 'refs/notes/*'] },
    });
    const shell = await fixture.preview('shell_exec', { command: 'git fetch' });
    expect(shell.preview).toMatchObject({ fetches: { refs: ['refs/heads/*'] } });
    fixture.git('config', 'remote.origin.url', 'https://ada:word@example.org/x');
    const changed = await fixture.preview('execute_command', call);
    expect(changed.base).not.toEqual(base);
    expect(changed.preview).toMatchObject({ fetches: { url: 'https://ada:***@example.org/x' } });
  });

  it.each([
    'git fetch && git log',
    'git fetch --upload-pack=x origin',
    'git fetch https://example.org/x',
    'git fetch origin 0123456789012345678901234567890123456789',
    'git fetch --recurse-submodules',
    'git fetch --depth=1',
    'git fetch origin "$x"',
    'cd sub && git fetch',
    'git push',
    'git clone https://example.org/x y',
  ])('%s has no login', async (command) => {
    const { preview } = await fixture.preview('shell_exec', { command });
    expect(preview).toMatchObject({ kind: 'command' });
    expect(preview).not.toHaveProperty('fetches');
    server.logins.length = 0;
    await line(command);
    expect(server.logins).toEqual([]);
  });

  it('says what to do where the login is missing', async () => {
    writeFileSync(join(fixture.home, '.git-credentials'), '');
    await expect(run('fetch')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('the person must try it once: git fetch origin'),
    });
    expect(leftovers()).toEqual([]);
  });
});

describe('[RN-6] a hostile repository at a fetch', () => {
  it('nothing of its configuration runs outside isolation or gets the login', async () => {
    const evil = await startHttpRemote('eve:evil');
    const canary = fixture.canary('canary', 'exit 1');
    for (const [key, value] of [
      ['credential.helper', `!${canary}`],
      ['core.askPass', canary],
      ['core.sshCommand', canary],
      ['core.alternateRefsCommand', canary],
      ['core.fsmonitor', canary],
      ['core.gitProxy', canary],
      ['remote.origin.uploadpack', canary],
      ['remote.origin.vcs', 'ext'],
      ['protocol.ext.allow', 'always'],
      ['http.proxy', evil.url],
      ['http.sslVerify', 'false'],
      [`url.${evil.url}/.insteadOf`, `${server.url}/`],
      ['fetch.bundleURI', `${evil.url}/bundle`],
      ['fetch.recurseSubmodules', 'true'],
    ] as const) {
      fixture.git('config', key, value);
    }
    const main = publish('main');
    fixture.takeMarks();
    expect(await run('fetch')).toMatchObject({
      success: true,
      stderr: expect.stringContaining(`From ${server.url}/remote`),
    });
    expect(fixture.takeMarks()).toEqual([]);
    expect(evil.logins).toEqual([]);
    expect(refs()).toContain(main);
    evil.close();
  });

  it('its hooks have no network, and see neither the login nor the remote', async () => {
    fixture.write(
      '.git/hooks/reference-transaction',
      `#!/bin/sh\nenv > hook.txt; git ls-remote ${server.url}/remote.git >> hook.txt 2>&1; ls ${fixture.home} >> hook.txt 2>&1; exit 0\n`,
    );
    chmodSync(join(fixture.root, '.git/hooks/reference-transaction'), 0o755);
    publish('main');
    expect(await run('fetch')).toMatchObject({ success: true });
    const said = readFileSync(join(fixture.root, 'hook.txt'), 'utf8');
    expect(said).toMatch(/Could not resolve|Failed to connect|unable to access|Couldn't connect/);
    expect(said).not.toMatch(/http_proxy|SSH_AUTH_SOCK|hunter2|refs\/heads\/main$/m);
    expect(said).toContain(`cannot access '${fixture.home}'`);
  });

  it("its hooks do not find a login that the person's own rewriting contains", async () => {
    fixture.personsGit('credential.helper', '');
    fixture.personsGit(`url.https://ada:hunter2@${server.address}/.insteadOf`, 'work:');
    fixture.git('config', 'remote.origin.url', 'work:remote.git');
    fixture.write(
      '.git/hooks/reference-transaction',
      '#!/bin/sh\nenv > hook.txt; grep -r . $(echo "$PATH" | grep -o "[^:]*/git-transport-[^/]*") >> hook.txt 2>&1; exit 0\n',
    );
    chmodSync(join(fixture.root, '.git/hooks/reference-transaction'), 0o755);
    const main = publish('main');
    expect(await run('fetch')).toMatchObject({ success: true });
    expect(refs()).toContain(main);
    const found = readFileSync(join(fixture.root, 'hook.txt'), 'utf8');
    expect(found).toContain('/config:');
    expect(found).not.toMatch(/hunter2/);
  });

  it('damaged objects of the remote do not reach the workspace', async () => {
    const write = (type: string, input: string | Buffer): string =>
      execFileSync('git', ['-C', remote, 'hash-object', '-t', type, '-w', '--literally', '--stdin'], {
        input,
        encoding: 'utf8',
      }).trim();
    const blob = write('blob', '[core]\n\tfsmonitor = evil\n');
    const config = write('tree', Buffer.concat([Buffer.from('100644 config\0'), Buffer.from(blob, 'hex')]));
    const tree = write('tree', Buffer.concat([Buffer.from('40000 .git\0'), Buffer.from(config, 'hex')]));
    const who = 'A <a@example.org> 1 +0000';
    const id = write('commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nevil\n`);
    writeFileSync(join(remote, 'refs/heads/evil'), `${id}\n`);
    const there = () => fixture.naiveGit('cat-file', '-e', id);
    await expect(run('fetch')).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(await there()).not.toBe(0);
    await fixture.naiveGit('fetch', '-q', remote, 'evil');
    expect(await there(), 'the attack is real').toBe(0);
  });

  it('a store of objects that leads outside is not read', async () => {
    fixture.write('.git/objects/info/alternates', `${join(other, '.git/objects')}\n`);
    expect(
      (await fixture.preview('execute_command', { command: 'git', args: ['fetch'] })).preview,
    ).not.toHaveProperty('fetches');
    server.logins.length = 0;
    await run('fetch');
    expect(server.logins).toEqual([]);
  });
});

describe.runIf(existsSync(sshServerProgram))('[RN-6] git fetch over ssh', () => {
  let ssh: SshRemote;
  beforeEach(async () => {
    ssh = await startSshRemote();
    fixture.git('config', 'remote.origin.url', ssh.url + remote);
    fixture.personsGit('core.sshCommand', sshHome(fixture.home, ssh));
  });
  afterEach(() => ssh.close());

  it("uses the key in the person's agent", async () => {
    await expect(run('fetch')).rejects.toMatchObject({
      message: expect.stringContaining('Permission denied'),
    });
    fixture.environment.SSH_AUTH_SOCK = ssh.agent;
    const main = publish('main');
    expect(await run('fetch')).toMatchObject({ success: true });
    expect(refs()).toBe(`refs/remotes/origin/main ${main}\n`);
  });
});
