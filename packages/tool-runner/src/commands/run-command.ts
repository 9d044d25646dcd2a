import { basename } from 'node:path';
import { readGit, type SimpleCommand } from '@countersign/policy';
import { CountersignError, describeError, type ToolSuccess } from '@countersign/protocol';
import type { CallContext, CallLanding } from '../executor.ts';
import type { ConversationPlace } from '../isolation/conversation-place.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { countChanges } from '../layers/layer-effects.ts';
import type { Layer } from '../layers/layers.ts';
import { remoteFolders } from '../network/remote-hosts.ts';
import { EndedAfterChanges, ExecutionCancelled, isCancellation } from '../runner-errors.ts';
import type { CommandServices } from '../tool-module.ts';
import { failureNotes } from './failure-notes.ts';
import { landEffects, withNotes } from './layered-command.ts';
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
  /** What of `.git` lands if the command runs in a layer; by default what its confinement lets it write. */
  readonly gitInLayer?: Confinement['writableGit'];
  /** In seconds. The workspace's limit applies too. */
  readonly timeout: number;
}

type RunContext = Pick<CallContext, 'signal' | 'onProgress' | 'onProcess' | 'details' | 'landing'>;

/**
 * Runs a command and returns its output, its exit code and the files that it changed (TL-2). If it may write, it runs in a
 * layer where the machine can: what it wrote lands if it ends by itself, and is dropped otherwise (RN-11).
 */
export async function runCommand(
  command: Command,
  services: CommandServices,
  context: RunContext,
): Promise<CommandResult> {
  const { starter } = services;
  const { request } = command;
  const { landing, details } = context;
  // A command cannot change files if the workspace is mounted read-only.
  const { workspace, writable = [] } = request.confinement;
  // A repository outside the workspace has no layer, and needs the protection of one without.
  const mayLayer = workspace === 'write' && writable.length === 0 && !renamesWithGit(details);
  const layer = mayLayer && landing ? starter.openLayer(programsOf(request, details)) : undefined;
  if (!landing || !layer) return runInWorkspace(command, services, context);
  try {
    return await runInLayer(command, { layer, landing }, services, context);
  } catch (error) {
    if (!(error instanceof LayerNotMounted)) throw error;
    // Something has changed since layers worked here.
    starter.layers.forgetProbe();
    if (starter.layers.problem === undefined) throw error.cause;
    landing.begin(undefined);
    return runInWorkspace(command, services, context);
  }
}

/** Runs a command that changes the workspace itself, and compares the workspace before and after. */
async function runInWorkspace(
  command: Command,
  services: CommandServices,
  context: RunContext,
): Promise<CommandResult> {
  const { workspace } = services;
  const mayWrite = command.request.confinement.workspace === 'write';
  const run = () => runOnce(command, services, context);
  const { value: ended, changes } = await withChanges(workspace, mayWrite, context.signal, run);
  return { ...ended.result, ...changes };
}

async function runInLayer(
  command: Command,
  { layer, landing }: { readonly layer: Layer; readonly landing: CallLanding },
  services: CommandServices,
  context: RunContext,
): Promise<CommandResult> {
  const { starter, workspace } = services;
  const { confinement } = command.request;
  let ended: Ended;
  try {
    landing.begin(layer.id);
    const request = { ...command.request, layer };
    ended = await runOnce({ ...command, request }, services, context);
  } catch (error) {
    const dropped = await dropLayer(layer, services);
    if (isCancellation(error)) {
      const cancelled = new ExecutionCancelled(dropped);
      throw error instanceof EndedAfterChanges ? new EndedAfterChanges(cancelled, error.changes) : cancelled;
    }
    if (error instanceof CountersignError && error.code === 'SPAWN_FAILED') throw new LayerNotMounted(error);
    throw error;
  }
  const { result, endedByItself } = ended;
  if (!endedByItself) {
    const dropped = await dropLayer(layer, services);
    return dropped === 0 ? result : withNotes(result, [droppedNote(dropped)]);
  }
  return landEffects(layer, {
    starter,
    workspace,
    writableGit: command.gitInLayer ?? confinement.writableGit,
    landing,
    result,
  });
}

/** The command did not start, perhaps because its layer could not be mounted. */
class LayerNotMounted extends Error {
  constructor(cause: CountersignError) {
    super(cause.message, { cause });
  }
}

/** Returns how many changes were dropped. */
async function dropLayer(layer: Layer, { starter, workspace }: CommandServices): Promise<number> {
  const dropped = await countChanges(layer, workspace.root);
  starter.layers.drop(layer, dropped);
  return dropped;
}

const droppedNote = (dropped: number): string =>
  `it did not end by itself, so nothing that it wrote in the workspace landed (${dropped} ${dropped === 1 ? 'change' : 'changes'})`;

/** The programs that a command runs, as far as its words show. */
export const programsOf = (
  { program }: Pick<ProcessRequest, 'program'>,
  details: CallContext['details'],
): string[] => [basename(program), ...(details?.commands ?? []).map(({ words }) => basename(words[0] ?? ''))];

interface Ended {
  readonly result: CommandResult;
  /** False if it ran out of time, or if a signal from outside ended it. */
  readonly endedByItself: boolean;
}

async function runOnce(
  { text, name, request, timeout }: Command,
  { workspace, starter }: CommandServices,
  { signal, onProcess, onProgress: report }: RunContext,
): Promise<Ended> {
  const { limits } = workspace;
  const limit = limits.commandTimeoutMaxSeconds;
  const timeoutSeconds = Math.min(timeout, limit);
  const outputBytes = limits.outputStreamBytes;
  const onProgress = withLineProgress(text, report);
  const options = { timeoutSeconds, outputBytes, signal, onProgress, onProcess };
  const ending = await runToEnd(starter, request, options);
  const result = commandResult(name, ending, { timeout: timeoutSeconds, limit });
  const hidden = request.confinement.maskSensitive ? starter.readableSecrets() : [];
  const notes = result.success ? [] : failureNotes(result, { ...request, root: workspace.root, hidden });
  return { result: withNotes(result, notes), endedByItself: hasEndedByItself(ending) };
}

/** Signals of a program that crashed, or that wrote to a pipe which nobody reads: nobody else ended it. */
const crashes = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP', 'SIGSYS', 'SIGPIPE']);

const hasEndedByItself = ({ status }: Ending): boolean =>
  typeof status === 'object' && ('exitCode' in status || crashes.has(status.signal));

/** The command's timeout and the workspace's maximum, in seconds. */
interface CommandTimes {
  readonly timeout: number;
  readonly limit: number;
}

/** Returns the result of TL-2. A command that was stopped or killed has no exit code, but an error and its output. */
export function commandResult(program: string, ending: Ending, times: CommandTimes): CommandResult {
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

const isGit = ({ words: [program, ...args] }: SimpleCommand, subcommand: string): boolean =>
  basename(program ?? '') === 'git' && readGit(args.map((word) => word ?? '')).subcommand === subcommand;

/** `git mv` renames folders by one system call, which a layer refuses, and it does not copy instead. */
const renamesWithGit = (details: CallContext['details']): boolean =>
  (details?.commands ?? []).some((command) => isGit(command, 'mv'));

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
    writableGit === 'everything'
      ? remoteFolders(
          call,
          commands.filter((command) => isGit(command, 'push')),
          workspace,
        )
      : [];
  return { workspace: 'write', network, askForHost, maskSensitive: false, writableGit, readable, writable };
}
