import { isRefused, type PolicyDecision } from '@countersign/policy';
import { type BuiltInToolName, CountersignError, makeVisible, type ToolParams } from '@countersign/protocol';
import { belowRoot, openDirectory } from '../files/workspace-directory.ts';
import { fileFailure } from '../real-disk.ts';
import type { CallOf, Look, ToolModule } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import { type DigestedCall, digestOf } from './call-digest.ts';
import { runFiles } from './run-files.ts';

/** A file's name as a person may safely read it in one line: a name can have line feeds and tabs too. */
export const visibleName = (name: string): string =>
  makeVisible(name).replaceAll('\n', '⟨U+000A⟩').replaceAll('\t', '⟨U+0009⟩');

/** Of a tool that changes no file by itself: one sentence says all. */
export const summarised =
  <N extends BuiltInToolName>(summaryOf: (params: ToolParams<N>) => string): ToolModule<N>['look'] =>
  (call, decision, { workspace }) => ({
    digest: digestOfCall(call, decision, workspace),
    draw: () => ({ kind: 'summary', summary: summaryOf(call.params) }),
  });

/** What a program or a shell line would run in a directory, and the scripts of the workspace that it executes. */
export async function lookAtCommand(
  call: CallOf<'execute_command' | 'shell_exec' | 'shell_background'>,
  decision: PolicyDecision,
  workspace: Workspace,
  cwd = '',
): Promise<Look> {
  const { details, assessed } = decision;
  const directory = realDirectory(workspace, cwd);
  const files = await runFiles(workspace, details?.operands ?? []);
  return {
    digest: digestOfCall(call, decision, workspace, { directory, files }),
    draw: () => ({
      kind: 'command',
      commands: (details?.commands ?? []).map(({ words }) =>
        words.map((word) => (word === undefined ? null : makeVisible(word))),
      ),
      cwd: visibleName(directory || '.'),
      network: networkOf(decision),
      // Undo knows what file tools did, not what a program does; a program that only reads leaves nothing to undo.
      reversible: assessed?.decision === 'LOW',
      scripts: files.map(({ path }) => visibleName(path || '.')),
    }),
  };
}

function realDirectory({ root }: Workspace, cwd: string): string {
  try {
    const directory = openDirectory(root, belowRoot(root, cwd));
    directory.close();
    return directory.path;
  } catch (error) {
    throw fileFailure(error, cwd, 'READ_FAILED');
  }
}

/** The base of a call that changes no file by a plan of ours. */
export function digestOfCall(
  call: DigestedCall['call'],
  decision: PolicyDecision,
  { root }: Workspace,
  { directory = '', files = [], base = [] }: Partial<Pick<DigestedCall, 'directory' | 'files' | 'base'>> = {},
): string {
  return digestOf({ call, root, directory, network: networkOf(decision), files, base });
}

const networkOf = ({ verdict }: PolicyDecision): boolean => !isRefused(verdict) && verdict.network;

/**
 * The files that a plan is about must be those that policy has judged: a link swapped in between could lead to a
 * sensitive file (VA-2), and nothing of that may be shown.
 */
export function confirmJudged({ details }: PolicyDecision, paths: readonly string[]): void {
  const judged = new Set(details?.operands.map(({ path }) => path));
  const other = paths.find((path) => !judged.has(path));
  if (other === undefined) return;
  throw new CountersignError('APPROVAL_STALE', { problem: `"${other}" is not the file that was judged` });
}
