import { rmdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { PolicyDecision } from '@countersign/policy';
import {
  type BuiltInToolName,
  CountersignError,
  makeVisible,
  type Preview,
  type ToolParams,
  type ToolSuccess,
} from '@countersign/protocol';
import type { CallContext, Progress } from '../executor.ts';
import { openDocumentAt } from '../open-documents.ts';
import { type DigestedCall, type DigestedFile, digestOf } from '../preview/call-digest.ts';
import { fileDiff } from '../preview/file-diff.ts';
import { confirmJudged, visibleName } from '../preview/look.ts';
import { fileFailure } from '../real-disk.ts';
import { EndedAfterChanges, ExecutionCancelled } from '../runner-errors.ts';
import type { CallOf, MadeChange, ToolModule } from '../tool-module.ts';
import { tryOr } from '../try-or.ts';
import { BytesDone, reportProgress } from '../work-progress.ts';
import type { Workspace } from '../workspace.ts';
import { ChangeNotFlushed, removeFile, replaceFile } from './atomic-write.ts';
import { findTarget, type OnRead, type PlannedChange } from './file-plan.ts';
import { type FileChange, identityNow, takeSnapshot, versionOf } from './file-snapshot.ts';
import { decodeText } from './text-encoding.ts';
import {
  openDirectory,
  openIfThere,
  openOrCreateDirectory,
  type WorkspaceDirectory,
} from './workspace-directory.ts';

/** Returns the changes that a call would make. The first change is that of the file that the result names. */
type Planner<N extends BuiltInToolName> = (
  params: ToolParams<N>,
  workspace: Workspace,
  onRead?: OnRead,
) => Promise<readonly PlannedChange[]>;

/**
 * Makes the module of a tool that changes files. The module executes in the order of RN-3: plan, undo copy and journal,
 * temporary file, check that the file is unchanged since the plan, rename, flush the directory. If it fails, the files
 * are as they were, or the error lists the changed files. For an approved call (`context.digest`), the plan must have
 * the approved digest (AP-8).
 */
export function changingFiles<N extends BuiltInToolName>(plan: Planner<N>): ToolModule<N> {
  const planJudged = async ({ params }: CallOf<N>, decision: PolicyDecision, workspace: Workspace) => {
    const changes = await plan(params, workspace);
    confirmJudged(
      decision,
      changes.flatMap(({ path, source }) => (source ? [source.path, path] : [path])),
    );
    return changes;
  };
  return {
    async look(call, decision, { workspace }) {
      const changes = await planJudged(call, decision, workspace);
      return { digest: digestOfChanges(call, workspace, changes), draw: () => drawChanges(changes) };
    },
    /** For a copy, reading and writing count as half of the progress each. A write reports only the writing. */
    execute(call, context, { workspace }) {
      const read = new BytesDone('read');
      const written = new BytesDone('written');
      const describe = (): Progress | undefined => {
        const half = read.isBegun ? 50 : 0;
        if (written.isBegun)
          return { percent: Math.floor(half + (100 - half) * written.part), message: written.message };
        return read.isBegun ? { percent: Math.floor(half * read.part), message: read.message } : undefined;
      };
      return reportProgress({ report: context.onProgress, describe }, async () => {
        const changes = await plan(call.params, workspace, read.note);
        confirmApproved(context, () => digestOfChanges(call, workspace, changes));
        stopIfCancelled(context);
        context.changes.begin(changes.map(recordOf));
        await carryOutAll(changes, context, workspace, written.note);
        return resultOf<N>(changes.map((change) => ({ ...change, size: change.after?.length ?? 0 })));
      });
    },
    recover: (changes) => resultOf<N>(changes),
    async propose(call, decision, { workspace }) {
      const [change, another] = await planJudged(call, decision, workspace);
      if (!change || another) return undefined;
      const before = change.before ? decodeText(change.before.bytes) : { text: null };
      const after = change.after && decodeText(change.after);
      return before && after ? { path: change.path, before: before.text, after: after.text } : undefined;
    },
  };
}

function resultOf<N extends BuiltInToolName>(changes: readonly MadeChange[]): ToolSuccess<N> {
  const [named] = changes;
  const result = {
    success: true,
    path: named?.path ?? '',
    ...(named?.operation !== 'deleted' && { size: named?.size ?? 0 }),
    changed_files: changes.map(({ path, operation }) => ({ path, operation })),
  };
  return result as ToolSuccess<N>;
}

/** Returns the base of the call's digest. It is compared again before any file is touched (AP-8). */
export function digestOfChanges(
  call: DigestedCall['call'],
  { root }: Workspace,
  changes: readonly PlannedChange[],
): string {
  const files = changes.flatMap(({ path, before, source }): DigestedFile[] => {
    const changed = { path, part: 'changed', version: before?.version ?? null } as const;
    if (!source) return [changed];
    const { version, mode } = source.snapshot;
    return [changed, { path: source.path, part: 'copied', version, mode }];
  });
  const base = changes.flatMap(({ saved }) => (saved ? ['unsaved buffer', saved.version] : []));
  return digestOf({ call, root, directory: '', network: false, files, base });
}

function drawChanges(changes: readonly PlannedChange[]): Preview {
  const [change] = changes;
  if (changes.length === 1 && change?.before && change.after === null) {
    const { path, before } = change;
    return {
      kind: 'delete',
      path: visibleName(path),
      size: before.bytes.length,
      head: fileHead(before.bytes),
    };
  }
  return {
    kind: 'diff',
    files: changes.map(({ path, operation, before, after, mode, source, saved }) => {
      const file = fileDiff({
        path,
        operation,
        before: before?.bytes ?? null,
        after,
        modeBefore: before?.mode,
        modeAfter: source || before ? mode : undefined,
      });
      return saved ? { ...file, unsaved: true } : file;
    }),
  };
}

const HEAD_LINES = 40;
const HEAD_CHARACTERS = 8_000;

/** Returns the first lines of a file that would be deleted, with hidden characters made visible. */
function fileHead(bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (!decoded) return '⟨binary content⟩';
  const head = decoded.text.slice(0, HEAD_CHARACTERS).replaceAll('\r\n', '\n');
  return makeVisible(head.split('\n', HEAD_LINES).join('\n'));
}

/**
 * Makes all changes or none: if a change fails, the changes before it are put back. After ChangeNotFlushed nothing is put
 * back, because that could remove the only copy of a moved file.
 */
async function carryOutAll(
  changes: readonly PlannedChange[],
  context: CallContext,
  workspace: Workspace,
  onWritten: BytesDone['note'],
): Promise<void> {
  const made: MadePlan[] = [];
  for (const change of changes) {
    try {
      made.push({ change, created: await carryOut(change, context, workspace, onWritten) });
    } catch (error) {
      if (error instanceof ChangeNotFlushed) throw endedAfter(error, [...made, { change }]);
      for (const one of made.toReversed()) {
        await putBack(one, context, workspace).catch((failure: CountersignError) => {
          throw endedAfter(failure, made);
        });
      }
      throw fileFailure(error, change.path, 'WRITE_FAILED');
    }
  }
}

const endedAfter = (error: CountersignError, made: readonly Pick<MadePlan, 'change'>[]): EndedAfterChanges =>
  new EndedAfterChanges(error, {
    changed_files: made.map(({ change: { path, operation } }) => ({ path, operation })),
  });

interface MadePlan {
  readonly change: PlannedChange;
  /** Directories that were created for the file. */
  readonly created: readonly string[];
}

/** Reverses a change that was made, even if the call was cancelled meanwhile. */
async function putBack(
  { change, created }: MadePlan,
  context: CallContext,
  workspace: Workspace,
): Promise<void> {
  const { path, before, after, saved } = change;
  try {
    // The disk and the editor's buffer had different texts: restoring one of them would lose the other.
    if (saved) throw new Error('it had unsaved changes in an editor');
    const { snapshot } = await findTarget(workspace, path, { ignoreBuffers: true });
    if (snapshot?.version !== (after ? versionOf(after) : undefined))
      throw staleApproval(`"${path}" was changed`);
    const operation = before ? (snapshot ? 'modified' : 'created') : 'deleted';
    const opposite = { path, operation, before: snapshot ?? null, after: before?.bytes ?? null } as const;
    const uncancelled = { ...context, signal: new AbortController().signal };
    await carryOut({ ...opposite, mode: before?.mode }, uncancelled, workspace, () => {});
    removeCreated(workspace, created);
  } catch (cause) {
    const problem = `"${path}" was changed, and could not be put back`;
    throw new CountersignError('EXECUTION_FAILED', { problem }, { cause });
  }
}

/** Makes a planned change. Returns the directories that were created for it. */
async function carryOut(
  plan: PlannedChange,
  context: CallContext,
  workspace: Workspace,
  onWritten: BytesDone['note'],
): Promise<readonly string[]> {
  const name = basename(plan.path);
  const { directory, created } = openPlannedDirectory(plan, workspace);
  const confirm = () => assertUnchanged(plan, directory, name, context, workspace);
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
    return created;
  } catch (error) {
    removeCreated(workspace, created);
    throw error;
  } finally {
    directory.close();
  }
}

