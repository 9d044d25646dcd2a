import { dirname, posix } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { DIRECTORY, type FileSnapshot, takeSnapshot } from '../files/file-snapshot.ts';
import { movedAway, openDirectory, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import { failedWith } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';

/** A directory that stands where a tool made it. */
export interface DirectoryNow {
  readonly version: typeof DIRECTORY;
}

/**
 * The file or directory that stands at a path of the workspace now, by descriptors (VA-1); undefined where there is
 * none. Throws where it is something else, and where a link leads from there to another place: what is recorded of a
 * path was true of the folder that stood there, not of one that has its name now.
 */
export async function fileNow(
  { root, limits }: Workspace,
  path: string,
): Promise<FileSnapshot | DirectoryNow | undefined> {
  const folder = dirname(path);
  let directory: WorkspaceDirectory;
  try {
    directory = openDirectory(root, folder);
  } catch (error) {
    if (failedWith(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
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

/** Whether an opened directory is the one at this path, and not what a link there leads to. */
export const isAt = (directory: WorkspaceDirectory, path: string): boolean =>
  directory.path === (path === '.' ? '' : path);
