import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitForEnd } from '../commands/run-to-end.ts';
import { versionOf } from '../files/file-snapshot.ts';
import type { Planted } from './executing-place-guard.ts';
import type { Confinement } from './isolated-process.ts';
import { cannotIsolate, IsolationFixture, mayWrite } from './isolation-fixture.test-data.ts';

let fixture: IsolationFixture;
beforeEach(() => {
  fixture = new IsolationFixture();
});
afterEach(() => fixture.remove());

/** Runs the line and returns what it planted. Calls `meanwhile` while the command runs. */
async function plant(
  line: string,
  confinement: Confinement = mayWrite,
  meanwhile?: () => void,
): Promise<Planted> {
  const args = ['-c', meanwhile ? `echo up; until [ -e go ]; do sleep 0.02; done; rm go; ${line}` : line];
  const child = fixture.starter.start({ program: 'bash', args, cwd: '', confinement, stdin: 'ignore' });
  if (meanwhile)
    child.stdout?.once('data', () => {
      meanwhile();
      fixture.write('go');
    });
  child.stdout?.resume();
  await waitForEnd(fixture.starter, child, 'bash');
  return fixture.starter.planted(child);
}

const pathsOf = ({ setAside }: Planted): string[] => setAside.map(({ path }) => path).sort();
const read = (path: string): string => readFileSync(join(fixture.root, path), 'utf8');
const link = (target: string, path: string): void => symlinkSync(target, join(fixture.root, path));

describe.skipIf(cannotIsolate)('a planted file that reuses the inode of a removed one', () => {
  // ext4 gives the inode of a removed file to the next one that is made.
  it('[VA-3] is set aside like any other', async () => {
    const path = join(fixture.root, '.envrc');
    fixture.write('.envrc', 'mine');
    const { ino } = statSync(path);
    const planted = await plant('echo evil > .bashrc', mayWrite, () => rmSync(path));
    expect(pathsOf(planted)).toEqual(['.bashrc']);
    const keptIn = planted.setAside[0]?.keptIn ?? '';
    if (statSync(keptIn).ino !== ino) console.warn('This file system did not give the number again.');
  });

  it('[VA-3] but a place that was only moved does not count as planted', async () => {
    fixture.write('sub/.envrc', 'mine');
    expect(pathsOf(await plant('mv sub other'))).toEqual([]);
  });
});

describe.skipIf(cannotIsolate)('configuration that a tool obeys by itself', () => {
  it('[VA-3] is set aside where a command plants it', async () => {
    const planted = await plant(`mkdir -p .mvn .hg .semaphore gradle/wrapper .vs src
echo evil | tee .mvn/extensions.xml .hg/hgrc .semaphore/semaphore.yml gradle/wrapper/gradle-wrapper.properties \\
  .vs/tasks.vs.json .cirrus.yml .woodpecker.yml .simple-git-hooks.json .overcommit.yml src/mvn.ts semaphore.md`);
    expect(pathsOf(planted)).toEqual([
      '.cirrus.yml',
      '.hg',
      '.mvn',
      '.overcommit.yml',
      '.semaphore',
      '.simple-git-hooks.json',
      '.vs',
      '.woodpecker.yml',
      'gradle/wrapper',
    ]);
    expect([read('src/mvn.ts'), read('semaphore.md')]).toEqual(['evil\n', 'evil\n']);
  });

  it('[VA-3] is read-only where it is', async () => {
    const places = ['.mvn/jvm.config', '.hg/hgrc', 'gradle/wrapper/gradle-wrapper.properties', '.cirrus.yml'];
    for (const path of places) fixture.write(path, 'good');
    expect(
      await plant(`echo evil | tee ${places.join(' ')} .mvn/more .hg/more; rm -rf .mvn .cirrus.yml`),
    ).toEqual({
      setAside: [],
    });
    expect(places.map(read)).toEqual(places.map(() => 'good'));
  });
});

