import { dirname, posix } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { removeFile, replaceFile } from '../files/atomic-write.ts';
import { fileFailure } from '../files/file-failure.ts';
import { identityNow } from '../files/file-snapshot.ts';
import { openOrCreateDirectory } from '../files/place.ts';
import type { Journal } from '../journal/journal.ts';
import type { Workspace } from '../workspace.ts';
import type { Restoration } from './undo-plan.ts';

/**
 * Puts one file back, at once and inside the root only. Throws UNDO_CONFLICT when it was changed after the plan was
 * made. Answers what happened to the file, undefined when it stood there already as it was.
 */
export async function restoreFile(
  { root }: Workspace,
  journal: Journal,
  { path, now, target }: Restoration,
): Promise<'created' | 'modified' | 'deleted' | undefined> {
  if ((now?.version ?? null) === target.before) return undefined;
  const name = posix.basename(path);
  try {
    const { directory } = openOrCreateDirectory(root, dirname(path));
    try {
      const confirm = () => {
        if (identityNow(directory, name) !== now?.identity)
          throw new CountersignError('UNDO_CONFLICT', { path });
      };
      if (target.copy === undefined) {
        await removeFile(directory, name, confirm);
        return 'deleted';
      }
      const bytes = journal.originalOf(target.copy);
      const { mode, toolId } = target;
      await replaceFile({ directory, name, bytes, mode, owner: now?.owner, toolId, confirm });
      return now ? 'modified' : 'created';
    } finally {
      directory.close();
    }
  } catch (error) {
    throw fileFailure(error, path, 'WRITE_FAILED');
  }
}
