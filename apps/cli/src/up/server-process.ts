import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Environment = Readonly<Record<string, string | undefined>>;

/** The server is a program of its own: nothing imports an app (STYLE.md). */
const serverProgram = fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url));

export interface ServerSettings {
  /** Where it keeps its database, its secret and its log; for this person only. */
  readonly folder: string;
  readonly port: number;
  readonly env: Environment;
  /** What the page suggests to say first. */
  readonly firstMessage?: string | undefined;
}

/** It could not start; `code` is the system's, such as EADDRINUSE. */
export class ServerNotStarted extends Error {
  override readonly name = 'ServerNotStarted';
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

/** What it says over the channel that only it and we have (apps/server/src/parent-process.ts). */
type News =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code?: string };

/** One process of the server, on loopback. It ends when we do, however we end. */
export class ServerProcess {
  readonly address: string;
  /** In words, for a person: `SIGKILL`, or `exit code 2`. */
  readonly ended: Promise<string>;
  readonly logPath: string;
  readonly #child: ChildProcess;
  readonly #asked: { readonly resolve: (link: string) => void; readonly reject: (error: Error) => void }[] =
    [];

  private constructor(started: Started, address: string) {
    this.#child = started.child;
    this.ended = started.ended;
    this.logPath = started.logPath;
    this.address = address;
    this.#child.on('message', (news: News) => {
      if (!('link' in news)) return;
      const asked = this.#asked.shift();
      if (news.link === null) asked?.reject(new Error('The server makes no sign-in links.'));
      else asked?.resolve(news.link);
    });
    void this.ended.then((how) => {
      for (const { reject } of this.#asked.splice(0)) reject(new Error(`The server ended (${how}).`));
    });
  }

  /** Resolves when it listens. */
  static async start(settings: ServerSettings): Promise<ServerProcess> {
    const started = spawnServer(settings);
    return new ServerProcess(started, await listening(started));
  }

  /** A fresh one: good once, for 60 s. */
  signInLink(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#child.send({ ask: 'sign-in-link' }, (error) => error && reject(error));
    });
  }

  /** Gracefully: requests that run may finish. Harmless twice, and once it has ended. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send({ ask: 'stop' }, () => {});
    await this.ended;
  }

  /** At once; what it had promised is in its database. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
  readonly logPath: string;
}

function spawnServer({ folder, port, env, firstMessage }: ServerSettings): Started {
  const database = join(folder, 'countersign.db');
  const logPath = join(folder, 'server.log');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const log = openSync(logPath, 'w', 0o600);
  const options = ['--host', '127.0.0.1', '--port', String(port), '--database', database];
  // Loading makes much garbage: with a larger young space it is collected once instead of ten times.
  const nodeOptions = [...process.execArgv, '--max-semi-space-size=32'];
  const child = spawn(process.execPath, [...nodeOptions, serverProgram, ...options], {
    env: {
      COUNTERSIGN_LOG_LEVEL: 'warn',
      ...env,
      ...compileCache(),
      ...(firstMessage !== undefined && { COUNTERSIGN_FIRST_MESSAGE: firstMessage }),
    },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  // Should we end at once (a second Ctrl-C), nothing is left; should we be killed, it notices by the channel.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return { child, ended, logPath };
}

/** Parsed code is kept between starts, where the launcher keeps ours. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = process.getBuiltinModule('node:module').getCompileCacheDir?.();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

function listening({ child, ended, logPath }: Started): Promise<string> {
  return new Promise((resolve, reject) => {
    child.on('message', (news: News) => {
      if ('listens' in news) resolve(news.listens);
      else if ('failed' in news) reject(new ServerNotStarted(news.failed, news.code));
    });
    void ended.then((how) => reject(new ServerNotStarted(`${how}\n${endOfLog(logPath)}`.trim(), undefined)));
  });
}

/** The last lines, which say why. */
export function endOfLog(logPath: string): string {
  try {
    return readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
  } catch {
    return '';
  }
}
