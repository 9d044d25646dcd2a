import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cannotIsolate,
  IsolationFixture,
  lookOnly,
  mayUseNetwork,
  mayWrite,
} from './isolation-fixture.test-data.ts';
import { IsolatingStarter } from './process-starter.ts';

/** A server that greets every client and counts them. */
async function startGreeter(
  where: number | string,
): Promise<{ server: Server; visits: () => number; port: number }> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.on('error', () => {});
    socket.end('hello from outside\n');
  });
  await new Promise<void>((resolve) =>
    typeof where === 'number' ? server.listen(where, '127.0.0.1', resolve) : server.listen(where, resolve),
  );
  const address = server.address();
  return { server, visits: () => visits, port: typeof address === 'object' && address ? address.port : 0 };
}

const connectTo = (where: string): string => `python3 -c '
import socket, sys
where = ${where}
try:
  s = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
  s.settimeout(2)
  s.connect(where)
  print(s.recv(100).decode())
except OSError as e: print("refused", e)
'`;

describe.skipIf(cannotIsolate)('from inside isolation', () => {
  const token = 'token-5f1c2d';
  const fixture = new IsolationFixture({
    environment: { ...process.env, COUNTERSIGN_TOKEN: token, OTHER_TOKEN: token, LANG: 'C.UTF-8' },
  });
  const closing: Server[] = [];
  beforeAll(() => {
    fixture.makeRepository();
    fixture.write('README.md', 'readme\n');
    writeFileSync(join(fixture.home, '.bashrc'), 'home-secret');
    writeFileSync(join(fixture.parent, 'state', 'journal'), 'state-secret');
    writeFileSync(join(fixture.parent, 'beside.txt'), 'beside');
  });
  afterAll(async () => {
    for (const server of closing) server.close();
    await fixture.remove();
  });

  it('[RN-5] no other process is there, and no environment of one', async () => {
    const { stdout } = await fixture.bash(
      `ls /proc | grep -E '^[0-9]+$'; cat /proc/*/environ | tr '\\0' '\\n'`,
    );
    const pids = stdout.split('\n').filter((line) => /^\d+$/.test(line));
    expect(pids.map(Number).every((pid) => pid < 20)).toBe(true);
    expect(stdout).not.toContain(token);
    expect(stdout).toContain('HOME=/tmp/home');
    const { stdout: killed } = await fixture.bash(`kill -9 ${process.pid}; echo $?`);
    expect(killed).toBe('1\n');
  });

  it('[VA-7] the environment is an allow-list, and what the person adds', async () => {
    const { stdout } = await fixture.run('env', []);
    const names = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=', 1)[0] ?? '');
    expect(names.filter((name) => !/^(PATH|HOME|LANG|LC_\w+|TERM|TMPDIR|TZ|USER|PWD)$/.test(name))).toEqual(
      [],
    );
    expect(stdout).toMatch(/^PATH=.*\/usr\/bin/m);
    const added = new IsolationFixture({
      environment: { MINE: '1', LD_PRELOAD: '/evil.so', COUNTERSIGN_TOKEN: 't', HOME: '/x' },
      addedEnvironment: ['MINE', 'LD_PRELOAD', 'COUNTERSIGN_TOKEN', 'HOME'],
    });
    const { stdout: seen } = await added.run('env', []);
    expect(seen).toContain('MINE=1\n');
    expect(seen).toContain('HOME=/tmp/home\n');
    expect(seen).not.toMatch(/LD_PRELOAD|COUNTERSIGN/);
    await added.remove();
  });

  it('[RN-5] no file of the home, of the state, or beside the workspace is there', async () => {
    const paths = [
      join(fixture.home, '.bashrc'),
      join(fixture.parent, 'state', 'journal'),
      join(fixture.parent, 'beside.txt'),
      '/root/.bashrc',
      '/etc/shadow',
      '/etc/machine-id',
      '/var/log',
      '/sys/kernel',
      '/home',
    ];
    for (const confinement of [lookOnly, mayWrite, mayUseNetwork]) {
      const { stdout } = await fixture.bash(
        `cat ${paths.join(' ')}; ls ${fixture.parent}; ls -A ~ /run`,
        confinement,
      );
      expect(stdout).not.toMatch(/secret|beside/);
      expect(stdout.startsWith('workspace\n')).toBe(true);
    }
  });

  it('[RN-5] nothing outside the workspace can be written, or is shared', async () => {
    const line =
      'for f in /usr/x /etc/x /x /run/x /var/x /home/x; do touch $f 2>/dev/null && echo $f; done; touch /tmp/x ~/y && echo private';
    expect((await fixture.bash(line, mayWrite)).stdout).toBe('private\n');
    expect((await fixture.bash('ls -A /tmp ~', mayWrite)).stdout).not.toMatch(/^[xy]$/m);
  });

  it('[RN-5] no setting of the machine can be written, also not by root', async () => {
    // The script only opens files, and writes one value back unchanged: even without isolation it changes nothing.
    const script = `
import os
for folder, names, files in os.walk('/proc'):
  if folder == '/proc': names[:] = [n for n in names if not n.isdigit() and n not in ('self', 'thread-self')]
  for name in files:
    try: os.close(os.open(os.path.join(folder, name), os.O_WRONLY)); print('open', folder, name)
    except OSError: pass
pattern = '/proc/sys/kernel/core_pattern'
try:
  old = open(pattern).read()
  with open(pattern, 'w') as f: f.write(old)
  print('written')
except OSError: pass
print(os.path.exists('/sys'), os.path.exists('/proc/sys/kernel/core_pattern'))`;
    for (const confinement of [lookOnly, mayWrite, mayUseNetwork])
      expect((await fixture.run('python3', ['-c', script], confinement)).stdout).toBe('False True\n');
  });

  it('[RN-5] a LOW command writes nothing in the workspace', async () => {
    const { stdout } = await fixture.bash(
      'touch new; echo x >> README.md; rm README.md; mkdir d; chmod 777 README.md; echo end',
      lookOnly,
    );
    expect(stdout).toBe('end\n');
    expect(readdirSync(fixture.root).sort()).toEqual(['.git', 'README.md']);
    expect(readFileSync(join(fixture.root, 'README.md'), 'utf8')).toBe('readme\n');
  });

  it('[RN-5] no socket of another process is reached: path, abstract, in the workspace, loopback', async () => {
    const inTmp = await startGreeter(join(tmpdir(), `countersign-${process.pid}.sock`));
    const abstract = await startGreeter(`\0countersign-${process.pid}`);
    const inWorkspace = await startGreeter(join(fixture.root, 'door.sock'));
    const loopback = await startGreeter(0);
    const all = [inTmp, abstract, inWorkspace, loopback];
    closing.push(...all.map(({ server }) => server));
    const wheres = [
      `"${join(tmpdir(), `countersign-${process.pid}.sock`)}"`,
      `"\\0countersign-${process.pid}"`,
      '"door.sock"',
      `("127.0.0.1", ${loopback.port})`,
    ];
    for (const confinement of [lookOnly, mayWrite, mayUseNetwork]) {
      for (const where of wheres) {
        const { stdout, stderr } = await fixture.bash(connectTo(where), confinement);
        expect({ where, stdout, stderr }).toEqual({
          where,
          stdout: expect.stringMatching(/^refused /),
          stderr: '',
        });
      }
    }
    expect(all.map(({ visits }) => visits())).toEqual([0, 0, 0, 0]);
    expect(lstatSync(join(fixture.root, 'door.sock')).isSocket()).toBe(true);
  });

  it('[RN-5] sockets and pipes in installed packages are closed as well', async () => {
    const paths = ['node_modules/.cache/d.sock', 'node_modules/some/lib/d.sock'];
    for (const path of paths) {
      mkdirSync(dirname(join(fixture.root, path)), { recursive: true });
      const { server } = await startGreeter(join(fixture.root, path));
      closing.push(server);
    }
    execFileSync('mkfifo', [join(fixture.root, 'node_modules/.cache/pipe')]);
    for (const path of paths)
      expect((await fixture.bash(connectTo(`"${path}"`), mayWrite)).stdout).toMatch(/^refused /);
    const { stdout } = await fixture.bash('stat -c %F node_modules/.cache/pipe', mayWrite);
    expect(stdout).toBe('regular empty file\n');
    for (const server of closing.splice(-2)) server.close();
    rmSync(join(fixture.root, 'node_modules'), { recursive: true });
  });

  it('[RN-5] no descriptor but the standard three is open, also none that we inherited', async () => {
    expect((await fixture.bash('ls /proc/$$/fd; true')).stdout).toMatch(/^0\n1\n2\n(255\n)?$/);
    const secret = openSync(join(fixture.parent, 'beside.txt'), 'r');
    const script = `
      import { IsolationFixture } from ${JSON.stringify(import.meta.resolve('./isolation-fixture.test-data.ts'))};
      const fixture = new IsolationFixture();
      console.log((await fixture.bash('cat <&3 <&17; ls /proc/$$/fd; true')).stdout);
      await fixture.remove();`;
    const stdio = Array.from({ length: 18 }, (_, at) =>
      at === 1 ? 'pipe' : at === 17 || at === 3 ? secret : 'ignore',
    );
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: stdio as never,
      cwd: import.meta.dirname,
    });
    let seen = '';
    child.stdout?.on('data', (chunk) => {
      seen += chunk;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(seen).toMatch(/^0\n1\n2\n(255\n)?\n$/);
  });

  it('[RN-5] it has no rights, and gets none', async () => {
    const { stdout } = await fixture.bash(
      'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; unshare -U true; mount -t tmpfs x /tmp; echo $?',
    );
    expect(stdout).toContain(
      'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n',
    );
    expect(stdout.trimEnd().endsWith('\n0')).toBe(false);
  });

  it.runIf(process.arch === 'x64')('[RN-5] dangerous system calls are refused', async () => {
    const script = `import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
  ctypes.set_errno(0)
  libc.syscall(*a)
  return ctypes.get_errno()
print([call(n, 0, 0, 0, 0, 0) for n in (250, 321, 298, 323, 101, 165, 272, 435, 425)])
print(libc.ioctl(0, 0x5412, b"x"), ctypes.get_errno(), call(16, 0, 0x5412, 0))
print(call(56, 0x10000000 | 17, 0, 0, 0, 0))
for family in (38, 40, 17):
  try: socket.socket(family, socket.SOCK_DGRAM); print("open")
  except OSError as e: print(e.errno)
a, b = socket.socketpair(); print("pair")
`;
    const { stdout } = await fixture.run('python3', ['-c', script]);
    expect(stdout).toBe('[1, 1, 1, 1, 1, 1, 1, 38, 38]\n-1 1 1\n1\n97\n97\n97\npair\n');
  });

  it('[RN-5] no file is made that lends the rights of its owner, and archives are unpacked all the same', async () => {
    const box = new IsolationFixture();
    const { stdout } = await box.bash(
      `cp /bin/true a; chmod 4755 a || echo no; chmod u+s a || echo no; chmod g+s a || echo no
install -m 6755 /bin/true b 2>/dev/null || echo no
python3 -c 'import os
for make in (lambda: os.open("c", os.O_CREAT | os.O_WRONLY, 0o4777), lambda: os.mknod("d", 0o104777)):
  try: make(); print("made")
  except PermissionError: print("no")'
umask 022; mkdir p; echo x > p/x; chmod 750 p/x; chmod 1777 p; tar cf p.tar p; rm -r p; tar xpf p.tar; stat -c %a p p/x`,
      mayWrite,
    );
    expect(stdout).toBe(`${'no\n'.repeat(6)}1777\n750\n`);
    const modes = readdirSync(box.root).map((name) => lstatSync(join(box.root, name)).mode & 0o6000);
    expect(modes.filter((mode) => mode !== 0)).toEqual([]);
    await box.remove();
  });

  it('[RN-5] what only looks reaches no socket that appears while it runs', async () => {
    const python = `import socket
socket.socketpair()
try: socket.socket(socket.AF_UNIX); print("open")
except OSError as e: print("refused")`;
    const node = `
const { fork } = require('node:child_process');
fork('/tmp/child.cjs').once('message', (text) => console.log(text));`;
    for (const [confinement, expected] of [
      [lookOnly, 'refused'],
      [mayWrite, 'open'],
    ] as const) {
      expect((await fixture.run('python3', ['-c', python], confinement)).stdout).toBe(`${expected}\n`);
      const line = `echo 'process.send("from a child")' > /tmp/child.cjs; node -e "$1"`;
      expect(await fixture.run('bash', ['-c', line, 'bash', node], confinement)).toMatchObject({
        stdout: 'from a child\n',
      });
    }
  });

  it('[RN-5] limits hold', async () => {
    const limits = { memoryBytes: 256 * 1024 * 1024, cpuSeconds: 1, files: 50 };
    const confinement = { ...lookOnly, limits };
    expect((await fixture.bash('ulimit -c; ulimit -n; ulimit -d; ulimit -t', confinement)).stdout).toBe(
      '0\n50\n262144\n1\n',
    );
    expect(
      await fixture.run('python3', ['-c', 'x = bytearray(300 * 1024 * 1024)'], confinement),
    ).toMatchObject({ exitCode: 1 });
    expect((await fixture.bash('while :; do :; done', confinement)).exitCode).toBe(152);
  });

  it('[RN-5] Node, npm, git and Python work', async () => {
    const { stdout } = await fixture.bash(
      'node -p 6*7; npm --version; git --version; python3 -c "print(1+1)"; date +%Z; whoami',
    );
    expect(stdout).toMatch(/^42\n\d+\.\d+\.\d+\ngit version .+\n2\n\w+\n\w+\n$/);
  });

  it("[RN-5] git knows the name and email of the person, the repository's own first", async () => {
    const named = new IsolationFixture();
    writeFileSync(
      join(named.home, '.gitconfig'),
      '[user]\n\tname = "Ann \\"A\\" B"\n\temail = a@example.org\n[core]\n\teditor = evil\n',
    );
    named.makeRepository();
    const line =
      'git config user.name; git config user.email; git config core.editor; git config --list | grep -c evil';
    expect((await named.bash(line)).stdout).toBe('Ann "A" B\na@example.org\n0\n');
    execFileSync('git', ['-C', named.root, 'config', 'user.email', 'work@example.org']);
    expect((await named.bash('git config user.email')).stdout).toBe('work@example.org\n');
    await named.remove();
  });

  it('a workspace that is part of the system is not isolated', async () => {
    for (const root of ['/', '/tmp', '/usr'])
      expect(() =>
        new IsolatingStarter({ ...fixture.workspace, root }, { scanBounds: { milliseconds: 50 } }).start({
          program: 'true',
          args: [],
          cwd: '',
          confinement: lookOnly,
          stdin: 'ignore',
        }),
      ).toThrow(expect.objectContaining({ code: 'ISOLATION_UNAVAILABLE' }));
  });

  it('[VA-1] the working folder is inside the workspace', async () => {
    fixture.write('sub/inner/x');
    symlinkSync('sub/inner', join(fixture.root, 'way'));
    symlinkSync('/etc', join(fixture.root, 'out'));
    expect((await fixture.run('pwd', [], lookOnly, { cwd: 'way' })).stdout).toBe(
      `${fixture.root}/sub/inner\n`,
    );
    const start = (cwd: string) => fixture.run('pwd', [], lookOnly, { cwd });
    await expect(start('out')).rejects.toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
    await expect(start('..')).rejects.toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
    await expect(start('none')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(start('README.md')).rejects.toMatchObject({ code: 'NOT_A_DIRECTORY' });
    expect((await fixture.run('pwd', [], { ...lookOnly, workspace: 'none' })).stdout).toBe('/tmp\n');
    expect((await fixture.run('ls', [fixture.root], { ...lookOnly, workspace: 'none' })).exitCode).toBe(2);
  });

  it('folders beside the workspace are readable when named, and only then', async () => {
    mkdirSync(join(fixture.parent, 'library'));
    writeFileSync(join(fixture.parent, 'library', 'text'), 'shared\n');
    const readable = [join(fixture.parent, 'library')];
    const line = `cat ${fixture.parent}/library/text; touch ${fixture.parent}/library/new || echo no`;
    expect((await fixture.bash(line, { ...mayWrite, readable })).stdout).toBe('shared\nno\n');
    expect((await fixture.bash(line, mayWrite)).stdout).toBe('no\n');
  });

  it('[RN-5] dies with the runner', async () => {
    const script = `
      import { IsolationFixture } from ${JSON.stringify(import.meta.resolve('./isolation-fixture.test-data.ts'))};
      const fixture = new IsolationFixture();
      const child = fixture.starter.start({ program: 'bash', args: ['-c', 'setsid sleep 60 & echo up; sleep 60'], cwd: '', confinement: { workspace: 'none', network: false, maskSensitive: true }, stdin: 'ignore' });
      child.stdout.once('data', () => console.log(child.pid));`;
    const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: fixture.parent },
      cwd: import.meta.dirname,
    });
    const pid = await new Promise<number>((resolve) =>
      runner.stdout.once('data', (data) => resolve(Number(data))),
    );
    const namespace = readlinkSync(
      `/proc/${readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()}/ns/pid`,
    );
    const inNamespace = () =>
      readdirSync('/proc').filter((name) => {
        try {
          if (!/^\d+$/.test(name) || readlinkSync(`/proc/${name}/ns/pid`) !== namespace) return false;
          // Ignore zombies: process 1 may be slow to reap them.
          return !/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'utf8'));
        } catch {
          return false;
        }
      });
    expect(inNamespace().length).toBeGreaterThanOrEqual(3);
    runner.kill('SIGKILL');
    await expect.poll(inNamespace).toEqual([]);
  });
});