/** Opens the planned directory, or creates it for a new file. Throws APPROVAL_STALE if the path leads elsewhere now. */
function openPlannedDirectory(
  { path, before }: PlannedChange,
  { root }: Workspace,
): { directory: WorkspaceDirectory; created: readonly string[] } {
  const planned = dirname(path) === '.' ? '' : dirname(path);
  const opened = before
    ? { directory: openIfThere(root, planned, 'ENOTDIR'), created: [] }
    : openOrCreateDirectory(root, planned);
  const { directory, created } = opened;
  if (!directory) throw staleApproval(`"${path}" is gone`);
  if (directory.path === planned) return { directory, created };
  directory.close();
  removeCreated({ root }, created);
  throw staleApproval(`"${path}" leads somewhere else now`);
}

/** Throws APPROVAL_STALE unless the file is still the planned one with the same bytes, or still missing. */
async function assertUnchanged(
  { path, before, saved }: PlannedChange,
  directory: WorkspaceDirectory,
  name: string,
  context: CallContext,
  { limits }: Workspace,
): Promise<void> {
  if (before && identityNow(directory, name) === before.identity) {
    // Compare the bytes too: with coarse timestamps, a change can leave the identity the same.
    const now = await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes });
    if (now?.version !== (saved ?? before).version) throw staleApproval(`"${path}" has another content now`);
  }
  stopIfCancelled(context);
  if (identityNow(directory, name) !== before?.identity)
    throw staleApproval(before ? `"${path}" was changed` : `"${path}" exists now`);
}

