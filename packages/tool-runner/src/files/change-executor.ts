import { rmdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type BuiltInToolCall, CountersignError } from '@countersign/protocol';
import type { CallContext, Progress, ToolResult } from '../executor.ts';
import { DIRECTORY, type FileChange } from '../file-change.ts';
import { digestOfChange, digestOfDirectory } from '../preview/call-digest.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { BytesDone, tellProgress } from '../work-progress.ts';
import type { Workspace } from '../workspace.ts';
import { removeFile, replaceFile } from './atomic-write.ts';
import { writeInEditor } from './editor-write.ts';
import { failedWith, fileFailure } from './file-failure.ts';
import { identityNow, takeSnapshot } from './file-snapshot.ts';
import { versionOf } from './file-version.ts';
import { openOrCreateDirectory } from './place.ts';
import { planDirectory } from './plan-directory.ts';
import { type FileChangeCall, type PlannedChange, planFileChange } from './plan-file-change.ts';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

type ChangeCall = FileChangeCall | Extract<BuiltInToolCall, { tool: 'create_directory' }>;

/**
 * Carries out a file tool that changes something, in the order of RN-3: plan, undo copy and journal, temporary file,
 * a last look that the file is still the one that was planned with, rename, directory. What fails leaves the files
 * as they were. Where the call was approved (`context.digest`), the plan must be what was approved (AP-8).
 */
export async function executeChange(
  call: ChangeCall,
  context: CallContext,
  workspace: Workspace,
): Promise<ToolResult> {
  return call.tool === 'create_directory'
    ? createDirectory(call, context, workspace)
    : changeFile(call, context, workspace);
}

/** A copy is read and then written, which take about as long; of a write only the writing is told. */
async function changeFile(
  call: FileChangeCall,
  context: CallContext,
  workspace: Workspace,
): Promise<ToolResult> {
  const read = new BytesDone('read');
  const written = new BytesDone('written');
  const describe = (): Progress | undefined => {
    const half = read.isBegun ? 50 : 0;
    if (written.isBegun)
      return { percent: Math.floor(half + (100 - half) * written.part), message: written.message };
    return read.isBegun ? { percent: Math.floor(half * read.part), message: read.message } : undefined;
  };
  return tellProgress({ report: context.onProgress, describe }, () =>
    planAndChange(call, context, workspace, { onRead: read.note, onWritten: written.note }),
  );
}

interface BytesNoted {
  readonly onRead: BytesDone['note'];
  readonly onWritten: BytesDone['note'];
}

async function planAndChange(
  call: FileChangeCall,
  context: CallContext,
  workspace: Workspace,
  { onRead, onWritten }: BytesNoted,
): Promise<ToolResult> {
  const plan = await planFileChange(workspace, call, onRead);
  confirmApproved(context, () => digestOfChange(call, workspace, plan));
  stopIfCancelled(context);
  context.changes.begin([recordOf(plan)]);
  try {
    await carryOut(plan, context, workspace, onWritten);
  } catch (error) {
    throw fileFailure(error, plan.path, 'WRITE_FAILED');
  }
  const { path, operation, after } = plan;
  return {
    success: true,
    path,
    ...(after && { size: after.length }),
    changed_files: [{ path, operation }],
  };
}

async function carryOut(
  plan: PlannedChange,
  context: CallContext,
  workspace: Workspace,
  onWritten: BytesNoted['onWritten'],
): Promise<void> {
  const name = basename(plan.path);
  const { directory, created } = openPlannedDirectory(plan, workspace);
  const confirm = () => confirmBase(plan, directory, name, context, workspace);
  try {
    const { toolId } = context;
    if (plan.after === null) await removeFile(directory, name, confirm);
    else if (!(await writeInEditor({ plan, directory, name, toolId, confirm }, workspace)))
      await replaceFile({
        directory,
        name,
        bytes: plan.after,
        mode: plan.mode,
        owner: plan.before?.owner,
        toolId,
        onWritten,
        confirm,
      });
  } catch (error) {
    removeCreated(workspace, created);
    throw error;
  } finally {
    directory.close();
  }
}

/** The directory that the plan was made for. Only for a new file may it be missing. */
function openPlannedDirectory(
  { path, before }: PlannedChange,
  { root }: Workspace,
): { directory: WorkspaceDirectory; created: readonly string[] } {
  const planned = dirname(path) === '.' ? '' : dirname(path);
  const opened = before
    ? { directory: openExisting(root, planned, path), created: [] }
    : openOrCreateDirectory(root, planned);
  if (opened.directory.path === planned) return opened;
  opened.directory.close();
  removeCreated({ root }, opened.created);
  throw stale(`"${path}" leads somewhere else now`);
}

function openExisting(root: string, directory: string, path: string): WorkspaceDirectory {
  try {
    return openDirectory(root, directory);
  } catch (error) {
    if (failedWith(error, 'ENOENT', 'ENOTDIR')) throw stale(`"${path}" is gone`);
    throw error;
  }
}

/** The last look: the same file with the same bytes, or still none. */
async function confirmBase(
  { path, before, saved }: PlannedChange,
  directory: WorkspaceDirectory,
  name: string,
  context: CallContext,
  { limits }: Workspace,
): Promise<void> {
  if (before && identityNow(directory, name) === before.identity) {
    // A clock that ticks in milliseconds can hide a change from the identity; the bytes cannot.
    const now = await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes });
    if (now?.version !== (saved ?? before).version) throw stale(`"${path}" has another content now`);
  }
  stopIfCancelled(context);
  if (identityNow(directory, name) !== before?.identity)
    throw stale(before ? `"${path}" was changed` : `"${path}" exists now`);
}

async function createDirectory(
  call: Extract<ChangeCall, { tool: 'create_directory' }>,
  context: CallContext,
  workspace: Workspace,
): Promise<ToolResult> {
  const plan = planDirectory(workspace, call.params.path);
  confirmApproved(context, () => digestOfDirectory(call, workspace, plan));
  stopIfCancelled(context);
  context.changes.begin(
    plan.missing.map((path) => ({
      path,
      operation: 'created',
      before: null,
      after: DIRECTORY,
      original: undefined,
    })),
  );
  const created: string[] = [];
  try {
    openOrCreateDirectory(workspace.root, plan.path, created).directory.close();
  } catch (error) {
    removeCreated(workspace, created);
    throw fileFailure(error, plan.path, 'WRITE_FAILED');
  }
  return {
    success: true,
    path: plan.path,
    changed_files: created.map((path) => ({ path, operation: 'created' })),
  };
}

function recordOf({ path, operation, before, after }: PlannedChange): FileChange {
  return {
    path,
    operation,
    before: before?.version ?? null,
    after: after && versionOf(after),
    original: before ? { bytes: before.bytes, mode: before.mode } : undefined,
  };
}

function confirmApproved({ digest }: CallContext, planned: () => string): void {
  if (digest === undefined || digest === planned()) return;
  throw stale('a file is not what it was in the preview');
}

function stopIfCancelled({ signal }: CallContext): void {
  if (signal.aborted) throw new ExecutionCancelled();
}

/** Takes back directories that were made for a file that could not be written; what is not empty stays. */
function removeCreated({ root }: Pick<Workspace, 'root'>, created: readonly string[]): void {
  for (const path of created.toReversed()) {
    try {
      const above = openDirectory(root, dirname(path));
      try {
        rmdirSync(above.at(basename(path)));
      } finally {
        above.close();
      }
    } catch {
      return; // Somebody uses it already.
    }
  }
}

const stale = (problem: string): CountersignError => new CountersignError('APPROVAL_STALE', { problem });