describe.skipIf(cannotIsolate)('a folder that git would take for a repository', () => {
  const bare = (folder: string) =>
    `mkdir -p ${folder}/objects ${folder}/refs; echo ref: refs/heads/x > ${folder}/HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = "touch executed; false"\\n' > ${folder}/config`;
  const askGit = (folder: string) => {
    spawnSync('git', ['status'], { cwd: join(fixture.root, folder), stdio: 'ignore' });
    return fixture.has('executed');
  };

  it('[VA-3] does not keep the configuration that a command gave it', async () => {
    // Without the guard, git runs the configured program.
    execFileSync('bash', ['-c', bare('before')], { cwd: fixture.root });
    expect(askGit('before')).toBe(true);
    rmSync(join(fixture.root, 'before'), { recursive: true });
    rmSync(join(fixture.root, 'executed'));

    const planted = await plant(`${bare('docs')}; mkdir docs/hooks other; echo ../docs > other/commondir
cp docs/HEAD docs/config other`);
    expect(pathsOf(planted)).toEqual(['docs/config', 'docs/hooks', 'other/commondir', 'other/config']);
    expect([askGit('docs'), askGit('other')]).toEqual([false, false]);
  });

  it('[VA-3] keeps its own configuration and hooks from commands', async () => {
    execFileSync('git', ['init', '--quiet', '--bare', join(fixture.root, 'remote')]);
    const config = read('remote/config');
    await plant(
      'echo evil >> remote/config; echo evil > remote/hooks/post-receive; echo x > remote/objects/y',
    );
    expect([
      read('remote/config'),
      fixture.has('remote/hooks/post-receive'),
      fixture.has('remote/objects/y'),
    ]).toEqual([config, false, true]);
  });
});

describe.skipIf(cannotIsolate)('dotfiles that the home takes from the workspace', () => {
  it('[VA-3] are read-only for commands, whatever they are called', async () => {
    fixture.write('zsh/zshrc', 'mine');
    fixture.write('nvim/init.lua', 'mine');
    fixture.write('other', 'mine');
    mkdirSync(join(fixture.home, '.config'));
    symlinkSync(join(fixture.root, 'zsh/zshrc'), join(fixture.home, '.zshrc'));
    symlinkSync('../../workspace/nvim', join(fixture.home, '.config/nvim'));
    symlinkSync(fixture.root, join(fixture.home, '.dotfiles'));
    symlinkSync('nowhere', join(fixture.home, '.broken'));
    expect(
      await plant(
        'for f in zsh/zshrc nvim/init.lua nvim/more.lua other; do echo evil > $f; done; rm -f zsh/zshrc',
      ),
    ).toEqual({
      setAside: [],
    });
    expect([read('zsh/zshrc'), read('nvim/init.lua'), fixture.has('nvim/more.lua'), read('other')]).toEqual([
      'mine',
      'mine',
      false,
      'evil\n',
    ]);
  });

  it('[VA-3] are set aside where a command puts others in their place', async () => {
    fixture.write('zsh/zshrc', 'mine');
    symlinkSync(join(fixture.root, 'zsh/zshrc'), join(fixture.home, '.zshrc'));
    const planted = await plant('mv zsh old; mkdir zsh; echo evil > zsh/zshrc');
    expect(pathsOf(planted)).toEqual(['zsh/zshrc']);
    expect([read('old/zshrc'), existsSync(join(fixture.home, '.zshrc'))]).toEqual(['mine', false]);
  });
});