function recordOf({ path, operation, before, after, mode }: PlannedChange): FileChange {
  return {
    path,
    operation,
    before: before?.version ?? null,
    after: after && versionOf(after),
    original: before ? { bytes: before.bytes, mode: before.mode } : undefined,
    contentAfter: after && { bytes: after, mode },
  };
}

export function confirmApproved({ digest }: CallContext, planned: () => string): void {
  if (digest === undefined || digest === planned()) return;
  throw staleApproval('a file is not what it was in the preview');
}

export function stopIfCancelled({ signal }: CallContext): void {
  if (signal.aborted) throw new ExecutionCancelled();
}

/** Removes directories that were created for a file that could not be written, up to the first that is not empty. */
export function removeCreated({ root }: Pick<Workspace, 'root'>, created: readonly string[]): void {
  tryOr(() => {
    for (const path of created.toReversed()) {
      const above = openDirectory(root, dirname(path));
      try {
        rmdirSync(above.at(basename(path)));
      } finally {
        above.close();
      }
    }
  }, undefined);
}

interface EditorWrite {
  readonly plan: PlannedChange;
  readonly directory: WorkspaceDirectory;
  readonly name: string;
  readonly toolId: string;
  /** Throws if the file on disk is not the planned one any more. */
  readonly confirm: () => Promise<void>;
}

/**
 * Changes a file that is open in the person's editor: the buffer gets the new text, so that undo works there, and the
 * editor saves it (RN-9). If a formatter changes the text on saving, the approved bytes are written over it. Returns
 * false if the caller must write to the disk: the file is not open, or its buffer is older than the disk.
 */
async function writeInEditor(write: EditorWrite, workspace: Workspace): Promise<boolean> {
  const { plan, confirm } = write;
  const document = openDocumentAt(workspace, plan.path);
  const before = plan.before && decodeText(plan.before.bytes);
  const after = plan.after && decodeText(plan.after);
  if (!document || !before || !after) return false;
  await confirm();
  const isReplaced = await workspace.documents?.replace(document.path, {
    expected: before.text,
    text: after.text,
  });
  if (isReplaced) {
    await writeApprovedBytes(write, workspace);
    return true;
  }
  if (plan.saved || openDocumentAt(workspace, plan.path)?.isUnsaved)
    throw staleApproval(`"${plan.path}" has another text in the editor now`);
  return false;
}

/** Writes the approved bytes if the file that the editor saved is different, for example because of a formatter. */
async function writeApprovedBytes(
  { plan, directory, name, toolId }: EditorWrite,
  { limits }: Workspace,
): Promise<void> {
  const { path, mode, before } = plan;
  const bytes = plan.after ?? new Uint8Array();
  const saved = await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes });
  if (saved?.version === versionOf(bytes)) return;
  const confirm = () => {
    if (identityNow(directory, name) === saved?.identity) return;
    throw new CountersignError('EXECUTION_FAILED', { problem: `"${path}" was changed while it was saved` });
  };
  await replaceFile({ directory, name, bytes, mode, owner: before?.owner, toolId, confirm });
}

const staleApproval = (problem: string): CountersignError =>
  new CountersignError('APPROVAL_STALE', { problem });
