import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../commands/run-command.ts';
import { defaultCommandLimits } from './command-limits.ts';
import {
  cannotIsolate,
  IsolationFixture,
  lookOnly,
  mayUseNetwork,
  mayWrite,
} from './isolation-fixture.test-data.ts';

import { IsolatingStarter } from './process-starter.ts';

describe.skipIf(cannotIsolate)('the folders of the person', () => {
  const lists = {
    readable: [] as string[],
    path: [] as string[],
    commands: { ...defaultCommandLimits },
    programs: {},
  };
  let fixture: IsolationFixture;
  beforeEach(() => {
    Object.assign(lists, { readable: [], path: [], commands: { ...defaultCommandLimits } });
    fixture = new IsolationFixture({ settings: () => lists });
  });
  afterEach(() => fixture.remove());

  const inHome = (path: string): string => join(fixture.home, path);
  function put(path: string, content = '', mode = 0o644): string {
    mkdirSync(dirname(inHome(path)), { recursive: true });
    writeFileSync(inHome(path), content);
    chmodSync(inHome(path), mode);
    return inHome(path);
  }
  const program = (path: string, says: string) => put(path, `#!/bin/sh\necho ${says}\n`, 0o755);

  it('[RN-5] programs are found there before those of the system, also by commands that run unasked', async () => {
    program('.cargo/bin/cargo', 'their cargo');
    program('.cargo/bin/ls', 'their ls');
    expect((await fixture.bash('cargo')).exitCode).toBe(127);
    lists.path.push('~/.cargo/bin');
    for (const confinement of [lookOnly, mayWrite, mayUseNetwork])
      expect((await fixture.bash('cargo; ls', confinement)).stdout).toBe('their cargo\ntheir ls\n');
    expect((await fixture.run('cargo', [])).stdout).toBe('their cargo\n');
  });

  it("[RN-5] the person's own Node comes before ours", async () => {
    program('node/bin/node', 'their node');
    expect((await fixture.run('node', ['--version'])).stdout).toMatch(/^v\d/);
    lists.path.push(inHome('node/bin'));
    expect((await fixture.run('node', ['--version'])).stdout).toBe('their node\n');
  });

  it('[RN-5] they can be read and not written, and nothing beside them is there', async () => {
    put('sdk/lib/data', 'data');
    put('beside', 'beside');
    lists.readable.push(inHome('sdk'));
    const { stdout } = await fixture.bash(
      `cat ~+/../home/sdk/lib/data; touch ${inHome('sdk/lib/new')} 2>/dev/null || echo no; rm -f ${inHome('sdk/lib/data')} 2>/dev/null; ls -A ${fixture.home}`,
      mayWrite,
    );
    expect(stdout).toBe('datano\nsdk\n');
  });

  it('[VA-2] sensitive files in them are empty for every command, whatever their depth, also when they come later', async () => {
    const secrets = [
      'sdk/.env',
      'sdk/a/b/.ssh/id_rsa',
      'sdk/.npmrc',
      '.cargo/credentials.toml',
      'sdk/etc/npmrc',
    ];
    for (const path of secrets) put(path, 'SECRET');
    put('outside/innocent', 'SECRET');
    symlinkSync(inHome('sdk/a/b/.ssh/id_rsa'), inHome('sdk/.netrc'));
    symlinkSync(inHome('outside/innocent'), inHome('sdk/elsewhere'));
    lists.readable.push('~/sdk', '~/.cargo');
    const look = `grep -r SECRET ${inHome('sdk')} ${inHome('.cargo')}; cat ${inHome('sdk/.netrc')} ${inHome('sdk/elsewhere')}; echo end`;
    for (const confinement of [lookOnly, mayWrite, mayUseNetwork])
      expect((await fixture.bash(look, confinement)).stdout).toBe('end\n');
    put('sdk/later/.env.local', 'SECRET');
    rmSync(inHome('sdk/.npmrc'));
    expect((await fixture.bash(look, mayWrite)).stdout).toBe('end\n');
  });

  it('[VA-1] one that becomes a link to a sensitive place stops the next command', async () => {
    put('.ssh/id_rsa', 'SECRET');
    put('sdk/current/x', 'fine');
    lists.readable.push(inHome('sdk/current'));
    expect((await fixture.bash(`cat ${inHome('sdk/current/x')}`)).stdout).toBe('fine');
    rmSync(inHome('sdk/current'), { recursive: true });
    symlinkSync(inHome('.ssh'), inHome('sdk/current'));
    await expect(fixture.bash('true')).rejects.toMatchObject({
      code: 'ISOLATION_UNAVAILABLE',
      message: expect.stringContaining('.ssh, which is sensitive'),
    });
  });

  it('[RN-5] a link to a folder is there too, and leads to what is masked', async () => {
    put('jdk-21/release', 'jdk');
    put('jdk-21/.env', 'SECRET');
    symlinkSync(inHome('jdk-21'), join(fixture.parent, 'jdk'));
    lists.readable.push(join(fixture.parent, 'jdk'));
    const { stdout } = await fixture.bash(
      `cat ${fixture.parent}/jdk/release ${fixture.parent}/jdk/.env ${inHome('jdk-21/.env')}`,
    );
    expect(stdout).toBe('jdk');
  });

  it('[VA-4] programs of the workspace are not found, also where the list names it', async () => {
    fixture.write('bin/evil', '#!/bin/sh\necho evil\n');
    chmodSync(join(fixture.root, 'bin/evil'), 0o755);
    mkdirSync(inHome('links'));
    symlinkSync(join(fixture.root, 'bin/evil'), inHome('links/evil'));
    lists.path.push(join(fixture.root, 'bin'), inHome('links'));
    await expect(fixture.run('evil', [])).rejects.toMatchObject({ code: 'PROGRAM_NOT_FOUND' });
    expect((await fixture.bash('echo $PATH')).stdout).not.toContain(fixture.root);
  });

  it('[VA-4] a program that isolation hides is not chosen over a visible one', async () => {
    program('hidden/date', 'hidden');
    mkdirSync(inHome('bin'));
    symlinkSync(inHome('hidden/date'), inHome('bin/date'));
    lists.path.push(inHome('bin'));
    expect((await fixture.run('date', ['+%Y'])).stdout).toMatch(/^\d{4}\n$/);
  });

  it('[RN-5] variables lead the tools of version managers to their files', async () => {
    put('.rustup/settings.toml', 'x');
    lists.readable.push('~/.rustup');
    expect((await fixture.bash('cat $RUSTUP_HOME/settings.toml')).stdout).toBe('x');
  });

  it('[RN-5] limits of commands are settings', async () => {
    Object.assign(lists.commands, {
      cpuSeconds: 77,
      memoryBytes: 512 * 1024 * 1024,
      temporaryBytes: 1024 * 1024,
    });
    const { stdout } = await fixture.bash(
      'ulimit -t; ulimit -d; head -c 3000000 /dev/zero > /tmp/big 2>/dev/null || stat -c %s /tmp/big',
      mayWrite,
    );
    expect(stdout).toBe(`77\n${512 * 1024}\n${1024 * 1024}\n`);
  });

  it('[RN-5] configuration that names nobody is there, and no other', async () => {
    const { stdout } = await fixture.bash('ls -A /etc; ls /etc/ssl 2>/dev/null', mayUseNetwork);
    const names = stdout.split('\n');
    expect(names).toContain('alternatives');
    for (const private_ of [
      'shadow',
      'machine-id',
      'hostname',
      'resolv.conf',
      'npmrc',
      'pip.conf',
      'private',
      'ssh',
    ])
      expect(names).not.toContain(private_);
  });
});