describe.skipIf(cannotIsolate)('links to what executes later', () => {
  it('[VA-3] one that leads elsewhere after a command is set aside, whatever was changed on its way', async () => {
    fixture.write('b', 'good');
    link('b', 'a');
    link('a', '.envrc');
    fixture.write('cfg/vscode/tasks.json', 'good');
    link('cfg/vscode', '.vscode');
    fixture.write('tools/rc', 'good');
    link('tools/rc', '.bashrc');
    link('nothing', '.zshrc');
    fixture.write('kept/hook', 'good');
    link('kept', '.husky');
    const planted = await plant(
      `echo evil > evil; ln -sfn evil a
mv cfg c2; mkdir -p cfg/vscode; echo evil > cfg/vscode/tasks.json
mv tools t2; mkdir tools; echo evil > tools/rc
echo evil > nothing; echo evil > kept/hook; mv kept away`,
    );
    expect(pathsOf(planted)).toEqual(['.bashrc', '.envrc', '.vscode', '.zshrc']);
    expect([read('.husky/hook'), read('b'), read('c2/vscode/tasks.json')]).toEqual(['good', 'good', 'good']);
    expect(existsSync(join(fixture.root, '.envrc'))).toBe(false);
  });

  it('[VA-3] a link inside such a place protects what it leads to', async () => {
    fixture.makeRepository();
    fixture.write('scripts/check.sh', 'good');
    link('../../scripts/check.sh', '.git/hooks/pre-commit');
    mkdirSync(join(fixture.root, '.vscode'));
    fixture.write('shared/tasks.json', 'good');
    link('../shared/tasks.json', '.vscode/tasks.json');
    const line = 'echo evil > scripts/check.sh; echo evil > shared/tasks.json; rm -f scripts/check.sh';
    for (const writableGit of [undefined, 'data', 'everything'] as const)
      expect(await plant(line, { ...mayWrite, writableGit })).toEqual({ setAside: [] });
    expect([read('scripts/check.sh'), read('.vscode/tasks.json')]).toEqual(['good', 'good']);
  });

  it('[VA-3] a hidden link to a folder counts as a folder of that name', async () => {
    fixture.write('there/x');
    link('there', '.yarn');
    const planted = await plant(
      'mkdir x there/plugins; echo evil > x/config.toml; ln -s x .cargo; echo evil > there/plugins/evil.cjs',
    );
    expect(pathsOf(planted)).toEqual(['.cargo', '.yarn']);
  });

  it('[VA-1] where .github leads outside, nothing is made or removed there', async () => {
    const outside = join(fixture.parent, 'outside');
    mkdirSync(outside);
    link(outside, '.github');
    await plant('true', mayWrite, () => expect(readdirSync(outside)).toEqual([]));
    expect(readdirSync(outside)).toEqual([]);
    mkdirSync(join(outside, 'workflows'));
    await plant('true');
    expect(readdirSync(outside)).toEqual(['workflows']);
  });

  it('never removes a folder that it did not make', async () => {
    mkdirSync(join(fixture.root, '.github'));
    mkdirSync(join(fixture.root, '.idea'));
    await plant('true', mayWrite, () =>
      expect(readdirSync(join(fixture.root, '.github'))).toEqual(['workflows']),
    );
    expect(readdirSync(fixture.root).sort()).toEqual(['.github', '.idea']);
    // Nor does it remove folders behind a link that somebody swapped in meanwhile.
    const beside = join(fixture.parent, 'beside');
    mkdirSync(join(beside, 'workflows'), { recursive: true });
    await plant('true', mayWrite, () => {
      renameSync(join(fixture.root, '.github'), join(fixture.parent, 'moved'));
      link(beside, '.github');
    });
    expect(readdirSync(beside)).toEqual(['workflows']);
  });
});

