import { CountersignError } from '@countersign/protocol';
import { notes, stopInTime } from '../commands/run-to-end.ts';
import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { GitProgressLines } from './git-phases.ts';

export interface GitRun {
  readonly args: readonly string[];
  readonly confinement: Confinement;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
  /** Limit of standard output; git is stopped when it prints more. */
  readonly maxBytes: number;
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
    program: 'git',
    args: run.args,
    cwd: '.',
    confinement: run.confinement,
    environment: run.environment,
    stdin: run.input ? 'pipe' : 'ignore',
  });

  const stdout: Buffer[] = [];
  let size = 0;
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const room = run.maxBytes - size;
    if (room > 0) stdout.push(chunk.subarray(0, room));
    size += chunk.length;
    if (size > run.maxBytes) void starter.stop(child);
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
    // Wait for `close`, not `exit`, to have all of the output: half of it would be a wrong result.
    const cause = await new Promise<Error | undefined>((resolve) => {
      child.once('close', () => resolve(undefined));
      child.once('error', resolve);
    });
    await starter.stop(child);
    if (cause)
      throw new CountersignError('SPAWN_FAILED', { program: 'git', problem: cause.message }, { cause });
    say(run.progress?.end() ?? '');
    for (const note of notes(starter, child, stderr)) say(note);
  };
  const { timeoutSeconds, signal, onProcess } = run;
  const isTimeOver = await stopInTime(starter, child, { timeoutSeconds, signal, onProcess }, untilEnd);
  // The agent cannot choose the timeout of a git call, so both values are the same.
  if (isTimeOver)
    throw new CountersignError('COMMAND_TIMEOUT', { timeout: timeoutSeconds, limit: timeoutSeconds });
  return { exitCode: child.exitCode, stdout: Buffer.concat(stdout), cut: size > run.maxBytes, stderr };
}
