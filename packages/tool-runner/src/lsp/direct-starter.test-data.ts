import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ProcessRequest, ProcessStarter } from '../isolation/isolated-process.ts';

/** Starts programs without isolation and writes down what was asked; for tests of what runs on top of it. */
export class DirectStarter implements ProcessStarter {
  readonly requests: ProcessRequest[] = [];
  readonly children: ChildProcess[] = [];
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  start(request: ProcessRequest): ChildProcess {
    this.requests.push(request);
    const child = spawn(request.program, request.args, {
      cwd: join(this.#root, request.cwd),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.children.push(child);
    return child;
  }

  async stop(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  /** How many of those it started still run. */
  get running(): number {
    return this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .length;
  }
}
