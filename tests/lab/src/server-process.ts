import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServeNews, ServeOrder } from './server-program.ts';

const program = fileURLToPath(new URL('./server-program.ts', import.meta.url));
export const secret = 'a secret for tests only, long enough';

export interface ServerSettings {
  readonly port: number;
  readonly database: string;
  readonly modelUrl?: string | undefined;
  /** The API key by which the model knows which server asks. */
  readonly modelKey?: string | undefined;
  /** The fault point at which it kills itself, such as `approve.committed:1`. */
  readonly killAt?: string | undefined;
  /** Its public address, if that is not its own. */
  readonly publicOrigin?: string | undefined;
  /** A secret that differs from the other servers'. */
  readonly authSecret?: string | undefined;
  /** How long `POST /my/tools/execute` waits for a result; by default a moment, which a busy machine may exceed. */
  readonly executeWaitMs?: number | undefined;
}

/** Node options and environment that a test adds to a program. */
export interface AddedToProcess {
  /** Options for Node, such as `--import` of a module to load first. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The real server in its own process. It may be prepared ahead of use. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<unknown>;
  /** Resolves with the signal or exit code that ended it. */
  readonly ended: Promise<string>;
  isRunning = true;
  /** Its log: errors only. */
  log = '';

  constructor({ node = [], env = {} }: AddedToProcess = {}) {
    this.#child = fork(program, {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: ['--max-semi-space-size=64', ...node], // loading creates much garbage
      env: {
        PATH: process.env.PATH,
        E2E_COMPILE_CACHE: join(tmpdir(), 'countersign-e2e-compile-cache'),
        ...env,
      },
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
    });
    this.#ready = once(this.#child, 'message');
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.isRunning = false;
        resolve(signal ?? String(code));
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when it listens, or when it ended before that. */
  async serve(settings: ServerSettings): Promise<void> {
    await Promise.race([this.#ready, this.ended]);
    const listens = new Promise<void>((resolve, reject) => {
      this.#child.on('message', (news: ServeNews) => {
        if ('said' in news && news.said.includes('listens on')) resolve();
        if ('failed' in news) reject(new Error(`The server did not start: ${news.failed}`));
      });
    });
    this.#child.send(orderFor(settings), () => {});
    await Promise.race([listens, this.ended]);
  }

  /** Stops the process (SIGSTOP), like a suspended machine; `resume` continues it. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.ended;
  }

  /** Sends a message to the code that a test added to the program. */
  tell(message: Readonly<Record<string, unknown>>): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}

function orderFor({
  port,
  database,
  modelUrl,
  modelKey,
  killAt,
  publicOrigin,
  authSecret = secret,
  executeWaitMs,
}: ServerSettings): ServeOrder {
  return {
    argv: ['--port', String(port), '--database', database],
    env: {
      HOME: tmpdir(),
      COUNTERSIGN_AUTH_SECRET: authSecret,
      ...(publicOrigin !== undefined && { COUNTERSIGN_PUBLIC_ORIGINS: publicOrigin }),
      COUNTERSIGN_LOG_LEVEL: 'error',
      COUNTERSIGN_REQUESTS_PER_SECOND: '100000',
      ...(executeWaitMs !== undefined && { COUNTERSIGN_EXECUTE_WAIT_MS: String(executeWaitMs) }),
      ...(modelUrl !== undefined && {
        COUNTERSIGN_MODEL: 'openai-compatible:scripted',
        COUNTERSIGN_MODEL_URL: modelUrl,
      }),
      ...(modelKey !== undefined && { COUNTERSIGN_MODEL_KEY: modelKey }),
      ...(killAt !== undefined && { COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: killAt }),
    },
  };
}

const firstPort = 10_000;
/** Above this the system assigns ports to outgoing connections, so a server that is down could lose its port. */
const lastPort = 32_000;
let nextPort = firstPort + ((process.pid * 61) % (lastPort - firstPort));

/** A free port that no other test process and no outgoing connection takes while a server of ours is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = port + 1 < lastPort ? port + 1 : firstPort;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
