import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { LayeredFixture, seenInLayer } from './layered-fixture.test-data.ts';

const seenAs = (uid: number) => ({
  problem: null,
  first: `${uid}\nROOT\nCapEff:\t0000000000000000\nnew\n`,
  changed: [
    { path: 'edited', operation: 'modified' },
    { path: 'gone/deep', operation: 'deleted' },
    { path: 'kept', operation: 'modified' },
    { path: 'made/f', operation: 'created' },
    { path: 'made/l', operation: 'created' },
  ],
  undoable: true,
  second: 'new\nx\nt\nedited\nkept\nmade\n',
  alone: [{ path: 'py', operation: 'created' }],
  left: '',
});

describe.skipIf(cannotIsolate)('[RN-11] a command in a layer', () => {
  it.each([
    ['on a disk', tmpdir()],
    ['in memory', '/dev/shm'],
  ])('sees what it always saw, and what it wrote lands: %s', async (_, base) => {
    expect(await seenInLayer(base)).toEqual(seenAs(process.getuid?.() ?? 0));
  });

  it.for([
    ['on a disk', tmpdir()],
    ['in memory', '/dev/shm'],
  ] as const)('and also for an ordinary user: %s', ([, base], { skip }) => {
    if (process.getuid?.() !== 0) skip('this already is an ordinary user: the other tests show it');
    const script = `
      import { seenInLayer } from ${JSON.stringify(import.meta.resolve('./layered-fixture.test-data.ts'))};
      console.log(JSON.stringify(await seenInLayer(${JSON.stringify(base)})));`;
    const node = [process.execPath, '--input-type=module', '-e', script];
    const as = ['--reuid=65534', '--regid=65534', '--clear-groups', ...node];
    const { stdout, stderr, error } = spawnSync('/usr/bin/setpriv', as, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: '/', TMPDIR: '/tmp' },
    });
    if (stdout === '') skip(`no program runs as another user here: ${error?.message ?? stderr}`);
    else expect(JSON.parse(stdout)).toEqual(seenAs(65_534));
  });
});

