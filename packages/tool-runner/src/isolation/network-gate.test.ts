import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cannotIsolate, IsolationFixture, mayUseNetwork, mayWrite } from './isolation-fixture.test-data.ts';
import { isOwnMachine, NetworkGate } from './network-gate.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function server(): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const http: Server = createHttpServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.end('answer'));
  });
  await new Promise<void>((resolve) => http.listen(0, '0.0.0.0', resolve));
  cleanUps.push(() => new Promise((resolve) => http.close(resolve)));
  return { port: (http.address() as { port: number }).port, requests };
}

function fixtureFor(options: ConstructorParameters<typeof IsolationFixture>[0] = {}): IsolationFixture {
  const fixture = new IsolationFixture({ killDelayMs: 300, ...options });
  cleanUps.push(() => fixture.remove());
  return fixture;
}

const fetchBy = (url: string): string => `python3 - <<'END'
import urllib.request, urllib.error, os
proxy = os.environ["http_proxy"]
os.environ["no_proxy"] = ""
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
try: print(opener.open("${url}", timeout=5).read().decode())
except urllib.error.HTTPError as e: print(e.code, e.read().decode())
except Exception as e: print("failed", e)
END`;

describe.skipIf(cannotIsolate)('network of a command in isolation', () => {
  it('[AP-9] does not lead to this machine, by any of its addresses', async () => {
    const { port, requests } = await server();
    const fixture = fixtureFor();
    const own = Object.values(networkInterfaces())
      .flat()
      .flatMap((found) => (found?.family === 'IPv4' ? [found.address] : []));
    const hosts = [
      ...new Set([
        '127.0.0.1',
        'localhost',
        '127.1',
        '0.0.0.0',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '2130706433',
        ...own,
      ]),
    ];
    const lines = hosts.flatMap((host) => [
      fetchBy(`http://${host}:${port}/secret`),
      fetchBy(`https://${host}:${port}/secret`),
    ]);
    const { stdout } = await fixture.bash(lines.join('\n'), mayUseNetwork);
    expect(stdout).not.toContain('answer');
    expect(stdout.match(/403|Forbidden|Refused|failed/g)?.length).toBeGreaterThanOrEqual(2 * hosts.length);
    expect(requests).toEqual([]);
  });

  it('[AP-9] there is none beside the gate, also with network granted', async () => {
    const { port, requests } = await server();
    const fixture = fixtureFor();
    const line = `cat /proc/net/dev | tail -n +3 | cut -d: -f1; exec 3<>/dev/tcp/127.0.0.1/${port} && echo open`;
    expect((await fixture.bash(line, mayUseNetwork)).stdout.trim()).toBe('lo');
    expect((await fixture.bash(`ls /run/countersign; ${line}`, mayWrite)).stdout.trim()).toBe('lo');
    expect(requests).toEqual([]);
  });

  it('[RN-5] leads out through the gate: forwarded requests and tunnels', async () => {
    const { port, requests } = await server();
    const fixture = fixtureFor({ reachablePorts: [port] });
    const get = `python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:${port}/direct").read().decode())'`;
    const node = `node -e 'fetch("http://127.0.0.1:${port}/node", {method: "POST", body: "x".repeat(100000)}).then((r) => r.text()).then(console.log)'`;
    const { stdout, stderr } = await fixture.bash(
      `${get}; ${node}; ${fetchBy(`http://localhost:${port}/forwarded?a=b`)}`,
      mayUseNetwork,
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'answer\nanswer\nanswer\n', stderr: '' });
    expect(requests).toEqual(['GET /direct', 'POST /node', 'GET /forwarded?a=b']);
  });

  it('[AP-9] does not lead to our server, wherever that is', async () => {
    const { port, requests } = await server();
    const fixture = fixtureFor({ reachablePorts: [port], refusedHosts: [`localhost:${port}`] });
    const hosts = ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]'];
    const lines = [fetchBy(`http://127.0.0.1:${port}/`), fetchBy(`https://localhost:${port}/`)];
    const spelled = hosts.map((host) => fetchBy(`http://${host}:${port}/`));
    const { stdout } = await fixture.bash([...lines, ...spelled].join('\n'), mayUseNetwork);
    expect(stdout).toMatch(
      /^403 Countersign: 127.0.0.1:\d+ cannot be reached by commands in isolation\n\nfailed .*403/,
    );
    expect(requests).toEqual([]);
  });

  it('[RN-5] reports when nothing listens at the host', async () => {
    const { port } = await server();
    await cleanUps.pop()?.();
    const fixture = fixtureFor({ reachablePorts: [port] });
    const lines = [
      fetchBy(`http://127.0.0.1:${port}/`),
      fetchBy(`https://127.0.0.1:${port}/`),
      fetchBy('http://no-such-host.invalid/'),
      fetchBy('ftp://x/'),
    ];
    const { stdout } = await fixture.bash(lines.join('\n'), mayUseNetwork);
    expect(stdout).toMatch(
      /^502 Countersign: .*ECONNREFUSED.*\n\nfailed .*502.*\n502 Countersign: .*no-such-host/,
    );
  });

  it('[RN-5] the command keeps its input, exit code and signals', async () => {
    const fixture = fixtureFor({ killDelayMs: 60_000 });
    expect(await fixture.bash('cat; echo out; echo err >&2; exit 7', mayUseNetwork)).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 7,
    });
    expect((await fixture.bash('kill -9 $$', mayUseNetwork)).exitCode).toBe(137);
    const child = fixture.starter.start({
      program: 'bash',
      args: ['-c', 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.01; done'],
      cwd: '',
      confinement: mayUseNetwork,
      stdin: 'ignore',
    });
    let out = '';
    child.stdout?.on('data', (chunk) => {
      out += chunk;
    });
    await expect.poll(() => out).toBe('up\n');
    await fixture.starter.stop(child);
    expect({ out, code: child.exitCode }).toEqual({ out: 'up\nbye\n', code: 3 });
  });

  it('tunnels both ways, and closes with the command', async () => {
    const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket));
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => new Promise((resolve) => echo.close(resolve)));
    const { port } = echo.address() as { port: number };
    const fixture = fixtureFor({ reachablePorts: [port] });
    const line = `exec 3<>/dev/tcp/127.0.0.1/${port}; echo there >&3; head -1 <&3; sleep 60 & disown`;
    expect((await fixture.bash(line, mayUseNetwork)).stdout).toBe('there\n');
    await expect
      .poll(() => new Promise((resolve) => echo.getConnections((_, count) => resolve(count))))
      .toBe(0);
  });
});

