import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { afterEach, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import { BackgroundJobs } from '../commands/background-jobs.ts';
import { GitRepository } from '../git/git-repository.ts';
import { cannotIsolate, IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { realDisk } from '../real-disk.ts';
import { CallNetwork } from './call-network.ts';
import { PackageSources } from './package-sources.ts';
import { hostsOfAddress } from './remote-hosts.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function setup(registries: Readonly<Record<string, readonly string[]>> = {}) {
  const fixture = new IsolationFixture();
  cleanUps.push(() => fixture.remove());
  const { workspace, starter, root, home } = fixture;
  const sources = new PackageSources({ home, starter, listed: () => registries });
  const callNetwork = new CallNetwork({ root, starter, sources });
  const policy = new ToolCallPolicy({ root });
  const tools = new BuiltInTools({ command: { workspace, starter, callNetwork } });
  const decide = (tool: string, params: object) => {
    const decision = policy.decide(tool, params);
    const { call, details, verdict } = decision;
    if (!call || !details || !('network' in verdict)) throw new Error('refused');
    return { decision, call, details, network: verdict.network };
  };
  const networkOf = (command: string, network?: unknown) => {
    const { call, details, network: isGranted } = decide('shell_exec', { command, network });
    return callNetwork.of(call, details, isGranted);
  };
  const look = async (args: string[]) => {
    const { decision, call } = decide('execute_command', { command: 'npm', args });
    return tools.preview(call as Parameters<typeof tools.preview>[0], decision);
  };
  const put = (path: string, text: string) => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  };
  return { fixture, networkOf, look, put, root, home, registries };
}

describe.skipIf(cannotIsolate)('[RN-5] the hosts that a command may reach', () => {
  it('are none without network, all if the call asks for all, otherwise those that its words and parameter name', async () => {
    const { networkOf } = setup();
    expect(await networkOf('npm test')).toBe(false);
    expect(await networkOf('make', true)).toBe(true);
    expect(await networkOf('make', ['b.example', 'a.example'])).toEqual(['a.example', 'b.example']);
    expect(await networkOf('curl https://c.example/x')).toEqual(['c.example']);
    expect(await networkOf('curl "$URL"')).toEqual([]);
  });

  it("come from the person's own settings, never from the workspace's", async () => {
    const { networkOf, put, root, home } = setup({ cargo: ['crates.example', 'Index.example:8443'] });
    put(join(root, '.npmrc'), 'registry=https://evil.example/\n');
    put(join(root, '.cargo/config.toml'), 'index = "sparse+https://evil.example/"\n');
    put(
      join(home, '.npmrc'),
      '//token.example/:_authToken=x\n@own:registry = https://npm.example:4873/\n; registry=https://old.example\n',
    );
    put(
      join(home, '.m2/settings.xml'),
      '<s xmlns="http://xml.example/1.0"><url>https://maven.example/x</url></s>',
    );
    const npm = await networkOf('npm ci');
    expect(npm).toContain('npm.example:4873');
    expect(npm).not.toContain('evil.example');
    expect(npm).not.toContain('token.example');
    expect(npm).not.toContain('old.example');
    expect(await networkOf('cargo fetch')).toEqual(['crates.example', 'index.example:8443']);
    expect(await networkOf('mvn verify')).toEqual(['maven.example']);
  });

  it("include the registry that npm itself names, and the repository's remotes", async () => {
    const { networkOf, put, root, fixture } = setup();
    const { stdout } = await fixture.run('npm', ['config', 'get', 'registry']);
    const { hostname } = new URL(stdout.trim());
    expect(await networkOf('npm ci')).toEqual([hostname]);
    put(
      join(root, '.git/config'),
      '[remote "origin"]\n\turl = https://ann:pw@Git.example/x.git\n[remote "fork"]\n\turl = https://fork.example:8443/x\n\tpushurl = git@ssh.example:x\n[url "https://evil.example/"]\n\tinsteadOf = https://git.example/\n',
    );
    expect(await networkOf('git fetch')).toEqual(['fork.example:8443', 'git.example']);
    expect(await networkOf('git pull origin main')).toEqual(['git.example']);
  });

  it('are limited to a number that a person can read', async () => {
    const { networkOf, put, root } = setup();
    const remotes = Array.from(
      { length: 80 },
      (_, n) => `[remote "r${n}"]\n\turl = https://r${n}.example/x\n`,
    );
    put(join(root, '.git/config'), remotes.join(''));
    expect(await networkOf('git fetch --all', ['named.example'])).toHaveLength(50);
    expect(await networkOf('git fetch --all', ['named.example'])).toContain('named.example');
  });

  it('do not include what a link in place of the configuration leads to', async () => {
    const { networkOf, put, root, home } = setup();
    put(join(home, 'secret'), '[remote "origin"]\nurl = https://secret.example/\n');
    mkdirSync(join(root, '.git'));
    symlinkSync(join(home, 'secret'), join(root, '.git/config'));
    expect(await networkOf('git fetch')).toEqual([]);
  });

  it('[AP-8] are on the card and in the digest', async () => {
    const { look, put, home } = setup();
    const first = await look(['ci']);
    expect(first.preview).toMatchObject({ kind: 'command', network: true, hosts: [expect.any(String)] });
    put(join(home, '.npmrc'), 'registry=https://npm.example/\n');
    const second = await look(['ci']);
    expect(second.preview).toMatchObject({ hosts: expect.arrayContaining(['npm.example']) });
    expect(second.base).not.toBe(first.base);
    expect((await look(['ls'])).preview).toMatchObject({ network: false });
    expect((await look(['ls'])).preview).not.toHaveProperty('hosts');
  });
});

