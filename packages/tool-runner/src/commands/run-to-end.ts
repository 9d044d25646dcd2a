import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { CountersignError } from '@countersign/protocol';
import type { Progress } from '../executor.ts';
import type { Planted } from '../isolation/executing-place-guard.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { KeptOutput } from './kept-output.ts';
import { OutputProgress } from './output-progress.ts';

export interface RunOptions {
  readonly timeoutSeconds: number;
  /** Of each stream. */
  readonly outputBytes: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
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
 * aborts, and what ProcessStarter throws.
 */
export async function runToEnd(
  starter: IsolatingStarter,
  request: ProcessRequest,
  { timeoutSeconds, outputBytes, signal, onProgress }: RunOptions,
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

  let isTimeout = false;
  const timer = setTimeout(() => {
    // Timers come first when a runner was suspended or busy: what ended meanwhile has ended in time.
    setImmediate(() => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      isTimeout = true;
      void starter.stop(child);
    });
  }, timeoutSeconds * 1_000);
  const cancel = (): void => void starter.stop(child);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    await ended(starter, child, request.program);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    progress.end();
  }
  if (signal.aborted) throw new ExecutionCancelled();
  if (!starter.hasRun(child))
    throw new CountersignError('SPAWN_FAILED', { program: request.program, problem: stderr.text().trim() });

  for (const line of notes(starter, child)) stderr.push(Buffer.from(line));
  return {
    stdout: stdout.text(),
    stderr: stderr.text(),
    isCut: stdout.isCut || stderr.isCut,
    seconds: (performance.now() - startedAt) / 1_000,
    status: isTimeout ? 'timeout' : statusOf(child),
  };
}

/** Until no process is left, and all that was printed has arrived. */
export async function ended(starter: IsolatingStarter, child: ChildProcess, program: string): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve());
    child.once('error', (cause) =>
      reject(new CountersignError('SPAWN_FAILED', { program, problem: cause.message }, { cause })),
    );
  });
  await starter.stop(child);
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
