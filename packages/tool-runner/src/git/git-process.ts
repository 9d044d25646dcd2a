import { CountersignError } from '@countersign/protocol';
import { notes, stopUnlessEnded } from '../commands/run-to-end.ts';
import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { GitProgressLines } from './git-phases.ts';

interface GitRun {
  readonly args: readonly string[];
  readonly confinement: Confinement;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
  /** Of standard output; git is stopped when it says more. */
  readonly maxBytes: number;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal | undefined;
  readonly onStderr?: ((chunk: string) => void) | undefined;
  /** Takes git's progress lines out of its standard error. */
  readonly progress?: GitProgressLines | undefined;
  readonly onProcess?: CallContext['onProcess'];
}

export interface GitAnswer {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  /** True when there was more than `maxBytes`. */
  readonly cut: boolean;
  /** Its last part, where there was much. */
  readonly stderr: string;
}

const MAX_STDERR = 64 * 1024;

/**
 * Runs git once and collects what it says. Any exit code is an answer; thrown are COMMAND_TIMEOUT, ExecutionCancelled
 * and what the starter throws. Nothing of git is left when the promise settles, and what its hooks have planted has been
 * set aside, which standard error says.
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
  let stopped: 'timeout' | 'cancelled' | undefined;
  const stop = (why: 'timeout' | 'cancelled'): void =>
    stopUnlessEnded(starter, child, () => {
      stopped ??= why;
    });

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
  // git may end without reading all of it; its exit code says so better than a broken pipe does.
  child.stdin?.on('error', () => {});
  child.stdin?.end(run.input);

  const timer = setTimeout(() => stop('timeout'), run.timeoutSeconds * 1000);
  run.onProcess?.({ process: child, timeout: timer });
  const cancel = (): void => stop('cancelled');
  run.signal?.addEventListener('abort', cancel, { once: true });
  try {
    const cause = await new Promise<Error | undefined>((resolve) => {
      child.once('close', () => resolve(undefined));
      child.once('error', resolve);
    });
    await starter.stop(child);
    if (cause)
      throw new CountersignError('SPAWN_FAILED', { program: 'git', problem: cause.message }, { cause });
    say(run.progress?.end() ?? '');
    for (const note of notes(starter, child)) say(note);
    if (stopped === 'cancelled') throw new ExecutionCancelled();
    // A caller cannot choose the time of a git call, so its timeout is also the limit.
    if (stopped === 'timeout')
      throw new CountersignError('COMMAND_TIMEOUT', {
        timeout: run.timeoutSeconds,
        limit: run.timeoutSeconds,
      });
    return { exitCode: child.exitCode, stdout: Buffer.concat(stdout), cut: size > run.maxBytes, stderr };
  } finally {
    clearTimeout(timer);
    run.signal?.removeEventListener('abort', cancel);
  }
}
