import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlannedKill } from './kill-steps.ts';
import type { RunnerNews, RunnerOrder } from './runner-program.ts';
import type { AddedToProcess } from './server-process.ts';

const program = fileURLToPath(new URL('./runner-program.ts', import.meta.url));

export interface RunnerSettings {
  readonly root: string;
  readonly home: string;
  /** The file outside the workspace in which every change of the workspace is recorded. */
  readonly changeLog: string;
  readonly serverUrl: string;
  readonly token: string;
  /** The user to run as; by default the user of the tests. */
  readonly uid?: number | undefined;
  readonly args?: readonly string[];
  /** Node options and environment that a test adds. */
  readonly added?: AddedToProcess | undefined;
}

/** `countersign connect --no-prompt --json` in its own process. It may be prepared ahead of use. */
export class RunnerProcess {
  readonly #child: ChildProcess;
  readonly #settings: RunnerSettings;
  readonly #ready: Promise<unknown>;
  readonly #events: Record<string, unknown>[] = [];
  #onEvent = () => {};
  /** Resolves with the signal or exit code that ended it. */
  readonly ended: Promise<string>;
  isRunning = true;
  /** Its standard error: the log. */
  log = '';

  constructor(settings: RunnerSettings) {
    const { home, changeLog, serverUrl, token, uid, added = {} } = settings;
    this.#settings = settings;
    const warnings = '--disable-warning=ExperimentalWarning';
    const node = [process.execPath, warnings, ...(added.node ?? []), program];
    const [command = '', ...args] = uid === undefined ? node : [...asUser(uid), ...node];
    this.#child = spawn(command, args, {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        PATH: process.env.PATH,
        HOME: home,
        LANG: 'C.UTF-8',
        COUNTERSIGN_URL: serverUrl,
        COUNTERSIGN_TOKEN: token,
        E2E_CHANGE_LOG: changeLog,
        E2E_COMPILE_CACHE: join(tmpdir(), `countersign-e2e-compile-cache-of-${uid ?? 'us'}`),
        ...added.env,
      },
    });
    let partial = '';
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (partial + text).split('\n');
      partial = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('{')) this.#events.push(JSON.parse(line));
      this.#onEvent();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
    });
    this.#ready = once(this.#child, 'message');
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => {
        this.isRunning = false;
        resolve(signal ?? String(code));
      });
    });
  }

  /** The JSON lines that it printed. */
  get said(): readonly Readonly<Record<string, unknown>>[] {
    return this.#events;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Resolves when its stream is open. Rejects when the process ends before that. */
  async connect(): Promise<void> {
    const { root, args = [] } = this.#settings;
    await this.start(['--no-prompt', '--json', '--log-level', 'info', ...args, root]);
    const isOpen = new Promise<void>((resolve) => {
      this.#onEvent = () => {
        if (this.#events.some(({ stream }) => stream === 'open')) resolve();
      };
      this.#onEvent();
    });
    const ended = this.ended.then((how) => Promise.reject(new Error(`It ended (${how}): ${this.log}`)));
    await Promise.race([isOpen, ended]);
  }

  /** Passes the arguments on and waits for nothing else. */
  async start(args: readonly string[]): Promise<void> {
    await Promise.race([this.#ready, this.ended]);
    this.#send({ connect: args });
  }

  /** Makes it kill itself at a step of the next call. Resolves when it has received the order. */
  async killAt(kill: PlannedKill): Promise<void> {
    await Promise.race([this.#ready, this.ended]);
    const armed = new Promise<void>((resolve) => {
      this.#child.on('message', (news: RunnerNews) => {
        if ('armed' in news) resolve();
      });
    });
    this.#send({ die: kill });
    await armed;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<string> {
    this.#child.kill(signal);
    return this.ended;
  }

  /** Stops the process (SIGSTOP), like a machine that sleeps. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  #send(order: RunnerOrder): void {
    this.#child.send(order, () => {});
  }
}

/** A command prefix that runs the command as that user, without further rights. */
export const asUser = (uid: number): string[] => [
  'setpriv',
  `--reuid=${uid}`,
  `--regid=${uid}`,
  '--clear-groups',
];