describe.skipIf(cannotIsolate)('sensitive files', () => {
  it('[VA-2] are masked for LOW commands, wherever they stand, and links lead to nothing', async () => {
    const fixture = new IsolationFixture();
    const secrets = [
      '.env',
      'packages/app/.env.local',
      'deep/er/credentials.json',
      'keys/id_rsa',
      '.npmrc',
      '.ssh/config',
      '.aws/credentials',
      '.docker/config.json',
      '.git/credentials',
      'x/server.key',
      '.countersign/tokens.json',
      '.ENV',
      'config/secrets.txt',
    ];
    fixture.makeRepository();
    for (const path of secrets) fixture.write(path, 'SECRET\n');
    for (const path of ['.env.example', 'src/env.ts', 'docs/.docker.md']) fixture.write(path, 'PUBLIC\n');
    symlinkSync('secrets.txt', join(fixture.root, 'config/.env'));
    symlinkSync('.ssh', join(fixture.root, 'innocent'));
    const { stdout, stderr, exitCode } = await fixture.bash(
      'grep -rn SECRET . innocent; grep -rlL PUBLIC . | grep -v .git/ | sort; cat innocent/* config/secrets.txt; true',
    );
    expect(stdout).not.toContain('SECRET');
    expect({ stderr: stderr.replace(/.*innocent.*\n/, ''), exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect((await fixture.bash('cat .env.example src/env.ts')).stdout).toBe('PUBLIC\nPUBLIC\n');
    expect((await fixture.bash('cat .env', mayWrite)).stdout).toBe('SECRET\n');
    for (const path of secrets) expect(readFileSync(join(fixture.root, path), 'utf8')).toBe('SECRET\n');
    await fixture.remove();
  });

  it("[VA-2] git's configuration is masked for LOW commands where a login stands in it", async () => {
    const fixture = new IsolationFixture();
    fixture.makeRepository();
    expect((await fixture.bash('cat .git/config')).stdout).toContain('repositoryformatversion');
    fixture.write('.git/config', '[remote "origin"]\n\turl = https://me:token-1@example.com/x.git\n');
    fixture.write('sub/.git/config', '[http]\n\textraheader = token-1\n');
    expect((await fixture.bash('grep -rc token-1 . | grep -v :0')).stdout).toBe('');
    expect((await fixture.bash('grep -rl token-1 . | sort', mayWrite)).stdout).toBe(
      './.git/config\n./sub/.git/config\n',
    );
    await fixture.remove();
  });

  it('[VA-2] one that appears later is masked by the next command', async () => {
    const fixture = new IsolationFixture();
    fixture.write('sub/a', '');
    expect((await fixture.bash('ls -A sub')).stdout).toBe('a\n');
    fixture.write('sub/.env', 'SECRET');
    expect((await fixture.bash('cat sub/.env; ls -A sub')).stdout).toBe('.env\na\n');
    await fixture.remove();
  });

  it('[VA-2] what cannot be searched within bounds is refused, never run unmasked', async () => {
    const fixture = new IsolationFixture({ scanBounds: { directories: 5 } });
    for (let i = 0; i < 9; i += 1) fixture.write(`d${i}/x`);
    for (const confinement of [lookOnly, mayWrite])
      await expect(fixture.bash('true', confinement)).rejects.toMatchObject({
        code: 'ISOLATION_UNAVAILABLE',
      });
    expect(readdirSync(fixture.root).length).toBe(9);
    await fixture.remove();
  });

  it('[VA-2] more of them than can be masked: refused as well', async () => {
    const fixture = new IsolationFixture();
    for (let i = 0; i < 1_001; i += 1) fixture.write(`k/${i}.pem`);
    await expect(fixture.bash('true')).rejects.toMatchObject({ code: 'ISOLATION_UNAVAILABLE' });
    await fixture.remove();
  });
});

describe.skipIf(cannotIsolate)('places that execute later', () => {
  const places = [
    '.git/hooks/pre-commit',
    '.git/config',
    '.vscode/tasks.json',
    '.idea/workspace.xml',
    '.husky/pre-commit',
    '.github/workflows/ci.yml',
    '.envrc',
    '.mcp.json',
    '.bashrc',
    '.npmrc',
    '.yarnrc.yml',
    '.countersign/policy.json',
    'sub/.vscode/tasks.json',
    'sub/.git/config',
    '.gitmodules',
    'lib/x.pth',
    '.VSCode/tasks.json',
  ];
  const snapshot = (root: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() || entry.isSymbolicLink())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => [
          path.slice(root.length + 1),
          lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'latin1'),
        ]),
    );
  const plant = (path: string): string => `mkdir -p "$(dirname '${path}')"; echo evil > '${path}'`;

  it('[VA-3] that are not there cannot be planted, and nothing is left over', async () => {
    const fixture = new IsolationFixture();
    fixture.write('README.md', 'readme');
    await fixture.bash(`${places.map(plant).join('; ')}; echo ok > made.txt`, mayWrite);
    expect(snapshot(fixture.root)).toEqual({ 'README.md': 'readme', 'made.txt': 'ok\n' });
    expect(readdirSync(fixture.root).sort()).toEqual(['README.md', 'lib', 'made.txt', 'sub']);
    await fixture.remove();
  });

  it('[VA-3] that are there cannot be changed, replaced, moved, linked or removed', async () => {
    const fixture = new IsolationFixture();
    fixture.makeRepository();
    for (const path of places.filter((path) => path !== 'sub/.git/config')) fixture.write(path, 'original');
    const before = snapshot(fixture.root);
    const tricks = places
      .filter((path) => path !== 'sub/.git/config')
      .flatMap((path) => [
        plant(path),
        `echo evil > evil; mv evil '${path}'`,
        `rm -rf '${path}'; ln -s evil '${path}'`,
        `echo evil > evil; ln -f evil '${path}'`,
        `cp -f --remove-destination evil '${path}'`,
        `echo evil | tee -a '${path}'`,
        `chmod 777 '${path}'`,
        `truncate -s 0 '${path}'`,
      ]);
    const parents = [
      '.git',
      '.git/hooks',
      '.vscode',
      '.github',
      '.github/workflows',
      '.husky',
      '.countersign',
    ].flatMap((parent) => [
      `mv ${parent} ${parent}2 && mkdir -p ${parent}/hooks && echo evil > ${parent}/tasks.json`,
      `rm -rf ${parent}`,
      `ln -sfnT /tmp ${parent}`,
    ]);
    await fixture.bash(`${[...tricks, ...parents].join('; ')}; rm -f evil`, mayWrite);
    expect(snapshot(fixture.root)).toEqual(before);
    await fixture.remove();
  });

  it('[VA-3] a parent that is moved takes them along unchanged, and its old name stays clean', async () => {
    const fixture = new IsolationFixture();
    fixture.write('sub/.vscode/tasks.json', 'original');
    await fixture.bash(
      `mv sub moved; echo evil > moved/.vscode/tasks.json; ${plant('sub/.vscode/tasks.json')}`,
      mayWrite,
    );
    expect(snapshot(fixture.root)).toEqual({ 'moved/.vscode/tasks.json': 'original' });
    await fixture.remove();
  });

  it('[VA-3] a link to one protects what it leads to', async () => {
    const fixture = new IsolationFixture();
    fixture.write('settings/tasks.json', 'original');
    symlinkSync('settings', join(fixture.root, '.vscode'));
    await fixture.bash(
      'echo evil > settings/tasks.json; echo evil > .vscode/tasks.json; rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json',
      mayWrite,
    );
    expect(snapshot(fixture.root)).toEqual({ 'settings/tasks.json': 'original' });
    await fixture.remove();
  });

  it('[VA-3] planted by a link to a file elsewhere in the workspace: set aside and kept', async () => {
    const fixture = new IsolationFixture();
    fixture.write('notes.txt', 'evil');
    const child = fixture.starter.start({
      program: 'ln',
      args: ['notes.txt', '.envrc'],
      cwd: '',
      confinement: mayWrite,
      stdin: 'ignore',
    });
    await new Promise((resolve) => child.once('exit', resolve));
    await fixture.starter.stop(child);
    const [kept, ...rest] = fixture.starter.planted(child).setAside;
    expect(rest).toEqual([]);
    expect(kept?.path).toBe('.envrc');
    expect(readFileSync(kept?.keptIn ?? '', 'utf8')).toBe('evil');
    expect(snapshot(fixture.root)).toEqual({ 'notes.txt': 'evil' });
    await fixture.remove();
  });

  it('[VA-3] set aside also on another disk, and where a file stands in the way of a stand-in', async () => {
    const fixture = new IsolationFixture();
    const stateFolder = mkdtempSync('/dev/shm/countersign-');
    fixture.write('.github', 'a file');
    const starter = new IsolatingStarter({ ...fixture.workspace, stateFolder });
    const line =
      'mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; ln -s tasks.json sub/.vscode/link';
    const child = starter.start({
      program: 'bash',
      args: ['-c', line],
      cwd: '',
      confinement: mayWrite,
      stdin: 'ignore',
    });
    await new Promise((resolve) => child.once('exit', resolve));
    await starter.stop(child);
    const [kept] = starter.planted(child).setAside;
    expect(kept?.keptIn.startsWith(stateFolder)).toBe(true);
    expect(snapshot(kept?.keptIn ?? '')).toEqual({ 'tasks.json': 'evil\n', link: 'tasks.json' });
    expect(snapshot(fixture.root)).toEqual({ '.github': 'a file' });
    await starter.dispose();
    rmSync(stateFolder, { recursive: true });
    await fixture.remove();
  });

  it('[VA-3] says so when a command left too much to be searched', async () => {
    const fixture = new IsolationFixture({ scanBounds: { directories: 50 } });
    const child = fixture.starter.start({
      program: 'bash',
      args: ['-c', 'mkdir d{1..60}'],
      cwd: '',
      confinement: mayWrite,
      stdin: 'ignore',
    });
    await new Promise((resolve) => child.once('exit', resolve));
    await fixture.starter.stop(child);
    expect(fixture.starter.planted(child)).toEqual({
      setAside: [],
      problem: 'there are more folders than can be searched',
    });
    await fixture.remove();
  });

  it('[VA-3] git itself writes its folder, without its hooks', async () => {
    const fixture = new IsolationFixture();
    fixture.makeRepository();
    fixture.write('a.txt', 'a');
    const asGit = { ...mayWrite, writableGit: 'everything' } as const;
    const line =
      'git add a.txt && git -c user.name=A -c user.email=a@b commit -qm one && git log --format=%s; echo evil > .git/hooks/pre-commit; git init -q other && touch other/.gitattributes && ls -A other';
    expect((await fixture.bash(line, asGit)).stdout).toBe('one\n.git\n.gitattributes\n');
    expect(fixture.has('.git/hooks/pre-commit')).toBe(false);
    expect(fixture.has('other/.git/HEAD') && fixture.has('other/.gitattributes')).toBe(true);
    expect(
      (await fixture.bash('git add a.txt 2>&1; git commit --allow-empty -m x 2>&1 | tail -1', mayWrite))
        .stdout,
    ).toMatch(/Read-only file system/);
    await fixture.remove();
  });

  it('[VA-3] several commands at once share the stand-ins, and the last one removes them', async () => {
    const fixture = new IsolationFixture();
    const slow = fixture.bash('sleep 0.4; echo evil > .vscode/tasks.json; mkdir .husky; ls -A', mayWrite);
    await fixture.bash('true', mayWrite);
    expect((await slow).stdout.split('\n')).toEqual(expect.arrayContaining(['.vscode', '.husky']));
    expect(readdirSync(fixture.root)).toEqual([]);
    await fixture.remove();
  });

  it('what the person puts into a stand-in meanwhile stays', async () => {
    const fixture = new IsolationFixture();
    const running = fixture.bash('until [ -e go ]; do sleep 0.02; done', mayWrite);
    await expect.poll(() => fixture.has('.vscode')).toBe(true);
    fixture.write('.vscode/settings.json', 'mine');
    fixture.write('go');
    await running;
    expect(snapshot(fixture.root)).toEqual({ '.vscode/settings.json': 'mine', go: '' });
    await fixture.remove();
  });

  it('hard links and modes of ordinary files are as outside', async () => {
    const fixture = new IsolationFixture();
    fixture.write('a', 'x');
    linkSync(join(fixture.root, 'a'), join(fixture.root, 'b'));
    chmodSync(join(fixture.root, 'a'), 0o751);
    expect((await fixture.bash('stat -c "%h %a" a; echo y >> b; cat a', mayWrite)).stdout).toBe(
      '2 751\nxy\n',
    );
    await fixture.remove();
  });
});
