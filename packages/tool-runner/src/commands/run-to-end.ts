import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { CountersignError } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { Planted } from '../isolation/executing-place-guard.ts';
import type { ProcessRequest, ProcessStarter } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { EndedAfterChanges, ExecutionCancelled } from '../runner-errors.ts';
import { KeptOutput, OutputProgress } from './command-output.ts';
import { explainMissingPrograms } from './missing-programs.ts';
import { noNetworkNote, refusedNotes } from './network-notes.ts';
import { SecretFilter } from './secret-filter.ts';

export interface RunOptions extends Pick<CallContext, 'signal' | 'onProgress' | 'onProcess'> {
  readonly timeoutSeconds: number;
  /** Maximum size of the output that is kept of each stream. */
  readonly outputBytes: number;
}

interface StopOptions {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal | undefined;
  readonly onProcess: CallContext['onProcess'];
}

/** How a command ended. Every exit code is a normal result, even if it means failure. */
export interface Ending {
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
  readonly seconds: number;
  readonly status: { readonly exitCode: number } | { readonly signal: string } | 'timeout';
}

/** Maximum wait for the output pipes to close. Without isolation, a process that escaped may keep them open. */
const pipesCloseMs = 1_000;

/**
 * Runs a program until all its processes have ended, and stops it after the timeout. Throws ExecutionCancelled if the
 * signal aborts, EndedAfterChanges if the program has printed something by then, and what ProcessStarter throws.
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
  const secrets = starter.networkUse(child)?.secrets;
  const endOfOutput = [
    follow(child.stdout, secrets, (chunk) => {
      stdout.push(chunk);
      progress.push('stdout', chunk);
    }),
    follow(child.stderr, secrets, (chunk) => {
      stderr.push(chunk);
      progress.push('stderr', chunk);
    }),
  ];

  const untilEnd = () => waitForEnd(starter, child, request.program);
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const hasTimedOut = await stopInTime(starter, child, { timeoutSeconds, signal, onProcess }, untilEnd)
    .finally(() => {
      for (const end of endOfOutput) end();
      progress.end();
    })
    .catch((error: unknown) => {
      // What the person saw while it ran must be there afterwards.
      if (!(error instanceof ExecutionCancelled) || (stdout.text() === '' && stderr.text() === ''))
        throw error;
      const isCut = stdout.isCut || stderr.isCut;
      const printed = {
        stdout: stdout.text(),
        stderr: stderr.text(),
        ...(isCut && { truncated: true as const }),
      };
      throw new EndedAfterChanges(error, {
        ...printed,
        exit_code: null,
        execution_time: Math.round(seconds() * 1_000) / 1_000,
      });
    });
  if (!starter.hasRun(child))
    throw new CountersignError('SPAWN_FAILED', { program: request.program, problem: stderr.text().trim() });

  for (const line of notes(starter, child, stderr.text())) stderr.push(Buffer.from(line));
  if (request.confinement.network === false && starter.isIsolated && child.exitCode !== 0) {
    const note = noNetworkNote(`${stdout.text()}\n${stderr.text()}`);
    if (note !== undefined) stderr.push(Buffer.from(asNote(note)));
  }
  return {
    stdout: stdout.text(),
    stderr: stderr.text(),
    isCut: stdout.isCut || stderr.isCut,
    seconds: seconds(),
    status: hasTimedOut ? 'timeout' : statusOf(child),
  };
}

/** How often we look whether a command still waits for a decision. */
const shortestWaitMs = 250;

/**
 * Waits for `untilEnd`, and stops the program after the timeout or if the signal aborts. Returns whether it timed out.
 * Throws ExecutionCancelled, and what `untilEnd` throws.
 */
