import { CountersignError } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { failedWith, fileFailure } from './file-failure.ts';
import { identityNow } from './file-snapshot.ts';
import { belowRoot, findPlace } from './place.ts';
import { openDirectory } from './workspace-directory.ts';

/** What create_directory will do. */
export interface PlannedDirectory {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  /** Then nothing is left to do. */
  readonly exists: boolean;
  /** It and those above it that are not there, the outermost first. */
  readonly missing: readonly string[];
}

/** Looks where a directory is or would be. Throws FILE_EXISTS where something else stands there. */
export function planDirectory({ root }: Workspace, asked: string): PlannedDirectory {
  try {
    return { path: pathOfDirectory(root, belowRoot(root, asked)), exists: true, missing: [] };
  } catch (error) {
    if (!failedWith(error, 'ENOENT', 'ENOTDIR')) throw fileFailure(error, asked, 'READ_FAILED');
  }
  try {
    const { directory, name, path } = findPlace(root, asked);
    const other = directory && identityNow(directory, name);
    directory?.close();
    if (other !== undefined) throw new CountersignError('FILE_EXISTS', { path });
    return { path, exists: false, missing: missingOnTheWay(root, path) };
  } catch (error) {
    throw fileFailure(error, asked, 'READ_FAILED');
  }
}

function pathOfDirectory(root: string, path: string): string {
  const directory = openDirectory(root, path);
  directory.close();
  return directory.path;
}

function missingOnTheWay(root: string, path: string): string[] {
  const parts = path.split('/');
  const all = parts.map((_, i) => parts.slice(0, i + 1).join('/'));
  return all.filter((one) => !isThere(root, one));
}

function isThere(root: string, path: string): boolean {
  try {
    pathOfDirectory(root, path);
    return true;
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return false;
    throw error;
  }
}
