import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ChildOptions {
  /** Passed to the program when it starts. */
  readonly input?: unknown;
  /** File for its standard error, for a program that writes much there. */
  readonly log?: string;
  /** Further flags for Node. */
  readonly flags?: readonly string[];
}

/** A program of the bench in its own process, which ends when this process ends. */
export class Child {
  /** What the program announced when it was ready, such as its address. */
  readonly ready: unknown;
  readonly #process: ChildProcess;
  #stopping = false;

  private constructor(child: ChildProcess, ready: unknown) {
    this.#process = child;
    this.ready = ready;
    // If it ended early, requests to it would wait for ever; its standard error says why it ended.
    child.once('exit', () => this.#stopping || process.exit(1));
  }

  static async start(program: URL, { input = null, log, flags = [] }: ChildOptions = {}): Promise<Child> {
    const path = fileURLToPath(program);
    const child = fork(path, [JSON.stringify(input)], {
      execArgv: [...flags, ...profileFlags(basename(path))],
      stdio: ['ignore', 'ignore', log === undefined ? 'inherit' : openSync(log, 'a'), 'ipc'],
    });
    return new Child(child, await nextMessage(child));
  }

  /** Asks the program to run one of its commands; resolves with the result. */
  async ask<Answer>(what: string, input: unknown = null): Promise<Answer> {
    this.#process.send({ what, input });
    return (await nextMessage(this.#process)) as Answer;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#stopping = true;
    const ended = once(this.#process, 'exit');
    this.#process.disconnect();
    await ended;
  }
}

/** `BENCH_PROFILE=folder` writes a CPU profile of each thread to a subfolder for each program. */
function profileFlags(name: string): string[] {
  const folder = process.env.BENCH_PROFILE;
  if (folder === undefined) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${folder}/${name}`];
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController();
  try {
    return await Promise.race([
      once(child, 'message', { signal: heard.signal }).then(([message]) => message),
      once(child, 'exit', { signal: heard.signal }).then(([status]) => {
        throw new Error(`${child.spawnargs.at(-2)} ended with ${status}`);
      }),
    ]);
  } finally {
    heard.abort();
  }
}
