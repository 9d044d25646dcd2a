import { isRefused, type PolicyDecision } from '@countersign/policy';
import { type BuiltInToolCall, CountersignError, makeVisible, type Preview } from '@countersign/protocol';
import { fileFailure } from '../files/file-failure.ts';
import { belowRoot } from '../files/place.ts';
import { planDirectory } from '../files/plan-directory.ts';
import { type FileChangeCall, type PlannedChange, planFileChange } from '../files/plan-file-change.ts';
import { openDirectory } from '../files/workspace-directory.ts';
import type { Workspace } from '../workspace.ts';
import {
  type DigestedCall,
  type DigestedFile,
  digestOf,
  digestOfChange,
  digestOfDirectory,
} from './call-digest.ts';
import { summaryOf } from './call-summary.ts';
import { fileDiff } from './file-diff.ts';
import { fileHead } from './file-head.ts';
import { fitPreview } from './fit-preview.ts';
import type { GitPreviewer } from './git-previewer.ts';
import { runFiles } from './run-files.ts';
import { visibleName } from './visible-name.ts';

export interface PreviewDeps {
  readonly workspace: Workspace;
  /** Without one, commits and pushes have no preview. */
  readonly git?: GitPreviewer;
}

/** What the person is shown, and the base of its digest: the call, its place and the files as they are (AP-8). */
export interface CallPreview {
  readonly preview: Preview;
  readonly base: string;
}

/**
 * Says what a call will do, from the disk as it is now, and changes nothing (AP-7). `decision` is this machine's own.
 *
 * Throws where it cannot be said, whatever stands in the way (no match, no such file, permissions, a disk that fails):
 * there is nothing to look at, so nobody can approve it, and the call ends with that reason.
 */
export async function previewCall(
  call: BuiltInToolCall,
  decision: PolicyDecision,
  deps: PreviewDeps,
): Promise<CallPreview> {
  const { draw, digest } = await lookAt(call, decision, deps);
  return { preview: fitPreview(draw()), base: digest };
}

/** The same base without drawing the preview, for a call that nobody was shown (AP-4). */
export async function digestCall(
  call: BuiltInToolCall,
  decision: PolicyDecision,
  deps: PreviewDeps,
): Promise<string> {
  return (await lookAt(call, decision, deps)).digest;
}

interface Look {
  readonly digest: string;
  /** Only who shows it pays for drawing it. */
  readonly draw: () => Preview;
}

async function lookAt(call: BuiltInToolCall, decision: PolicyDecision, deps: PreviewDeps): Promise<Look> {
  const { workspace, git } = deps;
  switch (call.tool) {
    case 'write_file':
    case 'edit_file':
    case 'copy_file':
    case 'delete_file':
      return lookAtChange(call, decision, workspace);
    case 'create_directory': {
      const plan = planDirectory(workspace, call.params.path);
      confirmJudged(decision, [plan.path]);
      return {
        digest: digestOfDirectory(call, workspace, plan),
        draw: () => ({ kind: 'directory', path: visibleName(plan.path || '.') }),
      };
    }
    case 'execute_command':
      return lookAtCommand(call, '', decision, deps);
    case 'shell_exec':
    case 'shell_background':
      return lookAtCommand(call, realDirectory(workspace, call.params.cwd ?? ''), decision, deps);
    case 'git_commit':
    case 'git_push': {
      if (!git) throw new CountersignError('UNAVAILABLE', { problem: 'git is not looked at here' });
      const { preview, base } =
        call.tool === 'git_commit'
          ? await git.commitPreview(call.params)
          : await git.pushPreview(call.params);
      return { digest: digest(call, decision, deps, { base }), draw: () => preview };
    }
    default:
      return {
        digest: digest(call, decision, deps, {}),
        draw: () => ({ kind: 'summary', summary: summaryOf(call) }),
      };
  }
}

async function lookAtChange(
  call: FileChangeCall,
  decision: PolicyDecision,
  workspace: Workspace,
): Promise<Look> {
  const plan = await planFileChange(workspace, call);
  confirmJudged(decision, plan.source ? [plan.source.path, plan.path] : [plan.path]);
  return { digest: digestOfChange(call, workspace, plan), draw: () => drawChange(plan) };
}

/**
 * The files that the plan is about must be those that policy has judged: a link swapped in between could lead to a
 * sensitive file (VA-2), and nothing of that may be shown.
 */
export function confirmJudged({ details }: PolicyDecision, paths: readonly string[]): void {
  const judged = new Set(details?.operands.map(({ path }) => path));
  const other = paths.find((path) => !judged.has(path));
  if (other === undefined) return;
  throw new CountersignError('APPROVAL_STALE', { problem: `"${other}" is not the file that was judged` });
}

function drawChange(plan: PlannedChange): Preview {
  const { path, operation, before, after, mode, source } = plan;
  if (after === null && before)
    return {
      kind: 'delete',
      path: visibleName(path),
      size: before.bytes.length,
      head: fileHead(before.bytes),
    };
  const file = fileDiff({
    path,
    operation,
    before: before?.bytes ?? null,
    after,
    modeBefore: before?.mode,
    modeAfter: source || before ? mode : undefined,
  });
  return { kind: 'diff', files: [plan.saved ? { ...file, unsaved: true } : file] };
}

async function lookAtCommand(
  call: BuiltInToolCall,
  directory: string,
  decision: PolicyDecision,
  deps: PreviewDeps,
): Promise<Look> {
  const { details, assessed } = decision;
  const files = await runFiles(deps.workspace, details?.operands ?? []);
  return {
    digest: digest(call, decision, deps, { directory, files }),
    draw: () => ({
      kind: 'command',
      commands: (details?.commands ?? []).map(({ words }) =>
        words.map((word) => (word === undefined ? null : makeVisible(word))),
      ),
      cwd: visibleName(directory || '.'),
      network: networkOf(decision),
      // Undo knows what file tools did, not what a program does; one that only reads leaves nothing to undo.
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

const networkOf = ({ verdict }: PolicyDecision): boolean => !isRefused(verdict) && verdict.network;

function digest(
  call: BuiltInToolCall,
  decision: PolicyDecision,
  { workspace }: PreviewDeps,
  { directory = '', files = [], base = [] }: Partial<Pick<DigestedCall, 'directory' | 'files' | 'base'>>,
): string {
  const covered: readonly DigestedFile[] = files;
  return digestOf({
    call,
    root: workspace.root,
    directory,
    network: networkOf(decision),
    files: covered,
    base,
  });
}
