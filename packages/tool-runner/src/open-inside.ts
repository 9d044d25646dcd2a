import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { openByRealPath } from './open-by-real-path.ts';
import { realDisk } from './real-disk.ts';

const MAX_LINKS = 40;
const MAX_SWAPS = 3;
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Opens a path below `root`, and refuses every path that leads outside, even if a link is swapped meanwhile (VA-1).
 * PathValidator checked the path as text, and links on disk can change after that. So each component is opened from the
 * descriptor of its parent, without following links; the target of a link is walked by the same rules; and the final
 * descriptor is checked once more. This needs `/proc/self/fd`, which only Linux has; elsewhere `openByRealPath` is used,
 * which guarantees less.
 *
 * `path` is relative to the root, or absolute and below it. The caller closes the descriptor. `flags` are added to
 * O_NOFOLLOW and O_NONBLOCK (a pipe must not hang us).
 */
export function openInside(root: string, path: string, flags: number): number {
  if (process.platform !== 'linux') return openByRealPath(root, path, flags);
  const realRoot = realpathSync.native(root);
  const directories = [openSync(realRoot, directoryFlags)];
  try {
    const todo = (isAbsolute(path) ? belowRoot(realRoot, path) : path).split('/').reverse();
    let links = 0;
    while (todo.length > 0) {
      const part = todo.pop() as string;
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (directories.length === 1) throw outside(path);
        closeSync(directories.pop() as number);
        continue;
      }
      const here = `/proc/self/fd/${directories.at(-1)}/${part}`;
      const isLast = todo.every((rest) => rest === '' || rest === '.');
      const opened = openWithoutFollowing(
        here,
        isLast ? flags | constants.O_NONBLOCK | constants.O_NOFOLLOW : directoryFlags,
      );
      if (typeof opened !== 'number') {
        if (++links > MAX_LINKS)
          throw new CountersignError('PATH_INVALID', { path, problem: 'its links never end' });
        if (isAbsolute(opened.target)) {
          const below = belowRoot(realRoot, opened.target, path);
          for (const directory of directories.splice(1)) closeSync(directory);
          todo.push(...below.split('/').reverse());
        } else todo.push(...opened.target.split('/').reverse());
      } else if (isLast) {
        return checkDescriptor(opened, realRoot, path);
      } else directories.push(opened);
    }
    // The path ended in `..` or `.`: it names the directory that was reached last.
    return checkDescriptor(directories.pop() as number, realRoot, path);
  } finally {
    for (const directory of directories) closeSync(directory);
  }
}

/** An absolute path relative to the root. If it begins with the root literally, its `..` are kept and walked. */
function belowRoot(realRoot: string, absolute: string, path = absolute): string {
  if (absolute.startsWith(`${realRoot}/`)) return absolute.slice(realRoot.length + 1);
  const below = relative(realRoot, absolute);
  if (below === '..' || below.startsWith('../') || isAbsolute(below)) throw outside(path);
  return below;
}

/** Returns a descriptor, or the link's target if the path is a link. */
function openWithoutFollowing(path: string, flags: number): number | { target: string } {
  for (let tries = 0; ; tries++) {
    try {
      return openSync(path, flags, 0o666);
    } catch (error) {
      // O_NOFOLLOW refuses a link with ELOOP, or with ENOTDIR if O_DIRECTORY is set too.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
      const target = realDisk.readLink(path);
      if (target !== undefined) return { target };
      // Not a link: it is a plain file where a directory must be, or it was swapped just now. Try again.
      if (tries >= MAX_SWAPS) throw error;
    }
  }
}

/** Checks that the descriptor is below the root: a directory on the way may have been moved out meanwhile. */
function checkDescriptor(descriptor: number, realRoot: string, path: string): number {
  const real = readlinkSync(`/proc/self/fd/${descriptor}`);
  const stats = fstatSync(descriptor);
  const isInside = real === realRoot || real.startsWith(`${realRoot}/`);
  if (isInside && (stats.isFile() || stats.isDirectory())) return descriptor;
  closeSync(descriptor);
  if (!isInside) throw outside(path);
  throw new CountersignError('NOT_A_REGULAR_FILE', { path, kind: 'device, pipe or socket' });
}

const outside = (path: string): CountersignError => new CountersignError('PATH_OUTSIDE_WORKSPACE', { path });
