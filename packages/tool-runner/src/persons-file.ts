import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** More than anybody writes by hand; the file is read for each call. */
export const MAX_SETTINGS_BYTES = 1024 * 1024;

export type PersonsFile =
  | { readonly state: 'missing' }
  | { readonly state: 'read'; readonly text: string }
  /** The file exists and must not be trusted. */
  | { readonly state: 'refused'; readonly problem: string };

/**
 * Reads a configuration file that only the person can have written. Refuses a file that is not theirs (or root's), that
 * others may write, whose folder others may write, or that is in the workspace, if there is one, where a tool could change it.
 */
export function readPersonsFile(path: string, workspaceRoot?: string): PersonsFile {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { state: 'missing' } : { state: 'refused', problem: `${path}: ${message}` };
  }
  try {
    const problem = problemOf(descriptor, path, workspaceRoot);
    if (problem !== undefined) return { state: 'refused', problem: `${path} ${problem}` };
    return { state: 'read', text: readFileSync(descriptor, 'utf8') };
  } finally {
    closeSync(descriptor);
  }
}

function problemOf(descriptor: number, path: string, workspaceRoot: string | undefined): string | undefined {
  const stats = fstatSync(descriptor);
  if (!stats.isFile()) return 'is not a regular file';
  if (stats.size > MAX_SETTINGS_BYTES) return `has more than ${MAX_SETTINGS_BYTES} bytes`;
  const me = process.getuid?.();
  if (me !== undefined && stats.uid !== me && stats.uid !== 0) return 'does not belong to you';
  if ((stats.mode & 0o022) !== 0) return 'can be written by others; run chmod go-w on it';
  const real = realpathSync(path);
  if ((statSync(dirname(real)).mode & 0o022) !== 0)
    return 'stands in a folder that others can write; run chmod go-w on that';
  if (workspaceRoot !== undefined && (real === workspaceRoot || real.startsWith(`${workspaceRoot}/`)))
    return 'is inside the workspace';
  return undefined;
}