export async function stopInTime(
  starter: Pick<ProcessStarter, 'stop'> & Partial<Pick<IsolatingStarter, 'networkUse'>>,
  child: ChildProcess,
  { timeoutSeconds, signal, onProcess }: StopOptions,
  untilEnd: () => Promise<void>,
): Promise<boolean> {
  let stopped: 'timeout' | 'cancelled' | undefined;
  const stop = (why: 'timeout' | 'cancelled'): void =>
    stopUnlessEnded(starter, child, () => {
      stopped ??= why;
    });
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    timer = setTimeout(look, ms);
    onProcess?.({ process: child, timeout: timer });
  };
  // While the person decides about a host, the command's time does not pass.
  const look = (): void => {
    const heldMs = starter.networkUse?.(child)?.heldMs ?? 0;
    const left = timeoutSeconds * 1_000 + heldMs - (performance.now() - startedAt);
    if (heldMs > 0 && left > 0) wait(Math.max(left, shortestWaitMs));
    else stop('timeout');
  };
  wait(timeoutSeconds * 1_000);
  const cancel = (): void => stop('cancelled');
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    await untilEnd();
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
  if (stopped === 'cancelled') throw new ExecutionCancelled();
  return stopped === 'timeout';
}

/**
 * Calls `onStop` and stops a program, unless the program has ended by itself. After the runner was suspended or busy, Node
 * may run timers before it reports an earlier exit. So this waits for one more turn of the event loop first. The first
 * immediate may still belong to the current turn, hence two.
 */
function stopUnlessEnded(
  starter: Pick<ProcessStarter, 'stop'>,
  child: ChildProcess,
  onStop: () => void,
): void {
  const look = (): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    onStop();
    void starter.stop(child);
  };
  setImmediate(() => setImmediate(look));
}

/** Waits until all processes have ended and all output has arrived. Throws SPAWN_FAILED if the program did not start. */
export async function waitForEnd(
  starter: IsolatingStarter,
  child: ChildProcess,
  program: string,
): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const cause = await new Promise<Error | undefined>((resolve) => {
    child.once('exit', () => resolve(undefined));
    child.once('error', resolve);
  });
  await starter.stop(child);
  if (cause) throw new CountersignError('SPAWN_FAILED', { program, problem: cause.message }, { cause });
  const isClosed = new AbortController();
  await Promise.race([closed, wait(pipesCloseMs, undefined, { signal: isClosed.signal }).catch(() => {})]);
  isClosed.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/** Returns notes for the agent, which are added to the program's standard error. */
export const notes = (starter: IsolatingStarter, child: ChildProcess, stderr: string): string[] =>
  [
    ...plantedNotes(starter.planted(child)),
    ...explainMissingPrograms(starter, stderr),
    ...refusedNotes(starter.networkUse(child)),
  ].map(asNote);

const asNote = (note: string): string => `\n[Countersign: ${note}]\n`;

/** Passes a stream's output on without the command's secrets. Call what it returns when nothing follows. */
export function follow(
  stream: Readable | null,
  secrets: readonly string[] | undefined,
  onOutput: (chunk: Buffer) => void,
): () => void {
  const filter = new SecretFilter(secrets);
  const passOn = (chunk: Buffer): void => {
    if (chunk.length > 0) onOutput(chunk);
  };
  stream?.on('data', (chunk: Buffer) => passOn(filter.push(chunk)));
  return () => passOn(filter.end());
}

/** Returns one sentence for each place that an ended program had planted (VA-3). */
export function plantedNotes({ setAside, problem }: Planted): string[] {
  return [
    ...setAside.map(({ path }) => `"${path}" would execute later; it was set aside (VA-3)`),
    ...(problem === undefined
      ? []
      : [`something that executes later may be left in the workspace: ${problem}`]),
  ];
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Like a shell, bubblewrap reports a signal as exit code 128 plus the signal's number. */
export function statusOf({ exitCode, signalCode }: ChildProcess): { exitCode: number } | { signal: string } {
  if (exitCode === null) return { signal: signalCode ?? 'unknown' };
  const name = exitCode > 128 ? signalNames.get(exitCode - 128) : undefined;
  return name === undefined ? { exitCode } : { signal: name };
}