describe.skipIf(cannotIsolate)('commands in layers', () => {
  let fixture: LayeredFixture;
  beforeEach(() => {
    fixture = new LayeredFixture();
  });
  afterEach(() => fixture.remove());
  const setAside = (): string[] => {
    const folder = join(fixture.stateFolder, 'set-aside');
    return existsSync(folder)
      ? readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => !entry.isDirectory())
          .map((entry) =>
            join(entry.parentPath, entry.name)
              .slice(folder.length + 1)
              .split('/')
              .slice(1)
              .join('/'),
          )
          .sort()
      : [];
  };

  it('[RN-11] the workspace does not change while a command runs', async () => {
    fixture.write('a', 'old\n');
    const seen: (string | undefined)[] = [];
    const { stdout } = await fixture.run(
      'echo new > a; touch b; echo done; until [ -e /tmp/go ]; do sleep 0.01; done',
      {
        onProgress: ({ output }) => {
          if (!output?.chunk.includes('done')) return;
          seen.push(fixture.read('a'), fixture.read('b'));
          void fixture.run('touch /tmp/go');
        },
      },
    );
    expect([stdout, ...seen]).toEqual(['done\n', 'old\n', undefined]);
    expect([fixture.read('a'), fixture.read('b')]).toEqual(['new\n', '']);
  });

  it('[RN-11] what a command wrote lands whatever its exit code is', async () => {
    expect(await fixture.run('echo x > a; exit 3')).toMatchObject({
      exit_code: 3,
      changed_files: [{ path: 'a', operation: 'created' }],
    });
  });

  it('[RN-11] what a crashed program wrote lands: it ended by itself', async () => {
    expect(await fixture.run('echo x > a; kill -SEGV $$')).toMatchObject({
      exit_code: null,
      changed_files: [{ path: 'a', operation: 'created' }],
    });
  });

  it('[RN-11] nothing lands of a command that a signal ended, and the result says how much was dropped', async () => {
    const result = await fixture.run('echo x > a; echo y > b; kill -9 $$');
    expect(result).toMatchObject({ exit_code: null, stderr: expect.stringContaining('landed (2 changes)') });
    expect(result).not.toHaveProperty('changed_files');
    expect(readdirSync(fixture.root)).toEqual([]);
  });

  it('[RN-11] nothing lands of a command that ran out of time, or was cancelled', async () => {
    const line = 'echo x > a; echo begun; sleep 60';
    const late = await fixture.run(line, { timeout: 2 });
    expect(late).toMatchObject({
      code: 'COMMAND_TIMEOUT',
      stderr: expect.stringContaining('landed (1 change)'),
    });
    const abort = new AbortController();
    const cancelled = fixture.run(line, {
      signal: abort.signal,
      onProgress: ({ output }) => output?.chunk.includes('begun') && abort.abort(),
    });
    await expect(cancelled).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
      message: expect.stringContaining('1 change'),
      changes: { stdout: 'begun\n' },
    });
    expect(readdirSync(fixture.root)).toEqual([]);
    await fixture.runner.layers.idle();
    expect(readdirSync(join(fixture.stateFolder, 'layers'))).toEqual([]);
  });

  it('[RN-12] what was changed meanwhile stays, and the version of the command is kept', async () => {
    for (const path of ['both', 'mine']) fixture.write(path, 'old\n');
    const result = await fixture.run(
      'echo command > both; echo command > mine; echo begun; until [ -e /tmp/go ]; do sleep 0.01; done',
      {
        onProgress: ({ output }) => {
          if (!output?.chunk.includes('begun')) return;
          fixture.write('both', 'person\n');
          void fixture.run('touch /tmp/go');
        },
      },
    );
    expect(result).toMatchObject({
      changed_files: [{ path: 'mine', operation: 'modified' }],
      conflicts: [{ path: 'both' }],
      stderr: expect.stringContaining('"both" was changed by others'),
    });
    expect([fixture.read('both'), fixture.read('mine'), setAside()]).toEqual([
      'person\n',
      'command\n',
      ['both'],
    ]);
  });

  describe('[VA-3] what executes later is withheld', () => {
    /** Prepares a workspace, runs a line, and returns what was withheld. */
    const withheldBy = async (line: string): Promise<unknown> => {
      const { withheld } = await fixture.run(line);
      return (withheld as { path: string }[] | undefined)?.map(({ path }) => path) ?? [];
    };

    it('new places, changed places and deleted places', async () => {
      for (const path of ['.envrc', '.vscode/settings.json', 'sub/.bashrc']) fixture.write(path);
      expect(
        await withheldBy(
          `echo evil > .envrc; rm -r .vscode; mkdir -p .husky x/.idea; echo evil > .husky/pre-commit; echo e > x/.idea/a; chmod 755 sub/.bashrc; python3 -c 'open(".npm" + "rc", "w").write("l")'; echo fine > x/y`,
        ),
      ).toEqual(['.envrc', '.husky', '.npmrc', '.vscode', 'sub/.bashrc', 'x/.idea']);
      expect(readdirSync(fixture.root, { recursive: true }).sort()).toEqual(
        ['.envrc', '.vscode', '.vscode/settings.json', 'sub', 'sub/.bashrc', 'x', 'x/y'].sort(),
      );
      expect(fixture.read('.envrc')).toBe('.envrc\n');
      expect(setAside()).toEqual(['.envrc', '.husky/pre-commit', '.npmrc', 'sub/.bashrc', 'x/.idea/a']);
    });

    it('a folder that was made for nothing else is not left behind, and one that was removed stays', async () => {
      fixture.write('old/.vscode/tasks.json');
      fixture.write('old/file');
      expect(
        await withheldBy('mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; mv old new'),
      ).toEqual(['.github', 'new/.vscode', 'old']);
      expect(readdirSync(fixture.root).sort()).toEqual(['new', 'old']);
      expect([
        fixture.read('old/.vscode/tasks.json'),
        fixture.read('new/file'),
        fixture.read('old/file'),
      ]).toEqual(['old/.vscode/tasks.json\n', 'old/file\n', undefined]);
    });

    it('links of such a name, and links that stand for such a folder', async () => {
      expect(
        await withheldBy('mkdir c; echo x > c/config.toml; ln -s c .cargo; ln -s c .vscode; ln -s c fine'),
      ).toEqual(['.cargo', '.vscode']);
    });

    it('where existing links lead, also through folders that are swapped, and where nothing was yet', async () => {
      fixture.write('hooks-of-ours/deep/pre-commit');
      fixture.write('settings/other');
      for (const [target, link] of [
        ['hooks-of-ours/deep', '.husky'],
        ['not-yet', '.vscode'],
        ['settings', '.cargo'],
      ] as const)
        symlinkSync(target, join(fixture.root, link));
      expect(
        await withheldBy(
          'echo evil > hooks-of-ours/deep/pre-commit; mkdir not-yet; echo evil > not-yet/tasks.json; echo evil > settings/config.toml; echo fine > settings/more',
        ),
      ).toEqual(['hooks-of-ours/deep/pre-commit', 'not-yet', 'settings/config.toml']);
      expect(
        await withheldBy(
          'mkdir evil; mkdir evil/deep; echo x > evil/deep/pre-commit; rm -r hooks-of-ours; ln -s evil hooks-of-ours',
        ),
      ).toEqual(['evil', 'hooks-of-ours']);
      expect(fixture.read('.husky/pre-commit')).toBe('hooks-of-ours/deep/pre-commit\n');
    });

    it('folders that git would take for a repository', async () => {
      fixture.write('data/config');
      fixture.write('data/refs/x');
      expect(
        await withheldBy(
          'mkdir -p data/objects bare/objects bare/refs bare/hooks plain/hooks; echo x > data/HEAD; echo x > bare/HEAD; echo x > bare/config; echo x > bare/hooks/a; echo x > plain/hooks/a',
        ),
      ).toEqual(['bare', 'data/HEAD', 'data/objects']);
      expect(fixture.read('plain/hooks/a')).toBe('x\n');
    });

    it('but not in installed packages, and not what only looks like it', async () => {
      expect(
        await withheldBy(
          'mkdir -p node_modules/a/.vscode; echo x > node_modules/a/.vscode/s; echo x > vscode.md; mkdir src; echo x > src/config',
        ),
      ).toEqual([]);
    });
  });

  describe('[VA-3] git in a layer', () => {
    beforeEach(() => {
      fixture.git('init', '-q', '-b', 'main', '.');
      fixture.write('a', '1\n');
      fixture.git('add', '.');
      fixture.git('commit', '-qm', 'first');
      fixture.git('switch', '-qc', 'topic');
      fixture.write('b', '2\n');
      fixture.git('add', '.');
      fixture.git('commit', '-qm', 'second');
      fixture.git('switch', '-q', 'main');
    });

    it.each([
      ['echo x > c && git add . && git commit -qm x', 'x'],
      ['echo x > a; git checkout -- a && rm a && git commit -qam gone', 'gone'],
      ['git switch -q main && git merge -q topic', 'second'],
      ['msg="computed $(echo x)"; echo > c; git add c; git commit -qm "$msg"', 'computed x'],
      ['git rebase -q topic && echo ok', 'second'],
      ['git reset -q --hard topic; echo ok', 'second'],
    ])('%s: its data lands', async (line, subject) => {
      const { withheld } = await fixture.run(line);
      expect(withheld).toBeUndefined();
      expect(fixture.git('log', '-1', '--format=%s')).toBe(`${subject}\n`);
      expect(fixture.git('status', '--short')).toBe('');
      expect(fixture.git('fsck')).toBe('');
    });

    it('renames a folder that was there before', async () => {
      fixture.write('folder/file', 'x\n');
      fixture.git('add', '.');
      expect(await fixture.run('git mv folder moved && git commit -qm moved')).toMatchObject({
        exit_code: 0,
      });
      expect(fixture.git('ls-files')).toBe('a\nmoved/file\n');
    });

    it('hooks and configuration are withheld, the rest lands', async () => {
      const { withheld, stderr } = await fixture.run(
        'git config core.hooksPath evil; echo evil > .git/hooks/pre-commit; mkdir .git/modules; echo x > .git/modules/x; echo x > c; git add c; git commit -qm x --no-verify',
      );
      expect(withheld).toEqual([
        { path: '.git/config' },
        { path: '.git/hooks/pre-commit' },
        { path: '.git/modules' },
      ]);
      expect(stderr).toContain('".git/config" would execute later');
      expect(fixture.git('log', '-1', '--format=%s')).toBe('x\n');
      expect(readFileSync(join(fixture.root, '.git/config'), 'utf8')).not.toContain('evil');
      expect(existsSync(join(fixture.root, '.git/hooks/pre-commit'))).toBe(false);
    });

    it('of a line that does not call git, nothing in .git lands', async () => {
      const { withheld, stderr } = await fixture.run(
        'echo x > .git/description; echo evil > .git/hooks/post-commit; rm .git/index',
      );
      expect(withheld).toEqual([
        { path: '.git/description' },
        { path: '.git/hooks/post-commit' },
        { path: '.git/index' },
      ]);
      expect(stderr).toContain(`".git/index" did not land: git's own data`);
      expect(fixture.git('status', '--short')).toBe('');
    });

    it('a .git that is a file or a link, or that is in a folder, is never written', async () => {
      const line =
        'mkdir sub; cd sub; git init -q; echo x > f; git add .; cd ..; echo "gitdir: evil" > g; mkdir h; cp g h/.git';
      const { withheld } = await fixture.run(line);
      expect(withheld).toEqual([{ path: 'h' }, { path: 'sub/.git' }]);
    });
  });

  it('[RN-5] no socket and no pipe of another process is reached', async () => {
    let visits = 0;
    const server = createServer(() => {
      visits += 1;
    }).listen(join(fixture.root, 'door.sock'));
    execFileSync('mkfifo', [join(fixture.root, 'pipe')]);
    const script = `import socket
try: socket.socket(socket.AF_UNIX).connect("door.sock"); print("connected")
except OSError as error: print("refused")`;
    const reader = spawnReader(join(fixture.root, 'pipe'));
    const { stdout } = await fixture.run(
      `python3 -c '${script}'; timeout 1 bash -c 'echo leak > pipe' || echo alone`,
    );
    expect(stdout).toBe('refused\nalone\n');
    expect([visits, await reader()]).toEqual([0, '']);
    server.close();
  });

  it('[RN-5] nothing of the layer but the workspace is seen', async () => {
    const { stdout } = await fixture.run(
      `ls ${fixture.stateFolder} 2>&1; ls ${fixture.parent}; grep -c overlay /proc/self/mounts; mount | grep -c upperdir=/proc || true`,
    );
    expect(stdout).toContain('No such file or directory');
    expect(stdout).toContain('\nworkspace\n');
  });

  it('[RN-11] programs that runner.json names run in the workspace itself', async () => {
    const named = new LayeredFixture({ runnerJson: { programs: { tee: { layer: false } } } });
    const result = await named.run('echo x | tee a; echo y > .envrc');
    expect(result).toMatchObject({ changed_files: [{ path: 'a', operation: 'created' }] });
    expect(result).not.toHaveProperty('undoable');
    expect(result.stderr).toContain('".envrc" would execute later; it was set aside');
    expect(await named.run('echo x > b')).toMatchObject({ undoable: true });
    await named.remove();
  });
});

