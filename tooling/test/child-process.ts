/** Runs a program of the tool chain in the repository's root. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcess, spawn } from 'node:child_process';
import process, { kill, pid } from 'node:process';
import { repositoryRoot } from '../set-up.mjs';

export interface RunResult {
  /** 1 also when the program could not be started or was killed. */
  readonly exitCode: number;
  /** Both streams in order of arrival; empty when they were shown directly. */
  readonly output: string;
}

/** True while `inBackground` runs: output is held back until a program ends. */
const background = new AsyncLocalStorage<boolean>();

/** Runs `work` beside other work: the output of each of its programs is printed in one piece when it ends. */
export const inBackground = <T>(work: () => Promise<T>): Promise<T> => background.run(true, work);

export async function run(
  program: string,
  args: readonly string[],
  { capture = false } = {},
): Promise<RunResult> {
  const isInBackground = background.getStore() === true;
  const result = await start(program, args, capture || isInBackground);
  if (!capture && isInBackground) console.log(result.output);
  return result;
}

function start(program: string, args: readonly string[], capture: boolean): Promise<RunResult> {
  const child = spawn(program, args, { cwd: repositoryRoot, stdio: capture ? 'pipe' : 'inherit' });
  const release = endTogether(child);
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise<RunResult>((resolve) => {
    child.on('error', (error) => resolve({ exitCode: 1, output: error.message }));
    child.on('close', (code) =>
      resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString('utf8') }),
    );
  }).finally(release);
}

/** A signal that ends this process ends the program as well. Ctrl-C in a terminal reaches both. */
function endTogether(child: ChildProcess): () => void {
  const signals = ['SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals) => {
    release();
    child.kill(signal);
    kill(pid, signal);
  };
  const release = () => {
    for (const signal of signals) process.off(signal, end);
  };
  for (const signal of signals) process.on(signal, end);
  return release;
}
