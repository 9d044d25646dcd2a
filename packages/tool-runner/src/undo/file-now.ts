import { dirname, posix } from 'node:path';
import { failedWith } from '../files/file-failure.ts';
import { type FileSnapshot, takeSnapshot } from '../files/file-snapshot.ts';
import { openDirectory, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import type { Workspace } from '../workspace.ts';

/** The file that stands at a path of the workspace now, by descriptors (VA-1); undefined where there is none. */
export async function fileNow({ root, limits }: Workspace, path: string): Promise<FileSnapshot | undefined> {
  let directory: WorkspaceDirectory;
  try {
    directory = openDirectory(root, dirname(path));
  } catch (error) {
    if (failedWith(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
  try {
    return await takeSnapshot(directory, posix.basename(path), { path, maxBytes: limits.fileBytes });
  } finally {
    directory.close();
  }
}
