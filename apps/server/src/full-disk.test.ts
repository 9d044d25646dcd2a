/** A real disk that is full: a small file system in memory, which only the server and this test see. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signToken, testSecret } from './testing/test-server.ts';

const cannotMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0;
const diskBytes = 48 * 1024 * 1024;

let folder: string;
let server: ChildProcess;
let address: string;
let token: string;
const log: { level: number; msg: string }[] = [];

describe.skipIf(cannotMount)('[RE-4] a server on a full disk', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-full-disk-'));
    const program = fileURLToPath(new URL('./main.ts', import.meta.url));
    const mountAndServe = `mount -t tmpfs -o size=${diskBytes} none "$1" && shift && exec "$@"`;
    const node = [process.execPath, '--no-warnings', program];
    server = spawn('unshare', ['-rm', 'sh', '-c', mountAndServe, 'sh', folder, ...node], {
      env: {
        ...process.env,
        COUNTERSIGN_PORT: '0',
        COUNTERSIGN_DATABASE: join(folder, 'test.db'),
        COUNTERSIGN_AUTH_SECRET: testSecret,
        COUNTERSIGN_LOG_LEVEL: 'info',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    address = await new Promise((resolve, reject) => {
      let output = '';
      let rest = '';
      const read = (text: string) => {
        output += text;
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines.filter((written) => written.startsWith('{'))) {
          const entry = JSON.parse(line) as { level: number; msg: string; address?: string };
          log.push(entry);
          if (entry.address) resolve(entry.address);
        }
      };
      server.stdout?.setEncoding('utf8').on('data', read);
      server.stderr?.setEncoding('utf8').on('data', read);
      server.once('exit', (status) => reject(new Error(`It ended with ${status}: ${output}`)));
    });
    token = await signToken('ada', 'person');
  });
  afterAll(async () => {
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    rmSync(folder, { recursive: true });
  });

  const send = async (method: 'GET' | 'POST', path: string, body?: unknown) => {
    const answered = await fetch(address + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answered.text();
    return {
      status: answered.status,
      body: JSON.parse(text),
      retryAfter: answered.headers.get('retry-after'),
    };
  };
  /** The path of the filler file in the server's mount namespace. */
  const filler = () => join(`/proc/${server.pid}/root`, folder, 'filler');
  /** Fills the disk, but leaves this many bytes free. */
  const fillBut = (left: number) => {
    const { bavail, bsize } = statfsSync(dirname(filler()));
    writeFileSync(filler(), Buffer.alloc(bavail * bsize - left), { flag: 'a' });
  };
  /** Fills the disk to the last page. */
  const fill = () => {
    for (let bytes = diskBytes; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        while (true) writeFileSync(filler(), Buffer.alloc(bytes), { flag: 'a' });
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      }
    }
  };
  const free = () => truncateSync(filler(), 0);
  const execute = (sessionId: string, path: string, content: string) =>
    send('POST', '/my/tools/execute', {
      tool_name: 'write_file',
      tool_params: { path, content },
      session_id: sessionId,
    });
  const storageLines = () => log.flatMap(({ msg }) => (msg.startsWith('storage') ? [msg.split(':')[0]] : []));
  const errors = () => log.filter(({ level, msg }) => level >= 50 && !msg.startsWith('storage'));

  it('reports it, is not ready, keeps what it acknowledged, and continues when there is room', async () => {
    const project = await send('POST', '/my/projects', { name: 'Greetings', workspace: '/workspace' });
    const projectId = project.body.project?.project_id ?? project.body.project_id;
    const session = await send('POST', `/my/projects/${projectId}/sessions`, { title: '' });
    const sessionId = session.body.session?.session_id ?? session.body.session_id;
    const before = await execute(sessionId, 'before.md', 'x');
    expect(before.body).toMatchObject({ success: true, status: 'awaiting_approval' });
    expect((await send('GET', '/readyz')).status).toBe(200);

    fill();
    const large = 'x'.repeat(900_000);
    const refused = await execute(sessionId, 'large.md', large);
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '5',
      body: { success: false, code: 'STORAGE_FULL', error: expect.stringMatching(/Free space on the disk/) },
    });
    for (let time = 0; time < 5; time += 1)
      expect((await execute(sessionId, `large-${time}.md`, large)).body.code).toBe('STORAGE_FULL');
    expect(await send('GET', '/readyz')).toMatchObject({ status: 503, body: { code: 'STORAGE_FULL' } });
    expect((await send('GET', '/healthz')).status).toBe(200);
    // Reading still works.
    const pending = await send('GET', '/my/approvals');
    expect(pending.body.approvals).toMatchObject([{ approval_id: before.body.approval_id }]);

    free();
    await expect.poll(async () => (await send('GET', '/readyz')).status).toBe(200);
    const after = await execute(sessionId, 'after.md', large);
    expect(after.body).toMatchObject({ success: true, status: 'awaiting_approval' });
    const listed = await send('GET', '/my/approvals');
    expect(listed.body.approvals).toMatchObject([
      { approval_id: before.body.approval_id },
      { approval_id: after.body.approval_id },
    ]);
    await expect.poll(storageLines).toEqual(['storage full', 'storage has room again']);
    expect(errors()).toEqual([]);
  });

  it('notices by itself that there is room again, without any request', async () => {
    fill();
    const sessions = await send('GET', '/my/approvals');
    expect(sessions.status).toBe(200);
    await expect
      .poll(async () => {
        const answered = await send('POST', '/my/projects', { name: 'x'.repeat(100), workspace: '/other' });
        return answered.body.code;
      })
      .toBe('STORAGE_FULL');
    free();
    await expect
      .poll(storageLines)
      .toEqual([
        ...['storage full', 'storage has room again'],
        ...['storage full', 'storage has room again'],
      ]);
    expect(errors()).toEqual([]);
  });

  it('[PF-2] survives a log that cannot be carried over into the database, and loses nothing', async () => {
    const project = await send('POST', '/my/projects', { name: 'Long log', workspace: '/long' });
    const projectId = project.body.project?.project_id ?? project.body.project_id;
    // Leaves room for the log, but not for a database that grows by as much.
    fillBut(6 * 1024 * 1024);
    const acknowledged: string[] = [];
    for (let code = 'none', place = 0; code !== 'STORAGE_FULL' && place < 200; place += 1) {
      const session = await send('POST', `/my/projects/${projectId}/sessions`, { title: '' });
      const sessionId = session.body.session?.session_id ?? session.body.session_id;
      const asked = sessionId ? await execute(sessionId, `${place}.md`, 'x'.repeat(60_000)) : session;
      code = asked.body.code ?? 'none';
      if (asked.status === 200) acknowledged.push(asked.body.approval_id);
    }
    expect(await send('GET', '/readyz')).toMatchObject({ status: 503, body: { code: 'STORAGE_FULL' } });
    free();
    await expect.poll(async () => (await send('GET', '/readyz')).status).toBe(200);
    const { approvals } = (await send('GET', '/my/approvals')).body;
    const kept = approvals.map(({ approval_id }: { approval_id: string }) => approval_id);
    expect(kept).toEqual(expect.arrayContaining(acknowledged));
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(errors()).toEqual([]);
  });
});
