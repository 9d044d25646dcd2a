import { describeError, type ToolSuccess } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import type { CommandServices } from '../tool-module.ts';
import { withLineProgress } from './line-progress.ts';
import { type Ending, runToEnd } from './run-to-end.ts';
import { withChanges } from './workspace-changes.ts';

export type CommandResult = ToolSuccess<'execute_command' | 'shell_exec'>;

export interface Command {
  /** What the person reads of it: its program, or the line. */
  readonly text: string;
  /** What the result calls it. */
  readonly name: string;
  readonly request: ProcessRequest;
  /** Seconds; the workspace's limit holds as well. */
  readonly timeout: number;
}

/** One command from its start to its result: what it printed, how it ended and which files it changed (TL-2). */
export async function runCommand(
  { text, name, request, timeout }: Command,
  { workspace, starter }: CommandServices,
  { signal, onProcess, onProgress: report }: Pick<CallContext, 'signal' | 'onProgress' | 'onProcess'>,
): Promise<CommandResult> {
  const { limits } = workspace;
  const limit = limits.commandTimeoutMaxSeconds;
  const timeoutSeconds = Math.min(timeout, limit);
  // Where the workspace is read-only nothing can change in it.
  const mayWrite = request.confinement.workspace === 'write';
  const outputBytes = limits.outputStreamBytes;
  const onProgress = withLineProgress(text, report);
  const run = () =>
    runToEnd(starter, request, { timeoutSeconds, outputBytes, signal, onProgress, onProcess });
  const { value: ending, changes } = await withChanges(workspace, mayWrite, signal, run);
  return { ...commandResult(name, ending, { timeout: timeoutSeconds, limit }), ...changes };
}

/** In seconds: what the command had, and the most that it could have asked for. */
interface CommandTimes {
  readonly timeout: number;
  readonly limit: number;
}

/**
 * The result of TL-2. A command that ended by itself has an exit code, and success says whether it was 0; one that was
 * stopped or killed failed, and still says what it had printed.
 */
function commandResult(program: string, ending: Ending, times: CommandTimes): CommandResult {
  const { status, stdout, stderr, isCut, seconds } = ending;
  const exitCode = typeof status === 'object' && 'exitCode' in status ? status.exitCode : null;
  const failure = failureOf(program, status, times);
  return {
    success: exitCode === 0,
    stdout,
    stderr,
    exit_code: exitCode,
    execution_time: Math.round(seconds * 1_000) / 1_000,
    ...(isCut ? { truncated: true } : {}),
    ...(failure ? { error: failure.message, code: failure.code } : {}),
  };
}

function failureOf(program: string, status: Ending['status'], times: CommandTimes) {
  if (status === 'timeout') return describeError('COMMAND_TIMEOUT', { ...times });
  if ('exitCode' in status) return undefined;
  return describeError('COMMAND_FAILED', { program, outcome: `the signal ${status.signal}` });
}

/** Subcommands of git that neither check out files nor change git's configuration. Files of a patch are not from history. */
const dataOnly = new Set(['add', 'apply', 'commit', 'diff', 'log', 'mv', 'rm', 'show', 'status', 'tag']);

/**
 * What a command may do (RN-5). A LOW command runs without approval, so it may only read, and never secrets. An approved
 * command may write in the workspace, and has the network access that its card showed.
 */
export function commandConfinement(
  { riskLevel, network }: Pick<CallContext, 'riskLevel' | 'network'>,
  program: string,
  args: readonly string[],
): Confinement {
  const subcommand = args[0] ?? '';
  // `git am` goes on with steps of its own after a conflict: only its files are looked at.
  const gitWrites = dataOnly.has(subcommand) ? 'data' : subcommand === 'am' ? 'patches' : 'everything';
  return riskLevel === 'LOW'
    ? { workspace: 'read', network: false, maskSensitive: true, maskLinkedOutside: true }
    : {
        workspace: 'write',
        network,
        maskSensitive: false,
        writableGit: program === 'git' ? gitWrites : undefined,
      };
}
