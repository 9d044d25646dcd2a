import { CountersignError } from '@countersign/protocol';
import { versionOf } from '../file-change.ts';
import { openDocumentAt } from '../open-documents.ts';
import type { Workspace } from '../workspace.ts';
import { replaceFile } from './atomic-write.ts';
import type { PlannedChange } from './file-plan.ts';
import { identityNow, takeSnapshot } from './file-snapshot.ts';
import { decodeText } from './text-encoding.ts';
import type { WorkspaceDirectory } from './workspace-directory.ts';

export interface EditorWrite {
  readonly plan: PlannedChange;
  readonly directory: WorkspaceDirectory;
  readonly name: string;
  readonly toolId: string;
  /** The last look at the disk; throws when the file is not the planned one any more. */
  readonly confirm: () => Promise<void>;
}

/**
 * Carries out a change of a file that is open in the person's editor: the buffer gets the new text, so that undo works
 * there, and the editor saves it (RN-9). What a formatter made of it on the way is replaced by the approved bytes.
 * Returns false if the file is not open, or its buffer is merely behind the disk: then write to the disk.
 */
export async function writeInEditor(write: EditorWrite, workspace: Workspace): Promise<boolean> {
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
    await settleBytes(write, workspace);
    return true;
  }
  if (plan.saved || openDocumentAt(workspace, plan.path)?.isUnsaved) {
    const problem = `"${plan.path}" has another text in the editor now`;
    throw new CountersignError('APPROVAL_STALE', { problem });
  }
  return false;
}

/** The saved bytes must be the approved ones; formatters that run when an editor saves do not know that. */
async function settleBytes(
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
