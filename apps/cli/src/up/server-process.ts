import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../command-context.ts';

/** Started as a process, because no package may import an app (docs/style.md). */
const serverProgram = fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url));

/** The server could not start. `code` is DATABASE_IN_USE or a system error such as EADDRINUSE. */
export class ServerNotStarted extends Error {
  override readonly name = 'ServerNotStarted';
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

interface Served {
  readonly folder: string;
  readonly port: number;
  /** Where the person's rules are kept (RK-5). */
  readonly policyFile: string;
}

/** Messages that the server sends over the IPC channel (apps/server/src/parent-process.ts). */
type ServerMessage =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code?: string };

/**
 * A server process on loopback. The constructor starts it, so that it loads while we load; `serve` tells it where to
 * listen. It ends when this process ends, however that happens.
 */
export class ServerProcess {
  /** Resolves with how the process ended: `SIGKILL`, or `exit code 2`. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** Requests for sign-in links that the server has not answered yet, oldest first. */
  readonly #linkRequests: PromiseWithResolvers<string>[] = [];
  #onListening: (message: ServerMessage) => void = () => {};
  #address = '';
  /** The end of its standard error. */
  #lastOutput = '';

  constructor(env: Environment) {
    // A larger young generation avoids garbage collections while loading, for a quicker start.
    const nodeOptions = [...process.execArgv, '--max-semi-space-size=32'];
    this.#child = spawn(process.execPath, [...nodeOptions, serverProgram], {
      env: { COUNTERSIGN_LOG_LEVEL: 'warn', ...env, ...compileCache() },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    // Kills the server if we exit at once (second Ctrl-C). If we are killed, it sees the IPC channel close.
    const kill = () => this.kill();
    process.once('exit', kill);
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    void this.ended.then((how) => {
      process.off('exit', kill);
      for (const { reject } of this.#linkRequests.splice(0)) reject(new Error(`The server ended (${how}).`));
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastOutput = (this.#lastOutput + text).slice(-2_000);
    });
    this.#child.on('message', (message: ServerMessage) => this.#receive(message));
  }

  /** Resolves when the server listens. It stores everything in the folder, which only this person can read. */
  async serve({ folder, port, policyFile }: Served): Promise<this> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#child.stderr?.pipe(createWriteStream(join(folder, 'server.log'), { mode: 0o600 }));
    const database = join(folder, 'countersign.db');
    const options = ['--host', '127.0.0.1', '--port', String(port), '--database', database];
    options.push('--policy-file', policyFile);
    const listens = new Promise<string>((resolve, reject) => {
      this.#onListening = (message) => {
        if ('listens' in message) resolve(message.listens);
        else if ('failed' in message) reject(new ServerNotStarted(message.failed, message.code));
      };
      void this.ended.then((how) => reject(new ServerNotStarted(this.describeEnd(how), undefined)));
    });
    this.#child.send({ ask: 'serve', options }, () => {});
    this.#address = await listens;
    return this;
  }

  get address(): string {
    return this.#address;
  }

  /** A fresh link that works once, within 60 s. */
  signInLink(): Promise<string> {
    const request = Promise.withResolvers<string>();
    this.#linkRequests.push(request);
    this.#child.send({ ask: 'sign-in-link' }, (error) => error && request.reject(error));
    return request.promise;
  }

  /** Stops gracefully: running requests may finish. Calling it twice is harmless. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send({ ask: 'stop' }, () => {});
    await this.ended;
  }

  /** Loses nothing: everything that the server acknowledged is in its database. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** How the server ended, with its last lines of output. */
  describeEnd(how: string): string {
    return [how, ...this.#lastOutput.trimEnd().split('\n').slice(-5)].join('\n').trim();
  }

  #receive(message: ServerMessage): void {
    if (!('link' in message)) {
      this.#onListening(message);
      return;
    }
    const request = this.#linkRequests.shift();
    if (message.link === null) request?.reject(new Error('The server makes no sign-in links.'));
    else request?.resolve(message.link);
  }
}

/** Uses the launcher's compile cache. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
