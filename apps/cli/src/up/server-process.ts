import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Environment = Readonly<Record<string, string | undefined>>;

/** The server is a program of its own: nothing imports an app (docs/style.md). */
const serverProgram = fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url));

/** The server could not start. `code` is an error of the system, such as EADDRINUSE, or DATABASE_IN_USE. */
export class ServerNotStarted extends Error {
  override readonly name = 'ServerNotStarted';
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

/** Messages of the server over our private channel (apps/server/src/parent-process.ts). */
type News =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code?: string };

interface Asked {
  readonly resolve: (link: string) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One process of the server, on loopback. It is started ahead, so that it loads while we do, and told where to serve
 * once that is known. It ends when we do, however we end.
 */
export class ServerProcess {
  /** Why it ended: `SIGKILL`, or `exit code 2`. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #asked: Asked[] = [];
  #onListening: (news: News) => void = () => {};
  #address = '';
  #lastWords = '';

  constructor(env: Environment) {
    // A larger young generation saves nine garbage collections while loading.
    const nodeOptions = [...process.execArgv, '--max-semi-space-size=32'];
    this.#child = spawn(process.execPath, [...nodeOptions, serverProgram], {
      env: { COUNTERSIGN_LOG_LEVEL: 'warn', ...env, ...compileCache() },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    // Kill it if we exit at once (a second Ctrl-C). If we are killed, it notices by the channel.
    const kill = () => this.kill();
    process.once('exit', kill);
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    void this.ended.then((how) => {
      process.off('exit', kill);
      for (const { reject } of this.#asked.splice(0)) reject(new Error(`The server ended (${how}).`));
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-2_000);
    });
    this.#child.on('message', (news: News) => this.#hear(news));
  }

  /** Resolves when it listens. Everything it keeps is in the folder, for this person only. */
  async serve({ folder, port }: { readonly folder: string; readonly port: number }): Promise<this> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#child.stderr?.pipe(createWriteStream(join(folder, 'server.log'), { mode: 0o600 }));
    const database = join(folder, 'countersign.db');
    const options = ['--host', '127.0.0.1', '--port', String(port), '--database', database];
    const listens = new Promise<string>((resolve, reject) => {
      this.#onListening = (news) => {
        if ('listens' in news) resolve(news.listens);
        else if ('failed' in news) reject(new ServerNotStarted(news.failed, news.code));
      };
      void this.ended.then((how) => reject(new ServerNotStarted(this.epitaph(how), undefined)));
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
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#child.send({ ask: 'sign-in-link' }, (error) => error && reject(error));
    });
  }

  /** Stops gracefully: running requests may finish. May be called again. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send({ ask: 'stop' }, () => {});
    await this.ended;
  }

  /** Kills it at once. Everything acknowledged is in its database. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** How it ended, and what it said last. */
  epitaph(how: string): string {
    return [how, ...this.#lastWords.trimEnd().split('\n').slice(-5)].join('\n').trim();
  }

  #hear(news: News): void {
    if (!('link' in news)) {
      this.#onListening(news);
      return;
    }
    const asked = this.#asked.shift();
    if (news.link === null) asked?.reject(new Error('The server makes no sign-in links.'));
    else asked?.resolve(news.link);
  }
}

/** Uses the launcher's compile cache. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