describe.skipIf(cannotIsolate)('a git folder that a command may write', () => {
  const asGit = { ...mayWrite, writableGit: 'data' } as const;
  const evil = `echo '[core] fsmonitor = evil' >> .git/config; echo evil > .git/config.worktree
mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout; mv .git .git2; rm -rf .git/hooks; mkdir .git/rebase-merge
echo ../x > .git/commondir; echo evil > .envrc; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json`;

  it('[VA-3] [RN-6] only its data: neither configuration nor hooks, and what is planted is set aside', async () => {
    fixture.makeRepository();
    const config = read('.git/config');
    fixture.write('a.txt');
    const { setAside } = await plant(
      `git add a.txt && git -c user.name=A -c user.email=a@b commit -qm one; ${evil}`,
      asGit,
    );
    expect(setAside.map(({ path }) => path.replace(`${fixture.root}/`, '')).sort()).toEqual([
      '.envrc',
      '.git/commondir',
      '.git/config.worktree',
      '.git/rebase-merge',
      'sub/.vscode',
    ]);
    expect(read('.git/config')).toBe(config);
    expect(fixture.has('.git/hooks/post-checkout')).toBe(false);
    expect(execFileSync('git', ['-C', fixture.root, 'log', '--format=%s'], { encoding: 'utf8' })).toBe(
      'one\n',
    );
  });

  it.each(['data', 'everything'] as const)(
    '[VA-3] hooks are held where there are none (%s)',
    async (writableGit) => {
      fixture.makeRepository();
      renameSync(join(fixture.root, '.git/hooks'), join(fixture.parent, 'hooks'));
      await plant('mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit', { ...mayWrite, writableGit });
      expect(fixture.has('.git/hooks')).toBe(false);
    },
  );

  it('[VA-3] a repository inside the workspace stays closed when only data is written', async () => {
    fixture.makeRepository();
    execFileSync('git', ['init', '--quiet', join(fixture.root, 'sub')]);
    const before = read('sub/.git/config');
    await plant('echo evil >> sub/.git/config', asGit);
    expect(read('sub/.git/config')).toBe(before);
    await plant('echo "# mine" >> sub/.git/config', { ...mayWrite, writableGit: 'everything' });
    expect(read('sub/.git/config')).toBe(`${before}# mine\n`);
  });

  it('[VA-3] one elsewhere, that is pushed to, keeps its configuration and hooks', async () => {
    const remote = join(fixture.parent, 'remote.git');
    execFileSync('git', ['init', '--quiet', '--bare', remote]);
    renameSync(join(remote, 'hooks'), join(fixture.parent, 'hooks'));
    const config = readFileSync(join(remote, 'config'), 'utf8');
    const confinement = { ...mayWrite, writableGit: 'data', writable: [remote] } as const;
    const line = `cd ${remote} && echo evil >> config; echo evil > hooks/post-update; echo x > commondir; echo data > objects/x`;
    expect(pathsOf(await plant(line, confinement))).toEqual([join(remote, 'commondir')]);
    expect(readFileSync(join(remote, 'config'), 'utf8')).toBe(config);
    expect(readdirSync(remote)).not.toContain('hooks');
    expect(readFileSync(join(remote, 'objects/x'), 'utf8')).toBe('data\n');
  });
});

