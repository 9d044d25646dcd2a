import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultCommandLimits } from './command-limits.ts';
import {
  type Answer,
  cannotIsolate,
  IsolationFixture,
  mayUseNetwork,
  mayWrite,
} from './isolation-fixture.test-data.ts';

const MiB = 1024 * 1024;

describe.skipIf(cannotIsolate)('a place of its own', () => {
  const closing: Server[] = [];
  const lists = {
    readable: [] as string[],
    path: [] as string[],
    commands: { ...defaultCommandLimits },
    programs: {},
  };
  let fixture: IsolationFixture;
  beforeEach(() => {
    Object.assign(lists, { readable: [], commands: { ...defaultCommandLimits } });
    fixture = new IsolationFixture({ killDelayMs: 300, settings: () => lists });
  });
  afterEach(async () => {
    for (const server of closing.splice(0)) server.close();
    await fixture.remove();
  });

  const inPlace = async (session: string, line: string, confinement = mayWrite): Promise<Answer> =>
    fixture.run('bash', ['-c', line], confinement, { place: await fixture.starter.placeOf(session) });

  /** Starts a background job, and waits until it has printed a line. */
  async function job(session: string, line: string, confinement = mayWrite): Promise<ChildProcess> {
    const place = await fixture.starter.placeOf(session);
    const request = { program: 'bash', args: ['-c', line], cwd: '', stdin: 'ignore', confinement } as const;
    const child = fixture.starter.start({ ...request, place });
    child.stderr?.resume();
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    return child;
  }
  const serve = (port: number): string => `python3 -u -c '
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200); self.end_headers(); self.wfile.write(b"from the job")
  def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", ${port}), Handler)
print("up", flush=True)
server.serve_forever()'`;

  it('[RN-5] the commands of a conversation share /tmp, and no other sees it', async () => {
    await inPlace('a', 'echo shared > /tmp/note; mkdir /tmp/d; echo private > ~/note');
    expect((await inPlace('a', 'cat /tmp/note; ls -A ~; touch /tmp/d/x && ls /tmp/d')).stdout).toBe(
      'shared\nx\n',
    );
    expect((await inPlace('b', 'ls -A /tmp /var/tmp')).stdout).not.toMatch(/note/);
    expect((await fixture.bash('ls -A /tmp', mayWrite)).stdout).not.toMatch(/note/);
    expect(readdirSync(join(fixture.workspace.stateFolder, 'isolation/place'))).toEqual([]);
  });

  it('[RN-5] a server that a job starts answers the next command, and no other conversation', async () => {
    await job('a', serve(3000));
    const ask = 'curl -sS --max-time 5 localhost:3000';
    expect(await inPlace('a', ask)).toEqual({ stdout: 'from the job', stderr: '', exitCode: 0 });
    expect((await inPlace('a', ask, mayUseNetwork)).stdout).toBe('from the job');
    for (const other of [inPlace('b', ask), inPlace('b', ask, mayUseNetwork), fixture.bash(ask, mayWrite)])
      expect((await other).exitCode).toBe(7);
    // Another conversation can use the same port.
    await job('b', serve(3000));
    expect((await inPlace('b', ask)).stdout).toBe('from the job');
  });

  it('[RN-5] a program that is about to enter a conversation that ends never enters another one', async () => {
    const place = async (session: string) => {
      const made = await fixture.starter.placeOf(session);
      if (!made) throw new Error('no place');
      return made;
    };
    const networkIn = (line: readonly string[]): string =>
      spawnSync(line[0] ?? '', [...line.slice(1), 'readlink', '/proc/self/ns/net'], { encoding: 'utf8' })
        .stdout;
    const first = await place('a');
    const line = first.enter;
    const own = networkIn(line);
    const release = first.hold();
    await fixture.starter.endConversation('a');
    const second = await place('b');
    expect(networkIn(second.enter)).not.toBe(own);
    expect(networkIn(line)).toBe(own);
    release();
    release();
    // Afterwards nothing can enter it, although its descriptors' numbers may be those of a third one.
    expect(() => first.enter).toThrow('ended');
    expect(first.holds([])).toBe(false);
  });

  it('[AP-9] neither this machine nor its services are on the shared loopback', async () => {
    const server = createServer((socket) => socket.end('outside'));
    const hidden = createServer((socket) => socket.end('outside'));
    closing.push(server, hidden);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await new Promise<void>((resolve) => hidden.listen(`\0countersign-place-${process.pid}`, resolve));
    const { port } = server.address() as { port: number };
    const line = `python3 -c '
import socket
for where in [("127.0.0.1", ${port}), "\\0countersign-place-${process.pid}"]:
  try:
    s = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET); s.connect(where); print("open")
  except OSError as e: print("refused")'; cut -d: -f1 /proc/net/dev | tail -n +3`;
    for (const confinement of [mayWrite, mayUseNetwork])
      expect((await inPlace('a', line, confinement)).stdout.replaceAll(' ', '')).toBe(
        'refused\nrefused\nlo\n',
      );
  });

  it('[RN-5] it gives no rights: neither the network nor the mounts of the place can be changed', async () => {
    const { stdout } = await inPlace(
      'a',
      'grep CapEff /proc/self/status; ip link set lo down 2>/dev/null && echo down; mount -t tmpfs x /tmp 2>/dev/null && echo mounted; ls /proc | grep -cE "^[0-9]+$"; ls /proc/self/fd | wc -l',
    );
    expect(stdout).toMatch(/^CapEff:\t0{16}\n\d\n4\n$/);
  });

  it('[RN-5] /tmp has a size for all commands together', async () => {
    lists.commands.temporaryBytes = 4 * MiB;
    await inPlace('a', 'head -c 3000000 /dev/zero > /tmp/first');
    const { stdout } = await inPlace(
      'a',
      'head -c 3000000 /dev/zero > /tmp/second; stat -c %s /tmp/first /tmp/second',
    );
    const [first, second] = stdout.split('\n').map(Number);
    expect([first, (second ?? 0) < 4 * MiB - 3_000_000 + 1]).toEqual([3_000_000, true]);
  });

  it('[VA-1] no folder on the way to the workspace or the home can be replaced by a link', async () => {
    // The workspace of this test lies below /tmp, as the private home does.
    expect(fixture.root.startsWith('/tmp/')).toBe(true);
    mkdirSync(join(fixture.home, 'target/workspace'), { recursive: true });
    const folders = fixture.root
      .split('/')
      .slice(2)
      .map((_, at, all) => `/tmp/${all.slice(0, at + 1).join('/')}`);
    const attacks = [...folders, '/tmp/home'].map(
      (path) =>
        `mv ${path} /tmp/moved 2>/dev/null && echo moved ${path}; rmdir ${path} 2>/dev/null && echo removed ${path}; ln -sfn ${fixture.home} ${path} 2>/dev/null; [ -L ${path} ] && echo linked ${path}`,
    );
    // `ln` into the workspace itself is allowed: it makes a link there.
    const { stdout } = await inPlace('a', `cd /; ${attacks.join('; ')}; rm -rf /tmp/* 2>/dev/null; true`);
    expect(stdout).toBe('');
    await inPlace('a', 'echo here > proof; echo mine > ~/proof');
    expect(readFileSync(join(fixture.root, 'proof'), 'utf8')).toBe('here\n');
    expect(readdirSync(fixture.home)).toEqual(['target']);
    expect(readdirSync(join(fixture.home, 'target/workspace'))).toEqual([]);
  });

  it('[VA-1] links in /tmp lead nowhere outside, and a name that is to be mounted there cannot be taken first', async () => {
    writeFileSync(join(fixture.home, 'secret'), 'SECRET');
    mkdirSync(join(fixture.parent, 'sdk'));
    writeFileSync(join(fixture.parent, 'sdk/tool'), 'tool');
    await inPlace('a', `ln -s ${fixture.home} /tmp/out; ln -s /proc/1/root /tmp/root`);
    expect((await inPlace('a', 'cat /tmp/out/secret /tmp/root/etc/shadow; true')).stdout).toBe('');
    // Listed while the conversation goes on: it is below the same guarded folder as the workspace.
    lists.readable.push(join(fixture.parent, 'sdk'));
    expect((await inPlace('a', `cat ${fixture.parent}/sdk/tool; ls /tmp`)).stdout).toContain('tool');
    // The place does not guard this folder, so the command gets its own /tmp instead.
    const other = `/tmp/countersign-other-${process.pid}`;
    mkdirSync(other);
    symlinkSync(other, join(fixture.home, 'other'));
    lists.readable.push(join(fixture.home, 'other'));
    await inPlace('b', 'true');
    expect((await inPlace('a', 'ls /tmp')).stdout).not.toContain('out');
    expect((await inPlace('b', `ls -d ${other}`)).stdout).toBe(`${other}\n`);
  });

  it('[AP-9] a command without network cannot use the network of another one', async () => {
    const requests: string[] = [];
    const http = createHttpServer((request, response) => {
      requests.push(request.url ?? '');
      response.end('reached');
    });
    closing.push(http as unknown as Server);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as { port: number };
    const own = new IsolationFixture({ killDelayMs: 300, reachablePorts: [port] });
    const start = async (line: string, confinement = mayWrite) => {
      const place = await own.starter.placeOf('a');
      return own.run('bash', ['-c', line], confinement, { place });
    };
    const url = `http://127.0.0.1:${port}/`;
    const place = await own.starter.placeOf('a');
    const request = { program: 'bash', cwd: '', stdin: 'pipe', confinement: mayUseNetwork, place } as const;
    const granted = own.starter.start({
      ...request,
      args: [
        '-c',
        `curl -sS --noproxy '' ${url}granted; echo; echo $http_proxy; read; curl -sS --noproxy '' ${url}later; echo; cat`,
      ],
    });
    let said = '';
    granted.stdout?.on('data', (chunk) => {
      said += chunk;
    });
    await expect.poll(() => said).toMatch(/^reached\nhttp:\/\/countersign:[0-9a-f]{48}@127\.0\.0\.1:\d+\n$/);
    const proxy = said.trim().split('\n')[1] ?? '';
    const bridge = new URL(proxy).port;

    const attack = [
      `curl -s -o /dev/null -w '%{http_code}\\n' --noproxy '' -x http://127.0.0.1:${bridge} ${url}attack`,
      `curl -s -o /dev/null -w '%{http_code}\\n' --noproxy '' -x http://countersign:${'0'.repeat(48)}@127.0.0.1:${bridge} ${url}attack`,
      `curl -s -o /dev/null -w '%{http_connect}\\n' --noproxy '' -p -x http://127.0.0.1:${bridge} ${url}attack`,
      // Ports that the operator opened have no listener on a shared loopback.
      `curl -s -o /dev/null -w '%{http_code}\\n' ${url}attack`,
      'ls /run/countersign 2>/dev/null',
      `cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c countersign:`,
      'grep -rl countersign: /tmp ~ 2>/dev/null',
    ];
    expect((await start(attack.join('; '))).stdout).toBe('407\n407\n407\n000\n0\n');
    // Another command with network has its own key, on its own bridge.
    const { stdout } = await start(
      `curl -sS --noproxy '' ${url}other; echo; echo $http_proxy`,
      mayUseNetwork,
    );
    expect(stdout).toMatch(/^reached\n/);
    expect(stdout).not.toContain(proxy);
    granted.stdin?.write('\n');
    await expect.poll(() => said).toMatch(/reached\n$/);
    // When its command has ended, a key is refused, whichever command sends it.
    await own.starter.stop(granted);
    const key = new URL(proxy).password;
    const replay = `curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x $(echo $http_proxy | sed s/:[0-9a-f]*@/:${key}@/) ${url}replay`;
    expect((await start(replay, mayUseNetwork)).stdout).toBe('407');
    expect(requests).toEqual(['/granted', '/other', '/later']);
    await own.remove();
  });

  it('[AP-9] git, npm, Node, pip and curl say their key', async () => {
    const paths: string[] = [];
    const http = createHttpServer((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(404).end('{}');
    });
    closing.push(http as unknown as Server);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as { port: number };
    const own = new IsolationFixture({ reachablePorts: [port] });
    const place = await own.starter.placeOf('a');
    const at = `http://127.0.0.1:${port}`;
    const lines = [
      'unset no_proxy NO_PROXY',
      `git ls-remote ${at}/git`,
      `npm view thing --registry=${at}/npm/ --fetch-retries=0`,
      `node -e 'fetch("${at}/node")'`,
      `pip download --no-deps --retries 0 -i ${at}/pip thing`,
      `curl -s ${at}/curl`,
      `wget -q -O- ${at}/wget`,
      `python3 -c 'import urllib.request; urllib.request.urlopen("${at}/python")'`,
    ];
    await own.run('bash', ['-c', lines.join('\n')], mayUseNetwork, { place });
    for (const path of [
      '/git/info/refs?service=git-upload-pack',
      '/npm/thing',
      '/node',
      '/pip/thing/',
      '/curl',
      '/python',
    ])
      expect(paths).toContain(path);
    await own.remove();
  });

  it('[RN-5] a conversation that has ended leaves nothing, and a new one of that name begins empty', async () => {
    await inPlace('a', 'echo x > /tmp/x');
    await fixture.starter.endConversation('a');
    expect((await inPlace('a', 'ls -A /tmp')).stdout).not.toMatch(/^x$/m);
  });

  it('[RN-5] only so many places are kept, those in use always', async () => {
    await inPlace('kept', 'echo x > /tmp/x');
    await job('kept', 'echo up; sleep 60');
    await inPlace('oldest', 'echo x > /tmp/x');
    for (let n = 0; n < 8; n += 1) await fixture.starter.placeOf(`s${n}`);
    expect((await inPlace('kept', 'ls /tmp/x')).stdout).toBe('/tmp/x\n');
    expect((await inPlace('oldest', 'ls -A /tmp')).stdout).not.toMatch(/^x$/m);
  });

  it('[RN-5] a runner that is killed leaves no process, no namespace and no file', async () => {
    const script = `
      import { IsolationFixture, mayWrite } from ${JSON.stringify(import.meta.resolve('./isolation-fixture.test-data.ts'))};
      const fixture = new IsolationFixture();
      const place = await fixture.starter.placeOf('a');
      const idle = await fixture.starter.placeOf('idle');
      const child = fixture.starter.start({ program: 'bash', args: ['-c', 'echo x > /tmp/x; readlink /proc/self/ns/net; setsid sleep 60 & sleep 60'], cwd: '', confinement: mayWrite, stdin: 'ignore', place });
      child.stdout.once('data', (data) => console.log(JSON.stringify({ net: String(data).trim(), stateFolder: fixture.workspace.stateFolder })));`;
    const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: fixture.parent },
      cwd: import.meta.dirname,
    });
    const line = await new Promise<string>((resolve) =>
      runner.stdout.once('data', (data) => resolve(String(data))),
    );
    const { net, stateFolder } = JSON.parse(line) as { net: string; stateFolder: string };
    const { ino } = statSync(`/proc/${runner.pid}/fd`); // throws if the runner has ended
    expect(ino).toBeGreaterThan(0);
    const holders = (): string[] =>
      readdirSync('/proc').filter((name) => {
        try {
          if (!/^\d+$/.test(name) || readlinkSync(`/proc/${name}/ns/net`) !== net) return false;
          return !/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'utf8'));
        } catch {
          return false;
        }
      });
    expect(holders().length).toBeGreaterThanOrEqual(3);
    runner.kill('SIGKILL');
    await expect.poll(holders).toEqual([]);
    expect(readdirSync(join(stateFolder, 'isolation/place'))).toEqual([]);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(stateFolder);
  });
});
