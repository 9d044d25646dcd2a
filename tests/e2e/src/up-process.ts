import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until } from '../../lab/src/waiting.ts';

export const launcher = fileURLToPath(new URL('../../../apps/cli/bin/countersign.mjs', import.meta.url));

/** The command in this checkout. */
const ownCommand: readonly string[] = [process.execPath, launcher];

export interface ReadyLine {
  readonly address: string;
  readonly sign_in_link: string;
  readonly workspace: string;
  readonly project_id: string;
  readonly first_message: string | null;
  readonly pid: number;
  readonly ready_ms: number;
  readonly already_running?: boolean;
}

export interface PipedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves with the signal or exit code that ended it. */
  readonly ended: Promise<string>;
}

/** A person's machine: a home folder, a built web page, and the programs they start. */
export class Machine {
  readonly home = mkdtempSync(join(tmpdir(), 'countersign-up-'));
  readonly #started: UpProcess[] = [];
  readonly #piped: ChildProcess[] = [];
  readonly env: Record<string, string>;
  readonly #command: readonly string[];

  constructor(env: Record<string, string> = {}, command: readonly string[] = ownCommand) {
    this.#command = command;
    const page = join(this.home, 'page');
    mkdirSync(page);
    writeFileSync(join(page, 'index.html'), '<!doctype html><title>Countersign</title>');
    this.env = {
      HOME: this.home,
      PATH: process.env.PATH ?? '',
      LANG: 'en',
      COUNTERSIGN_WEB_FOLDER: page,
      ...env,
    };
  }

  folder(name: string, files: Readonly<Record<string, string>> = {}): string {
    const path = join(this.home, name);
    mkdirSync(path);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
    return path;
  }

  up(...args: string[]): UpProcess {
    return this.run('up', ...args);
  }

  run(...args: string[]): UpProcess {
    const started = new UpProcess([...this.#command, ...args], this.env);
    this.#started.push(started);
    return started;
  }

  /** A process that talks over its standard input and output. */
  piped(...args: string[]): PipedProcess {
    const child = spawn(process.execPath, [launcher, ...args], {
      env: this.env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise<string>((resolve) => {
      child.once('close', (code, signal) => resolve(signal ?? String(code)));
    });
    this.#piped.push(child);
    return { stdin: child.stdin, stdout: child.stdout, ended };
  }

  async close(): Promise<void> {
    for (const child of this.#piped) child.kill('SIGKILL');
    await Promise.all(this.#started.map((started) => started.kill('SIGKILL')));
    // Processes that are ending may still write their last lines.
    rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** One `countersign …` process. */
export class UpProcess {
  readonly #child: ChildProcess;
  /** Resolves with the signal or exit code that ended it. */
  readonly ended: Promise<string>;
  out = '';
  errors = '';

  constructor([program = '', ...args]: readonly string[], env: Record<string, string>) {
    this.#child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(signal ?? String(code)));
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** The JSON line that `--json` prints. */
  async ready(): Promise<ReadyLine> {
    await this.says(/^\{.*\}\n/); // on stdout; everything else goes to stderr
    return JSON.parse(this.out) as ReadyLine;
  }

  async says(words: RegExp): Promise<RegExpExecArray> {
    let found: RegExpExecArray | null = null;
    let how: string | undefined;
    void this.ended.then((ended) => {
      how = ended;
    });
    await until(
      () => {
        found = words.exec(this.out + this.errors);
        return found !== null || how !== undefined;
      },
      { otherwise: () => `Nobody said ${words}: ${this.out}${this.errors}` },
    );
    found ??= words.exec(this.out + this.errors);
    if (found === null) throw new Error(`It ended (${how}) without ${words}: ${this.out}${this.errors}`);
    return found;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(signal: NodeJS.Signals): Promise<string> {
    this.signal(signal);
    return this.ended;
  }

  /** The process id of the server, found by its command line. */
  get server(): number {
    const found = processesBelow(this.pid).find(({ command }) => command.includes('apps/server/src/main.ts'));
    if (!found) throw new Error('There is no server');
    return found.pid;
  }
}

interface FoundProcess {
  readonly pid: number;
  readonly command: string;
}

/** All descendants of a process that run now. */
export function processesBelow(ancestor: number): FoundProcess[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const status = read(`/proc/${pid}/status`);
    parents.set(pid, Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const descends = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === ancestor || (parent !== undefined && parent > 1 && descends(parent));
  };
  return [...parents.keys()]
    .filter(descends)
    .map((pid) => ({ pid, command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }));
}

export const isAlive = (pid: number): boolean => /^State:\s+[^ZX\s]/m.test(read(`/proc/${pid}/status`));

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended meanwhile
  }
};