describe.skipIf(cannotIsolate)('a program that the person has and isolation hides', () => {
  it('[RN-5] is named with the way to add it', async () => {
    const environment = { ...process.env };
    const fixture = new IsolationFixture({ environment });
    const folder = join(fixture.home, '.cargo/bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cargo-x'), '#!/bin/sh\n', { mode: 0o755 });
    const starter = new IsolatingStarter(fixture.workspace, {
      environment: { ...environment, PATH: `${folder}:${process.env.PATH}` },
    });
    const said =
      'cargo-x is on this machine (~/.cargo/bin/cargo-x), but commands do not see that folder. The person shows it to them: countersign doctor --add-programs does it.';
    const request = { cwd: '', stdin: 'ignore', confinement: mayWrite } as const;
    expect(() => starter.start({ ...request, program: 'cargo-x', args: [] })).toThrow(said);
    const services = { workspace: fixture.workspace, starter };
    const line = (text: string) =>
      runCommand(
        { text, name: text, request: { ...request, program: 'bash', args: ['-c', text] }, timeout: 20 },
        services,
        { signal: new AbortController().signal, onProgress: () => {} },
      );
    expect(await line('cargo-x build')).toMatchObject({
      exit_code: 127,
      stderr: expect.stringContaining(`line 1: cargo-x: command not found\n\n[Countersign: ${said}]\n`),
    });
    expect((await line('no-such-program')).stderr).not.toContain('Countersign');

    // The environment's python is a link to one that is not visible.
    const python = join(fixture.home, '.pyenv/versions/3.12');
    mkdirSync(join(python, 'bin'), { recursive: true });
    mkdirSync(join(python, 'lib/python3.12'), { recursive: true });
    writeFileSync(join(python, 'lib/python3.12/os.py'), '');
    writeFileSync(join(python, 'bin/python3'), '#!/bin/sh\n', { mode: 0o755 });
    fixture.write('.venv/pyvenv.cfg', `home = ${python}/bin\n`);
    mkdirSync(join(fixture.root, '.venv/bin'));
    symlinkSync(join(python, 'bin/python3'), join(fixture.root, '.venv/bin/python'));
    const { stderr } = await line('.venv/bin/python x.py');
    expect(stderr).toContain('[Countersign: .venv/bin/python is on this machine (~/.pyenv/versions/3.12)');
    await starter.dispose();
    await fixture.remove();
  });
});