describe.skipIf(cannotIsolate)('[RN-6] a remote that is a folder outside the workspace', () => {
  function withRemote() {
    const fixture = new IsolationFixture();
    cleanUps.push(() => fixture.remove());
    const { workspace, starter, root, home, parent } = fixture;
    const tools = new BuiltInTools({
      shell: {
        workspace,
        starter,
        jobs: new BackgroundJobs(starter, 1024),
        git: new GitRepository(workspace, starter),
      },
      command: { workspace, starter },
    });
    cleanUps.push(() => tools.dispose());
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
        cwd: root,
        encoding: 'utf8',
        stdio: 'pipe',
      });
    const remote = join(parent, 'remote.git');
    git('init', '-q', '--bare', '-b', 'main', remote);
    git('init', '-q', '-b', 'main');
    git('commit', '-q', '--allow-empty', '-m', 'first');
    git('remote', 'add', 'origin', '../remote.git');
    const decide = (command: string) =>
      new ToolCallPolicy({ root, disk: realDisk }).decide('shell_exec', { command });
    const look = (command: string) => {
      const decision = decide(command);
      return tools.preview(decision.call as Parameters<typeof tools.preview>[0], decision);
    };
    const exec = (command: string) =>
      tools.execute(
        { tool: 'shell_exec', params: { command, timeout: 100 } },
        {
          toolId: 'tool-1',
          attempt: 1,
          sessionId: 'session-1',
          riskLevel: 'HIGH',
          network: [],
          details: decide(command).details,
          signal: new AbortController().signal,
          onProgress: () => {},
          changes: { begin: () => {} },
        },
      );
    return { root, home, parent, remote, git, look, exec };
  }

  it('[AP-8] stands on the card and in the digest, and git reaches it', async () => {
    const { remote, git, look, exec } = withRemote();
    const first = await look('git push -q origin main && git fetch && git status');
    expect(first.preview).toMatchObject({ kind: 'command', repositories: [remote] });
    expect(await exec('git push -q origin main && git log --format=%s origin/main')).toMatchObject({
      success: true,
      stdout: 'first\n',
    });
    git('remote', 'set-url', 'origin', '../.');
    expect((await look('git push -q origin main && git fetch && git status')).base).not.toBe(first.base);
    expect((await look('git status && git log')).preview).not.toHaveProperty('repositories');
  });

  it('[VA-3] what it executes is out of reach, and beside other programs git only reads it', async () => {
    const { remote, exec } = withRemote();
    const planting = `for f in hooks/post-update config; do echo '[core]' > ${remote}/$f; done`;
    await exec(`git push -q origin main; ${planting}`);
    expect(existsSync(join(remote, 'hooks/post-update'))).toBe(false);
    expect(readFileSync(join(remote, 'config'), 'utf8')).toContain('bare = true');
    const mixed = await exec('git push -q origin main && node -e 1');
    expect(mixed).toMatchObject({ success: false, stderr: expect.stringContaining('run git push alone') });
    expect(readdirSync(join(remote, 'refs/heads'))).toEqual([]);
    expect(await exec('git fetch -q && node -e 1')).toMatchObject({ success: true });
  });

  it.each([
    ['a folder of secrets', 'home/.ssh/keys'],
    ['the home folder', 'home'],
    ['the runner itself', 'state/isolation/x'],
  ])('[VA-2] is not reached in %s', async (_, at) => {
    const { parent, git, look, exec } = withRemote();
    git('init', '-q', '--bare', join(parent, at));
    git('remote', 'set-url', 'origin', join(parent, at));
    expect((await look('git fetch')).preview).not.toHaveProperty('repositories');
    expect(await exec(`git fetch; ls ${join(parent, at)}`)).toMatchObject({ success: false });
  });

  it('[VA-2] is not reached where its configuration holds a login, or by a link', async () => {
    const { remote, parent, git, look } = withRemote();
    git('--git-dir', remote, 'remote', 'add', 'up', 'https://ann:hunter2@git.example/x');
    expect((await look('git fetch')).preview).not.toHaveProperty('repositories');
    git('init', '-q', '--bare', join(parent, 'home/.ssh/keys'));
    symlinkSync(join(parent, 'home/.ssh/keys'), join(parent, 'innocent.git'));
    git('remote', 'set-url', 'origin', '../innocent.git');
    expect((await look('git fetch')).preview).not.toHaveProperty('repositories');
  });
});

describe('[RN-6] the host that a push talks to', () => {
  it.each([
    ['https://ann:pw@Git.example:8443/x.git', ['git.example:8443']],
    ['https://git.example/x@y', ['git.example']],
    ['ssh://git@git.example:2222/x', ['git.example']],
    ['git@git.example:x/y.git', ['git.example']],
    ['git.example:x', ['git.example']],
    ['https://[2001:db8::7]:8443/x', ['[2001:db8::7]:8443']],
    ['https://localhost:3000/x', []],
    ['', []],
  ])('%s', (url, hosts) => {
    expect(hostsOfAddress(url)).toEqual(hosts);
  });
});