/** Reads a pipe in a process of its own until it is asked what came. */
function spawnReader(pipe: string): () => Promise<string> {
  const folder = join(pipe, '..');
  mkdirSync(join(folder, '..', 'read'), { recursive: true });
  const child = spawnSync('bash', ['-c', `(timeout 5 cat "${pipe}" > "${folder}/../read/out" &) ; true`]);
  expect(child.status).toBe(0);
  return async () => readFileSync(join(folder, '..', 'read', 'out'), 'utf8');
}

describe.skipIf(cannotIsolate)('[RN-11] where there are no layers', () => {
  it('commands work as before, and doctor says why', async () => {
    const fixture = new LayeredFixture({ name: 'a,b' });
    expect(fixture.runner.layers.problem).toContain('has a colon, a comma or a backslash in it');
    const result = await fixture.run(
      'id -u; echo x > a; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json',
    );
    expect(result).toMatchObject({
      stdout: `${process.getuid?.()}\n`,
      changed_files: [{ path: 'a', operation: 'created' }],
      stderr: expect.stringContaining('"sub/.vscode" would execute later; it was set aside (VA-3)'),
    });
    for (const field of ['undoable', 'withheld']) expect(result).not.toHaveProperty(field);
    expect(await fixture.run('echo evil > .vscode/x || echo held')).toMatchObject({ stdout: 'held\n' });
    await fixture.remove();
  });
});
