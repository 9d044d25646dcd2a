import type { ChildProcess } from 'node:child_process';
import { CountersignError } from '@countersign/protocol';
import { notes, stopInTime } from '../commands/run-to-end.ts';
import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { GitProgressLines } from './git-phases.ts';

export interface GitRun extends GitStreams {
  /** Git by default. */
  readonly program?: string;
  readonly args: readonly string[];
  readonly confinement: Confinement;
  readonly environment: Readonly<Record<string, string>>;
}

/** What is done with the streams of one git, and how long it may take. */
export interface GitStreams {
  readonly input?: Uint8Array;
  /** Limit of standard output; git is stopped when it prints more. */
  readonly maxBytes: number;
  /** Gets standard output as it comes. Nothing is kept of it then, and there is no limit. */
  readonly onStdout?: (chunk: Buffer) => void;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal | undefined;
  readonly onStderr?: ((chunk: string) => void) | undefined;
  /** Takes git's progress lines out of its standard error. */
  readonly progress?: GitProgressLines | undefined;
  readonly onProcess?: CallContext['onProcess'];
}

export interface GitAnswer {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  /** True if there was more than `maxBytes`. */
  readonly cut: boolean;
  /** Only the last part, if there was much. */
  readonly stderr: string;
}

const MAX_STDERR = 64 * 1024;

/**
 * Runs git once and collects its output. Any exit code is a normal result; throws COMMAND_TIMEOUT, ExecutionCancelled
 * and what the starter throws. When the promise settles, no process of git is left. Files that its hooks planted have
 * been set aside, and `stderr` names them.
 */
export async function runGit(starter: IsolatingStarter, run: GitRun): Promise<GitAnswer> {
  if (run.signal?.aborted) throw new ExecutionCancelled();
  const child = starter.start({
    program: run.program ?? 'git',
    args: run.args,
    cwd: '.',
    confinement: run.confinement,
    environment: run.environment,
    stdin: run.input ? 'pipe' : 'ignore',
  });

  return collectGit(child, run, {
    stop: (process) => starter.stop(process),
    async untilEnd() {
      // Wait for `close`, not `exit`, to have all of the output: half of it would be a wrong result.
      const cause = await new Promise<Error | undefined>((resolve) => {
        child.once('close', () => resolve(undefined));
        child.once('error', resolve);
      });
      await starter.stop(child);
      return cause;
    },
    notes: (stderr) => notes(starter, child, stderr),
  });
}

/** How a started git is followed: in isolation or outside of it. */
export interface GitEnding {
  stop(child: ChildProcess): Promise<void>;
  /** Resolves when it has ended and all of its output has arrived; with an error if it did not start. */
  untilEnd(): Promise<Error | undefined>;
  /** Added to its standard error. */
  notes(stderr: string): readonly string[];
}

/** Collects the output of a git that was started. Throws COMMAND_TIMEOUT, ExecutionCancelled and SPAWN_FAILED. */
export async function collectGit(
  child: ChildProcess,
  run: GitStreams,
  ending: GitEnding,
): Promise<GitAnswer> {
  const stdout: Buffer[] = [];
  let size = 0;
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    if (run.onStdout) {
      run.onStdout(chunk);
      return;
    }
    const room = run.maxBytes - size;
    if (room > 0) stdout.push(chunk.subarray(0, room));
    size += chunk.length;
    if (size > run.maxBytes) void ending.stop(child);
  });
  const say = (text: string): void => {
    if (text === '') return;
    stderr = (stderr + text).slice(-MAX_STDERR);
    run.onStderr?.(text);
  };
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (chunk: string) => say(run.progress ? run.progress.push(chunk) : chunk));
  // git may end without reading all of its input; its exit code tells more than a broken pipe.
  child.stdin?.on('error', () => {});
  child.stdin?.end(run.input);

  const untilEnd = async (): Promise<void> => {
    const cause = await ending.untilEnd();
    if (cause)
      throw new CountersignError('SPAWN_FAILED', { program: 'git', problem: cause.message }, { cause });
    say(run.progress?.end() ?? '');
    for (const note of ending.notes(stderr)) say(note);
  };
  const { timeoutSeconds, signal, onProcess } = run;
  const isTimeOver = await stopInTime(ending, child, { timeoutSeconds, signal, onProcess }, untilEnd);
  // The agent cannot choose the timeout of a git call, so both values are the same.
  if (isTimeOver)
    throw new CountersignError('COMMAND_TIMEOUT', { timeout: timeoutSeconds, limit: timeoutSeconds });
  return { exitCode: child.exitCode, stdout: Buffer.concat(stdout), cut: size > run.maxBytes, stderr };
}
