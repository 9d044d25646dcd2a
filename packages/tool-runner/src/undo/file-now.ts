import { dirname, posix } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { DIRECTORY, type FileSnapshot, takeSnapshot } from '../files/file-snapshot.ts';
import { movedAway, openIfThere, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import type { Workspace } from '../workspace.ts';

export interface DirectoryNow {
  readonly version: typeof DIRECTORY;
}

/**
 * Reads the file or directory at a path of the workspace, by descriptors (VA-1); undefined if there is none. Throws if it
 * is neither, or if the path contains a link now: the journal's record is about the original folder, not about the
 * link's target.
 */
export async function fileNow(
  { root, limits }: Workspace,
  path: string,
): Promise<FileSnapshot | DirectoryNow | undefined> {
  const folder = dirname(path);
  const directory = openIfThere(root, folder, 'ENOTDIR');
  if (!directory) return undefined;
  try {
    if (!isAt(directory, folder)) throw movedAway(folder);
    return await takeSnapshot(directory, posix.basename(path), { path, maxBytes: limits.fileBytes });
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'IS_A_DIRECTORY') return { version: DIRECTORY };
    throw error;
  } finally {
    directory.close();
  }
}

export const isDirectory = (now: FileSnapshot | DirectoryNow | undefined): now is DirectoryNow =>
  now?.version === DIRECTORY;

/** False if the directory was opened through a link. */
export const isAt = (directory: WorkspaceDirectory, path: string): boolean =>
  directory.path === (path === '.' ? '' : path);
