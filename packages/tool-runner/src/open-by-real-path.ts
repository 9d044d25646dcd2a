import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { CountersignError } from '@countersign/protocol';

/**
 * `openInside` for systems without `/proc/self/fd`. Resolves the path before and after opening and compares the opened
 * file with the one at that path, so a link that is swapped once is noticed. A link that is swapped and restored in
 * between is not: only walking by descriptors can guarantee that.
 *
 * `flags` must not truncate: that would happen before the check.
 */
export function openByRealPath(root: string, path: string, flags: number): number {
  const realRoot = realpathSync.native(root);
  const before = realPathInside(realRoot, path);
  const descriptor = openSync(before, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666);
  try {
    const opened = fstatSync(descriptor, { bigint: true });
    const named = lstatSync(before, { bigint: true });
    if (realPathInside(realRoot, path) !== before || opened.ino !== named.ino || opened.dev !== named.dev)
      throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path });
    if (!opened.isFile() && !opened.isDirectory())
      throw new CountersignError('NOT_A_REGULAR_FILE', { path, kind: 'device, pipe or socket' });
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Resolves the links of a path; its last component need not exist. Throws if it leads outside. */
function realPathInside(realRoot: string, path: string): string {
  const absolute = path.startsWith(sep) ? path : join(realRoot, path);
  const real =
    existing(absolute) ?? join(realpathSync.native(dirname(resolve(absolute))), basename(absolute));
  if (real === realRoot || real.startsWith(realRoot + sep)) return real;
  throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path });
}

function existing(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
