import { rmdirSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { removeFile, replaceFile } from '../files/atomic-write.ts';
import { DIRECTORY, type FileChange, identityNow } from '../files/file-snapshot.ts';
import { openOrCreateDirectory, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import type { Journal } from '../journal/journal.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import { isAt, isDirectory } from './file-now.ts';
import type { Restoration } from './undo-plan.ts';

/**
 * Restores one file or directory atomically. First journals the replaced content as a change of the undo itself, so that
 * the undo can be reverted. Throws UNDO_CONFLICT if the file was changed after the plan was made. Returns the operation;
 * undefined if the file was already restored.
 */
export async function restoreFile(
  { root }: Workspace,
  journal: Journal,
  restoration: Restoration,
  undoId: string,
): Promise<FileChange['operation'] | undefined> {
  const { path, now, target } = restoration;
  const before = now?.version ?? null;
  const after = target.before;
  if (before === after) return undefined;
  const operation = before === null ? 'created' : after === null ? 'deleted' : 'modified';
  const original = now && !isDirectory(now) ? { bytes: now.bytes, mode: now.mode } : undefined;
  try {
    journal.recordChanges(undoId, 1, [{ path, operation, before, after, original }]);
    const folder = after === DIRECTORY ? path : dirname(path);
    const { directory } = openOrCreateDirectory(root, folder);
    try {
      if (!isAt(directory, folder)) throw new CountersignError('UNDO_CONFLICT', { path: `"${path}"` });
      if (after !== DIRECTORY) await putBack(directory, journal, restoration);
    } finally {
      directory.close();
    }
    return operation;
  } catch (error) {
    throw fileFailure(error, path, 'WRITE_FAILED');
  }
}

async function putBack(
  directory: WorkspaceDirectory,
  journal: Journal,
  { path, now, target }: Restoration,
): Promise<void> {
  const name = posix.basename(path);
  if (isDirectory(now)) return removeEmpty(directory, name, path);
  const confirm = () => {
    if (identityNow(directory, name) !== now?.identity)
      throw new CountersignError('UNDO_CONFLICT', { path: `"${path}"` });
  };
  if (target.copy === undefined) return removeFile(directory, name, confirm);
  const bytes = journal.originalOf(target.copy);
  const { mode, toolId } = target;
  return replaceFile({ directory, name, bytes, mode, owner: now?.owner, toolId, confirm });
}

/** Throws UNDO_CONFLICT if the directory is not empty. */
function removeEmpty(directory: WorkspaceDirectory, name: string, path: string): void {
  try {
    rmdirSync(directory.at(name));
    directory.sync();
  } catch (error) {
    if (failedWith(error, 'ENOTEMPTY', 'ENOTDIR'))
      throw new CountersignError('UNDO_CONFLICT', { path: `"${path}"` });
    throw error;
  }
}
