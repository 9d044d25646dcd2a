import { chmodSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { get, request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackgroundJobs, type JobPort } from '../commands/background-jobs.ts';
import {
  cannotIsolate,
  IsolationFixture,
  mayUseNetwork,
  mayWrite,
} from '../isolation/isolation-fixture.test-data.ts';
import { doorName, RunnerDoor } from './runner-door.ts';

describe.skipIf(cannotIsolate)('the ports of background jobs', () => {
  let fixture: IsolationFixture;
  let jobs: BackgroundJobs;
  let door: RunnerDoor;
  const socketPath = (): string => join(fixture.workspace.stateFolder, doorName);
  beforeEach(async () => {
    fixture = new IsolationFixture({ killDelayMs: 300 });
    chmodSync(fixture.workspace.stateFolder, 0o700); // as the journal makes it
    jobs = new BackgroundJobs(fixture.starter, 1024 * 1024);
    door = new RunnerDoor({
      stateFolder: fixture.workspace.stateFolder,
      ports: () => jobs.ports(),
      placeOf: (session) => fixture.starter.findPlace(session),
    });
    await expect.poll(() => existsSync(socketPath())).toBe(true);
  });
  afterEach(async () => {
    await jobs.endAll();
    await door.close();
    await fixture.remove();
  });

  async function start(session: string, line: string, confinement = mayWrite): Promise<string> {
    const place = await fixture.starter.placeOf(session);
    const request = {
      program: 'bash',
      args: ['-c', line],
      cwd: '',
      stdin: 'ignore',
      confinement,
      place,
    } as const;
    return jobs.start(session, request);
  }
  const listed = (): Promise<readonly JobPort[]> =>
    new Promise((resolve, reject) => {
      get({ socketPath: socketPath(), path: '/ports' }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve((JSON.parse(text) as { ports: JobPort[] }).ports));
      }).on('error', reject);
    });
  /** What is said on a connection to `JOB:PORT`, or the status of a refusal. */
  const say = (path: string, text: string): Promise<string | number | undefined> =>
    new Promise((resolve, reject) => {
      request({ socketPath: socketPath(), method: 'CONNECT', path })
        .on('connect', (response, socket: Socket) => {
          if (response.statusCode !== 200) return resolve(response.statusCode);
          let back = '';
          socket.setEncoding('utf8').on('data', (chunk) => {
            back += chunk;
          });
          socket.on('close', () => resolve(back));
          socket.end(text);
        })
        .on('response', ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end();
    });
  const greeter = (host: string, port: number): string => `exec python3 -c '
import socket
s = socket.create_server(("${host}", ${port}), family=socket.AF_INET6 if ":" in "${host}" else socket.AF_INET)
while True:
  c, _ = s.accept(); c.sendall(b"hello first, "); data = b""
  while True:
    part = c.recv(1000)
    if not part: break
    data += part
  c.sendall(data.upper()); c.close()'`;

  it('[RN-5] are those on which their processes listen, not those of others, nor the bridge to the gate', async () => {
    const one = await start('a', `${greeter('127.0.0.1', 3000)}`, mayUseNetwork);
    const two = await start('a', `sleep 60 & ${greeter('::1', 4000)}`);
    await start('b', 'sleep 60');
    await expect
      .poll(async () =>
        (await listed()).map(({ port, job_id, session_id }) => ({ port, job_id, session_id })),
      )
      .toEqual([
        { port: 4000, job_id: two, session_id: 'a' },
        { port: 3000, job_id: one, session_id: 'a' },
      ]);
    expect(jobs.look('a', one).ports).toEqual([3000]);
    await jobs.end('a', one);
    expect(jobs.look('a', one).ports).toEqual([]);
  });

  it('[RN-5] can be reached from outside, byte for byte, also on ::1 and by many at once', async () => {
    const four = await start('a', greeter('127.0.0.1', 3000));
    const six = await start('b', greeter('::1', 3000));
    await expect.poll(async () => (await listed()).length).toBe(2);
    const texts = Array.from({ length: 20 }, (_, n) => `text ${n} `.repeat(10_000));
    const said = await Promise.all(texts.map((text, n) => say(`${n % 2 ? four : six}:3000`, text)));
    expect(said).toEqual(texts.map((text) => `hello first, ${text.toUpperCase()}`));
  });

  it('[AP-9] no other port is reached, and no other job', async () => {
    const job = await start('a', greeter('127.0.0.1', 3000));
    await expect.poll(async () => (await listed()).length).toBe(1);
    for (const path of [`${job}:22`, 'job_x:3000', `${job}`, `${job}:3000:1`, '127.0.0.1:3000'])
      expect(await say(path, '')).toBe(404);
    await jobs.end('a', job);
    expect(await say(`${job}:3000`, '')).toBe(404);
  });

  it('[AP-9] only the person gets there: the folder is theirs, and no command sees it', async () => {
    expect(statSync(fixture.workspace.stateFolder).mode & 0o077).toBe(0);
    const { stdout } = await fixture.bash(`ls ${fixture.workspace.stateFolder} 2>&1 | head -1`, mayWrite);
    expect(stdout).toContain('No such file');
  });

  it('[RN-5] what leads there ends with the conversation', async () => {
    const job = await start('a', greeter('127.0.0.1', 3000));
    await expect.poll(async () => (await listed()).length).toBe(1);
    expect(await say(`${job}:3000`, 'x')).toBe('hello first, X');
    const { pid } = process;
    const net = readlinkSync('/proc/self/ns/net');
    const elsewhere = (): string[] =>
      readdirSync('/proc').filter((name) => {
        try {
          return (
            readlinkSync(`/proc/${name}/ns/net`) !== net &&
            readFileSync(`/proc/${name}/stat`, 'latin1').includes(` ${pid} `)
          );
        } catch {
          return false;
        }
      });
    expect(elsewhere().length).toBeGreaterThan(0);
    await jobs.endSession('a');
    await fixture.starter.endConversation('a');
    await expect.poll(elsewhere).toEqual([]);
  });
});
