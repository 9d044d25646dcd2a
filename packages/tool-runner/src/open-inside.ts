import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { CountersignError } from '@countersign/protocol';

const MAX_LINKS = 40;
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Opens a path below `root` without ever trusting a name twice (VA-1). PathValidator saw this path as text, and
 * links on disk can change meanwhile: so each component is opened from the descriptor of the one before it,
 * without following links; a link is read and walked by the same rules; and the descriptor that comes out is
 * checked once more. What is swapped in between is either inside or refused. Linux only: it walks `/proc/self/fd`.
 *
 * The caller closes the descriptor. `flags` are added to O_NOFOLLOW and O_NONBLOCK (a pipe must not hang us).
 */
export function openInside(root: string, path: string, flags: number): number {
  const realRoot = realpathSync(root);
  const directories = [openSync(realRoot, directoryFlags)];
  try {
    const todo = path.split('/').reverse();
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
      const opened = openWithoutFollowing(here, isLast ? flags | constants.O_NONBLOCK | constants.O_NOFOLLOW : directoryFlags);
      if (opened === 'LINK') {
        if (++links > MAX_LINKS) throw new CountersignError('PATH_INVALID', { path, problem: 'its links never end' });
        const target = readlinkSync(here);
        if (isAbsolute(target)) {
          const below = relative(realRoot, target);
          if (below.startsWith('..') || isAbsolute(below)) throw outside(path);
          for (const directory of directories.splice(1)) closeSync(directory);
          todo.push(...below.split('/').reverse());
        } else todo.push(...target.split('/').reverse());
      } else if (isLast) {
        return checkDescriptor(opened, realRoot, path);
      } else directories.push(opened);
    }
    // The path ended in `..` or `.`: it names the directory we stand in.
    return checkDescriptor(directories.pop() as number, realRoot, path);
  } finally {
    for (const directory of directories) closeSync(directory);
  }
}

function openWithoutFollowing(path: string, flags: number): number | 'LINK' {
  try {
    return openSync(path, flags, 0o666);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A link is ELOOP for a file and ENOTDIR where a directory was asked for; readlink tells which it was.
    if (code === 'ELOOP' || (code === 'ENOTDIR' && isLink(path))) return 'LINK';
    throw error;
  }
}

function isLink(path: string): boolean {
  try {
    readlinkSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A directory that was moved out of the root while we stood in it shows here. */
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
