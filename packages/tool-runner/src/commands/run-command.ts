import type { CallContext, ToolResult } from '../executor.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Workspace } from '../workspace.ts';
import { commandResult } from './command-result.ts';
import { withLineProgress } from './line-progress.ts';
import { runToEnd } from './run-to-end.ts';
import { withChanges } from './workspace-changes.ts';

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
  { workspace, starter }: { readonly workspace: Workspace; readonly starter: IsolatingStarter },
  { signal, onProcess, onProgress: report }: Pick<CallContext, 'signal' | 'onProgress' | 'onProcess'>,
): Promise<ToolResult> {
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
