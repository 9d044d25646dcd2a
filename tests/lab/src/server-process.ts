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
  /** By which the model knows who asks. */
  readonly modelKey?: string | undefined;
  /** Where it kills itself, such as `approve.committed:1`. */
  readonly killAt?: string | undefined;
  /** Where people reach it, when that is not its own address. */
  readonly publicOrigin?: string | undefined;
  /** Another than that of the other servers. */
  readonly authSecret?: string | undefined;
}

/** What a test adds to the program from outside. */
export interface AddedToProcess {
  /** Options of Node, such as `--import` of a module that is loaded first. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A process of the real server. It may be prepared before it is needed. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<unknown>;
  /** Resolves with the signal, or the code, that ended it. */
  readonly ended: Promise<string>;
  isRunning = true;
  /** What it logged: errors only. */
  log = '';

  constructor({ node = [], env = {} }: AddedToProcess = {}) {
    this.#child = fork(program, {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: ['--max-semi-space-size=64', ...node], // loading makes much garbage
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

  /** Resolves when it listens, or has ended before it could. */
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

  /** It stands still, as on a machine that was suspended; `resume` lets it go on. */
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

  /** For what a test added to the program. */
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
}: ServerSettings): ServeOrder {
  return {
    argv: ['--port', String(port), '--database', database],
    env: {
      HOME: tmpdir(),
      COUNTERSIGN_AUTH_SECRET: authSecret,
      ...(publicOrigin !== undefined && { COUNTERSIGN_PUBLIC_ORIGINS: publicOrigin }),
      COUNTERSIGN_LOG_LEVEL: 'error',
      COUNTERSIGN_REQUESTS_PER_SECOND: '100000',
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
/** From here on the system gives ports to whoever connects or does not care: one that is down could lose its own. */
const lastPort = 32_000;
let nextPort = firstPort + ((process.pid * 61) % (lastPort - firstPort));

/** A port that is free, and that nobody else takes while a server of ours is down: not we, and no other test process. */
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