describe('NetworkGate', () => {
  /** A server that answers every client with these bytes, then closes. */
  async function saying(text: string): Promise<number> {
    const rude = createServer((socket) =>
      socket.on('error', () => {}).once('data', () => socket.end(Buffer.from(text, 'latin1'))),
    );
    await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => new Promise((resolve) => rude.close(resolve)));
    return (rude.address() as { port: number }).port;
  }

  async function gateTo(port: number, connections?: number): Promise<NetworkGate> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-gate-'));
    const gate = new NetworkGate(folder, { reachablePorts: [port] }, connections);
    cleanUps.push(async () => {
      await gate.close();
      rmSync(folder, { recursive: true });
    });
    await expect.poll(() => existsSync(gate.path)).toBe(true);
    return gate;
  }

  /** What comes back on one connection until it closes. */
  function say(gate: NetworkGate, text: string): Promise<string> {
    return new Promise((resolve) => {
      let back = '';
      const socket = connect(gate.path, () => socket.write(text));
      socket.on('data', (chunk) => {
        back += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(back));
    });
  }

  const authorization = (key: string): string =>
    `proxy-authorization: Basic ${Buffer.from(`countersign:${key}`).toString('base64')}\r\n`;
  const request = (gate: NetworkGate, port: number, more = ''): string =>
    `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n${authorization(gate.admit(true).key)}${more}\r\n`;

  it.each([
    ['a status that HTTP does not know', 'HTTP/1.1 099 Hm\r\ncontent-length: 0\r\n\r\n', /^HTTP\/1.1 502 /],
    [
      'a switch that nobody asked for',
      'HTTP/1.1 101 Hm\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      /^HTTP\/1.1 502 /,
    ],
    ['no HTTP at all', '\0\xff nonsense\r\n\r\n', /^HTTP\/1.1 502 /],
    ['nothing', '', /^HTTP\/1.1 502 /],
    ['half a reply', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf', /^HTTP\/1.1 200 OK.*half$/s],
    ['odd headers', 'HTTP/1.1 200 OK\r\nx: \xe9\r\ncontent-length: 0\r\n\r\n', /^HTTP\/1.1 200 OK/],
  ])('[RN-5] keeps working when a web server replies %s', async (_, reply, expected) => {
    const port = await saying(reply);
    const gate = await gateTo(port);
    expect(await say(gate, request(gate, port, 'connection: close\r\n'))).toMatch(expected);
    expect(await say(gate, request(gate, 1, 'connection: close\r\n'))).toMatch(/^HTTP\/1.1 403 /);
  });

  it('[AP-9] refuses connections without the key of a running command', async () => {
    const { port, requests } = await server();
    const gate = await gateTo(port);
    const pass = gate.admit(true);
    const other = gate.admit(true);
    const asks = (login: string): string[] => [
      `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n${login}connection: close\r\n\r\n`,
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n${login}\r\n`,
    ];
    const basic = (text: string): string =>
      `proxy-authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
    const wrong = [
      '',
      authorization(''),
      authorization(pass.key.slice(1)),
      basic(`other:${pass.key}`),
      `proxy-authorization: Bearer ${pass.key}\r\n`,
      `authorization: Basic ${Buffer.from(`countersign:${pass.key}`).toString('base64')}\r\n`,
    ];
    for (const ask of wrong.flatMap(asks))
      expect(await say(gate, ask)).toMatch(/^HTTP\/1.1 407 .*proxy-authenticate: Basic/is);
    expect(requests).toEqual([]);
    expect(await say(gate, asks(authorization(pass.key))[0] ?? '')).toMatch(/answer/);
    pass.end();
    for (const ask of asks(authorization(pass.key))) expect(await say(gate, ask)).toMatch(/^HTTP\/1.1 407 /);
    expect(await say(gate, asks(authorization(other.key))[0] ?? '')).toMatch(/answer/);
    expect(requests).toEqual(['GET /', 'GET /']);
  });

  /** What comes back for a request by this command; `tunnel` asks for CONNECT. */
  const ask = (gate: NetworkGate, key: string, target: string, more = ''): Promise<string> =>
    say(gate, `${target} HTTP/1.1\r\n${authorization(key)}${more || 'host: x\r\n'}connection: close\r\n\r\n`);

  it('[RN-5] lets a command through to the hosts of its card only, by any spelling, and remembers the others', async () => {
    const { port, requests } = await server();
    const gate = await gateTo(port);
    const pass = gate.admit(['named.invalid', 'port.invalid:8443', 'xn--e1afmkfd.invalid']);
    // An allowed name is looked up, and .invalid does not exist, so the status is 502. A refused name gets 403 before
    // that.
    const status = async (target: string) => (await ask(gate, pass.key, target)).slice(9, 12);
    for (const target of [
      'GET http://named.invalid/',
      'GET http://NAMED.Invalid./',
      'CONNECT named.invalid:443',
      'CONNECT NAMED.INVALID.:443',
      'GET http://port.invalid:8443/',
      'CONNECT xn--e1afmkfd.invalid:443',
    ])
      expect([target, await status(target)]).toEqual([target, '502']);
    for (const target of [
      'GET http://other.invalid/',
      'CONNECT named.invalid.evil.invalid:443',
      'CONNECT sub.named.invalid:443',
      'CONNECT named.invalid:22',
      'CONNECT port.invalid:443',
      'GET http://named.invalid@other.invalid/',
      'CONNECT 192.0.2.7:443',
    ])
      expect([target, await status(target)]).toEqual([target, '403']);
    expect(await ask(gate, pass.key, 'CONNECT other.invalid:8443')).toContain(
      'other.invalid:8443 is not among the hosts that this command may reach; call again with network: ["other.invalid:8443"]',
    );
    expect(pass.refused).toEqual([
      'other.invalid',
      'named.invalid.evil.invalid',
      'sub.named.invalid',
      'named.invalid:22',
      'port.invalid',
      '192.0.2.7',
      'other.invalid:8443',
    ]);
    const none = gate.admit([]);
    expect((await ask(gate, none.key, 'CONNECT named.invalid:443')).slice(9, 12)).toBe('403');
    expect(requests).toEqual([]);
  });

  it('[AP-9] a name that was shown does not lead to this machine', async () => {
    const { port, requests } = await server();
    const gate = await gateTo(1);
    const names = [hostname(), 'ip6-localhost', 'localhost.localdomain'];
    const pass = gate.admit(names.map((name) => `${name.toLowerCase()}:${port}`));
    for (const name of names)
      for (const target of [`GET http://${name}:${port}/`, `CONNECT ${name}:${port}`])
        expect(await ask(gate, pass.key, target)).toMatch(/^HTTP\/1.1 (403|502) /);
    expect(requests).toEqual([]);
  });

  it('[RN-5] sends the name of the URL to the server, whatever Host header the command wrote', async () => {
    const hosts: unknown[] = [];
    const http = createHttpServer((request, response) => {
      hosts.push(request.headers.host, request.headers['proxy-authorization']);
      response.end('answer');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => new Promise((resolve) => http.close(resolve)));
    const { port } = http.address() as { port: number };
    const gate = await gateTo(port);
    const { key } = gate.admit([]); // a port of this machine that the person opened needs no name
    expect(await ask(gate, key, `GET http://localhost:${port}/`, 'host: evil.example\r\n')).toMatch(/answer/);
    expect(hosts).toEqual([`localhost:${port}`, undefined]);
  });

  it('[RN-5] bounds the connections of a listener of ours, too', async () => {
    const gate = await gateTo(1, 1);
    const listener = createServer((socket) => gate.accept(socket));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => new Promise((resolve) => listener.close(resolve)));
    const { port } = listener.address() as { port: number };
    const join = () =>
      new Promise<Socket>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket)).on('error', () => {});
      });
    const held = [await join(), await join()];
    const refused = await join();
    await new Promise((resolve) => refused.once('close', resolve).resume());
    expect(held.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    for (const socket of held) socket.destroy();
    const answer = async (): Promise<string> => {
      const socket = await join();
      socket.write('CONNECT a.invalid:443 HTTP/1.1\r\n\r\n');
      return new Promise((resolve) => {
        socket.once('data', (data) => resolve(data.toString()));
        socket.once('close', () => resolve(''));
      });
    };
    await expect.poll(answer).toMatch(/^HTTP\/1.1 407 /);
  });

  it('[RN-5] limits connections, and handles one request of each at a time', async () => {
    const { port } = await server();
    const gate = await gateTo(port, 3);
    const held = Array.from({ length: 3 }, () => connect(gate.path).on('error', () => {}));
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    expect(await say(gate, request(gate, port))).toBe('');
    const [first, ...rest] = held;
    first?.write(request(gate, port));
    await new Promise((resolve) => first?.once('data', resolve));
    for (const socket of [first, ...rest]) socket?.destroy();
    await expect.poll(() => say(gate, request(gate, port, 'connection: close\r\n'))).toMatch(/answer/);
    expect(await say(gate, request(gate, port).repeat(50))).toBe('');
  });
});

describe('isOwnMachine', () => {
  it.each([
    '127.0.0.1',
    '127.255.0.3',
    '0.0.0.0',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'fe80::1%eth0',
    '169.254.169.254',
    'localhost',
    '',
  ])('[AP-9] holds for %s', (address) => {
    expect(isOwnMachine(address)).toBe(true);
  });
  it.each(['192.0.2.7', '2001:db8::7', '::ffff:192.0.2.7', '128.0.0.1'])(
    'does not hold for %s',
    (address) => {
      expect(isOwnMachine(address)).toBe(false);
    },
  );
});