describe.skipIf(cannotIsolate)('names and folders that are hard to look at', () => {
  const latin1 = (text: string): Buffer => Buffer.from(`${fixture.root}/${text}`, 'latin1');

  it('[VA-3] what is planted below a name that is not UTF-8 is found, and kept with that name', async () => {
    const planted = await plant(
      `d=$(printf 'n\\xe9'); mkdir "$d" "$d/.vscode"; echo evil > "$d/.envrc"; echo x > "$d/.bashrc~$d"`,
    );
    expect(pathsOf(planted)).toEqual(['n\ufffd/.envrc', 'n\ufffd/.vscode']);
    expect(readdirSync(latin1('n\xe9'))).toEqual(['.bashrc~n\ufffd']);
    const pth = await plant(`echo evil > "$(printf 'x\\xe9.pth')"`);
    expect(pathsOf(pth)).toEqual(['x\ufffd.pth']);
    expect(readdirSync(fixture.root, { encoding: 'buffer' })).toEqual([Buffer.from('n\xe9', 'latin1')]);
  });

  it('[VA-2] a secret below such a name is not shown: nothing runs that would show it', async () => {
    mkdirSync(latin1('d\xe9'));
    expect((await fixture.bash('ls -b')).stdout).toBe('d\\351\n');
    writeFileSync(latin1('d\xe9/.env'), 'SECRET');
    await expect(fixture.bash('grep -r SECRET .')).rejects.toMatchObject({
      code: 'ISOLATION_UNAVAILABLE',
      message: expect.stringContaining('d\ufffd/.env" needs special treatment, and its name is not UTF-8'),
    });
    // An approved command may read it.
    expect((await fixture.bash('grep -rh SECRET .', mayWrite)).stdout).toBe('SECRET\n');
  });

  it('[RN-5] nothing is made in place of a pipe with such a name', async () => {
    execFileSync('mkfifo', ['--', 'pipe'], { cwd: fixture.root });
    renameSync(join(fixture.root, 'pipe'), latin1('caf\xe9'));
    await expect(fixture.bash('true', mayWrite)).rejects.toMatchObject({ code: 'ISOLATION_UNAVAILABLE' });
    expect(readdirSync(fixture.root).length).toBe(1);
  });

  it('[VA-3] reports a folder that cannot be listed, and runs no command', async ({ skip }) => {
    if (process.getuid?.() === 0) skip('root lists every folder; ordinary-user.test.ts shows it');
    expect(await plant('mkdir d; echo evil > d/.envrc; chmod 311 d')).toEqual({
      setAside: [],
      problem: 'the folder "d" cannot be listed (EACCES)',
    });
    await expect(fixture.bash('true')).rejects.toMatchObject({ code: 'ISOLATION_UNAVAILABLE' });
    chmodSync(join(fixture.root, 'd'), 0o755);
  });

  it('[VA-3] reports a tree that is deeper than a path can be', async () => {
    const name = 'd'.repeat(200);
    const { problem } = await plant(
      `for i in {1..25}; do mkdir ${name}; cd ${name}; done; echo evil > .envrc`,
    );
    expect(problem).toMatch(/^the folder "d+\/.*" cannot be listed \(ENAMETOOLONG\)$/);
    execFileSync('rm', ['-r', '--', name], { cwd: fixture.root });
  });
});

describe.skipIf(cannotIsolate)('what our own tools write while a command runs', () => {
  /** Like a file tool: announces the change first, then puts a new file in place. */
  function approve(path: string, content: string): void {
    fixture.starter.expectChanges([{ path, after: versionOf(Buffer.from(content)) }]);
    fixture.write(`${path}.tmp`, content);
    renameSync(join(fixture.root, `${path}.tmp`), join(fixture.root, path));
  }

  it('[VA-3] stays, as long as it is what was approved', async () => {
    fixture.write('.envrc', 'before');
    fixture.write('env.sh', 'before');
    link('env.sh', '.bashrc');
    const planted = await plant('true', mayWrite, () => {
      approve('.envrc', 'approved');
      approve('.pre-commit-config.yaml', 'approved');
      approve('.circleci/config.yml', 'approved');
      approve('env.sh', 'approved');
    });
    expect(planted).toEqual({ setAside: [] });
    expect(['.envrc', '.pre-commit-config.yaml', '.circleci/config.yml', '.bashrc'].map(read)).toEqual(
      Array(4).fill('approved'),
    );
  });

  it('[VA-3] what the command makes of it, or beside it, is set aside', async () => {
    const planted = await plant(
      'echo evil > .gitattributes; echo evil > .circleci/other.yml; mkdir .circleci/d; ln -s x .circleci/l',
      mayWrite,
      () => {
        approve('.gitattributes', 'approved');
        approve('.circleci/config.yml', 'approved');
        fixture.starter.expectChanges([{ path: '.zshrc', after: null }]);
      },
    );
    expect(pathsOf(planted)).toEqual(['.circleci/d', '.circleci/l', '.circleci/other.yml', '.gitattributes']);
    expect(readdirSync(join(fixture.root, '.circleci'))).toEqual(['config.yml']);
    expect(await plant('echo approved > .pre-commit-config.yaml')).toMatchObject({ setAside: [{}] });
  });

  it('does not matter while no command runs', () => {
    expect(() => fixture.starter.expectChanges([{ path: '.envrc', after: 'sha256:0' }])).not.toThrow();
  });
});
