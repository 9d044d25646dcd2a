import { readGit, type SimpleCommand } from '@countersign/policy';
import { describeError, type ToolSuccess } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { ConversationPlace } from '../isolation/conversation-place.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { remoteFolders } from '../network/remote-hosts.ts';
import type { CommandServices } from '../tool-module.ts';
import { failureNotes } from './failure-notes.ts';
import { withLineProgress } from './line-progress.ts';
import { type Ending, runToEnd } from './run-to-end.ts';
import { withChanges } from './workspace-changes.ts';

export type CommandResult = ToolSuccess<'execute_command' | 'shell_exec'>;

export interface Command {
  /** The program or the shell line. */
  readonly text: string;
  /** The command's name in error messages. */
  readonly name: string;
  readonly request: ProcessRequest;
  /** In seconds. The workspace's limit applies too. */
  readonly timeout: number;
}

/** Runs a command and returns its output, its exit code and the files that it changed (TL-2). */
export async function runCommand(
  { text, name, request, timeout }: Command,
  { workspace, starter }: CommandServices,
  { signal, onProcess, onProgress: report }: Pick<CallContext, 'signal' | 'onProgress' | 'onProcess'>,
): Promise<CommandResult> {
  const { limits } = workspace;
  const limit = limits.commandTimeoutMaxSeconds;
  const timeoutSeconds = Math.min(timeout, limit);
  // A command cannot change files if the workspace is mounted read-only.
  const mayWrite = request.confinement.workspace === 'write';
  const outputBytes = limits.outputStreamBytes;
  const onProgress = withLineProgress(text, report);
  const run = () =>
    runToEnd(starter, request, { timeoutSeconds, outputBytes, signal, onProgress, onProcess });
  const { value: ending, changes } = await withChanges(workspace, mayWrite, signal, run);
  const result = commandResult(name, ending, { timeout: timeoutSeconds, limit });
  const hidden = request.confinement.maskSensitive ? starter.readableSecrets() : [];
  const notes = result.success ? [] : failureNotes(result, { ...request, root: workspace.root, hidden });
  const stderr = [result.stderr, ...notes.map((note) => `\n[Countersign: ${note}]\n`)].join('');
  return { ...result, stderr, ...changes };
}

/** The command's timeout and the workspace's maximum, in seconds. */
interface CommandTimes {
  readonly timeout: number;
  readonly limit: number;
}

/** Returns the result of TL-2. A command that was stopped or killed has no exit code, but an error and its output. */
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

/**
 * Returns what a command shares with the others of its conversation (RN-5): `/tmp` and the loopback. A LOW command shares
 * nothing, because it runs unasked: through a pipe, a link or a port it could make an approved job do what nobody approved.
 */
export const placeOf = async (
  { riskLevel, sessionId, network }: Pick<CallContext, 'riskLevel' | 'sessionId' | 'network'>,
  starter: IsolatingStarter,
): Promise<ConversationPlace | undefined> =>
  riskLevel === 'LOW' ? undefined : starter.placeOf(sessionId, { withNetwork: network !== false });

const isPush = ({ words: [, ...args] }: SimpleCommand): boolean =>
  readGit(args.map((word) => word ?? '')).subcommand === 'push';

/**
 * Returns a command's confinement (RN-5). A LOW command runs without approval, so it may only read, but not secrets. An
 * approved command may write in the workspace and has the network access that its card showed.
 */
export function commandConfinement(
  call: { readonly params: object },
  { riskLevel, network, askForHost, details }: CallContext,
  { workspace }: Pick<CommandServices, 'workspace'>,
  writableGit: Confinement['writableGit'],
): Confinement {
  if (riskLevel === 'LOW')
    return { workspace: 'read', network: false, maskSensitive: true, maskLinkedOutside: true };
  const commands = network === false ? [] : (details?.commands ?? []);
  const readable = remoteFolders(call, commands, workspace);
  // Beside other programs, git only reads there: they could write what it may.
  const writable =
    writableGit === 'everything' ? remoteFolders(call, commands.filter(isPush), workspace) : [];
  return { workspace: 'write', network, askForHost, maskSensitive: false, writableGit, readable, writable };
}
