import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { CountersignError } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { Planted } from '../isolation/executing-place-guard.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { KeptOutput, OutputProgress } from './command-output.ts';

export interface RunOptions extends Pick<CallContext, 'signal' | 'onProgress' | 'onProcess'> {
  readonly timeoutSeconds: number;
  /** Of each stream. */
  readonly outputBytes: number;
}

/** How a command ended. Its own exit code, also one that means failure, is an answer. */
export interface Ending {
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
  readonly seconds: number;
  readonly status: { readonly exitCode: number } | { readonly signal: string } | 'timeout';
}

/** After the last process has ended its pipes close; only one that escaped without isolation can hold them open. */
const pipesCloseMs = 1_000;

/**
 * Runs one program until nothing of it is left, or until its time is over. Throws ExecutionCancelled when the signal
 * aborts while it runs, and what ProcessStarter throws.
 */
export async function runToEnd(
  starter: IsolatingStarter,
  request: ProcessRequest,
  { timeoutSeconds, outputBytes, signal, onProgress, onProcess }: RunOptions,
): Promise<Ending> {
  if (signal.aborted) throw new ExecutionCancelled();
  const startedAt = performance.now();
  const child = starter.start(request);
  const stdout = new KeptOutput(outputBytes);
  const stderr = new KeptOutput(outputBytes);
  const progress = new OutputProgress(onProgress);
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout.push(chunk);
    progress.push('stdout', chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    progress.push('stderr', chunk);
  });

  let stopped: 'timeout' | 'cancelled' | undefined;
  const stop = (why: 'timeout' | 'cancelled'): void =>
    stopUnlessEnded(starter, child, () => {
      stopped ??= why;
    });
  const timer = setTimeout(() => stop('timeout'), timeoutSeconds * 1_000);
  onProcess?.({ process: child, timeout: timer });
  const cancel = (): void => stop('cancelled');
  signal.addEventListener('abort', cancel, { once: true });
  try {
    await ended(starter, child, request.program);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    progress.end();
  }
  if (stopped === 'cancelled') throw new ExecutionCancelled();
  if (!starter.hasRun(child))
    throw new CountersignError('SPAWN_FAILED', { program: request.program, problem: stderr.text().trim() });

  for (const line of notes(starter, child)) stderr.push(Buffer.from(line));
  return {
    stdout: stdout.text(),
    stderr: stderr.text(),
    isCut: stdout.isCut || stderr.isCut,
    seconds: (performance.now() - startedAt) / 1_000,
    status: stopped === 'timeout' ? 'timeout' : statusOf(child),
  };
}

/**
 * Stops a program from outside, and tells so first; one that has ended by itself is left to what it has done. A runner
 * that was suspended or busy hears of time-outs and cancels before it hears of an exit that was earlier: so it listens
 * once more before it believes that the program runs. (The first immediate may still belong to what was heard before.)
 */
export function stopUnlessEnded(starter: IsolatingStarter, child: ChildProcess, onStop: () => void): void {
  const look = (): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    onStop();
    void starter.stop(child);
  };
  setImmediate(() => setImmediate(look));
}

/** Until no process is left, and all that was printed has arrived. Nothing is left over of one that never started. */
export async function ended(starter: IsolatingStarter, child: ChildProcess, program: string): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const cause = await new Promise<Error | undefined>((resolve) => {
    child.once('exit', () => resolve(undefined));
    child.once('error', resolve);
  });
  await starter.stop(child);
  if (cause) throw new CountersignError('SPAWN_FAILED', { program, problem: cause.message }, { cause });
  const patience = new AbortController();
  await Promise.race([closed, wait(pipesCloseMs, undefined, { signal: patience.signal }).catch(() => {})]);
  patience.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/** What the agent must know besides the program's own words. */
export const notes = (starter: IsolatingStarter, child: ChildProcess): string[] =>
  plantedNotes(starter.planted(child)).map((note) => `\n[Countersign: ${note}]\n`);

/** What somebody must know of what an ended program had planted (VA-3). */
export function plantedNotes({ setAside, problem }: Planted): string[] {
  return [
    ...setAside.map(({ path }) => `"${path}" would execute later; it was set aside (VA-3)`),
    ...(problem === undefined
      ? []
      : [`something that executes later may be left in the workspace: ${problem}`]),
  ];
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** bubblewrap passes a signal on as 128 and its number, as shells do. */
export function statusOf({ exitCode, signalCode }: ChildProcess): { exitCode: number } | { signal: string } {
  if (exitCode === null) return { signal: signalCode ?? 'unknown' };
  const name = exitCode > 128 ? signalNames.get(exitCode - 128) : undefined;
  return name === undefined ? { exitCode } : { signal: name };
}
