import { closeSync, constants, fsyncSync, mkdirSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { openInside } from '../open-inside.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import { openDirectoryByName } from './directory-by-name.ts';

/**
 * A directory of the workspace that we stand in: what happens to its names is done from here, never by walking the
 * whole path a second time (VA-1). The caller closes it.
 */
export interface WorkspaceDirectory {
  /** Workspace-relative, links resolved, as it was when it was opened; `''` is the root. */
  readonly path: string;
  /** What to give to `fs` for an entry of this directory. A name, never a path. */
  at(name: string): string;
  /** Opens a directory in this one; a link there is not followed. */
  open(name: string): WorkspaceDirectory;
  /** Throws when the directory has been moved since: out of the workspace, or to another place in it. */
  assertSamePlace(): void;
  /** Flushes the names to the disk. */
  sync(): void;
  close(): void;
}

/** Opens a directory below the root; links are followed as long as they stay inside. Throws what `fs` throws. */
export function openDirectory(
  root: string,
  path: string,
  platform: NodeJS.Platform = process.platform,
): WorkspaceDirectory {
  if (platform !== 'linux') return openDirectoryByName(root, path);
  const realRoot = realpathSync(root);
  return new DirectoryByDescriptor(realRoot, openInside(realRoot, path, directoryFlags));
}

/** Opens a directory that a call names for as long as something is read in it; a sensitive one is refused (VA-2). */
export async function inDirectory<T>(
  root: string,
  asked: string,
  work: (directory: { readonly path: string; readonly reach: string }) => Promise<T>,
): Promise<T> {
  let directory: WorkspaceDirectory | undefined;
  try {
    directory = openDirectory(root, asked);
    refuseSensitive(directory.path, asked);
    return await work({ path: directory.path, reach: directory.at('.') });
  } catch (error) {
    throw fileFailure(error, asked, 'READ_FAILED');
  } finally {
    directory?.close();
  }
}

/**
 * Refuses what was opened when it is sensitive where it really is (VA-2). The policy looked at the names that lead
 * there; a link on the way may have been swapped since. `real` is below the root; `path` is what the call said.
 * `lifted` are the real paths that the person's own policy file lifts.
 */
export function refuseSensitive(real: string, path: string, lifted?: ReadonlySet<string>): void {
  const place = sensitivePlaces.find(real);
  if (place && !lifted?.has(real)) throw new CountersignError('PATH_SENSITIVE', { path, kind: place.kind });
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** On Linux a descriptor stays with its directory, whatever happens to the names that led to it. */
class DirectoryByDescriptor implements WorkspaceDirectory {
  readonly path: string;
  readonly #root: string;
  readonly #descriptor: number;

  constructor(root: string, descriptor: number) {
    this.#root = root;
    this.#descriptor = descriptor;
    this.path = this.#whereNow().slice(root.length + 1);
  }

  at(name: string): string {
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }

  open(name: string): WorkspaceDirectory {
    return new DirectoryByDescriptor(this.#root, openSync(this.at(name), directoryFlags));
  }

  assertSamePlace(): void {
    const expected = this.path === '' ? this.#root : `${this.#root}/${this.path}`;
    if (this.#whereNow() !== expected) throw movedAway(this.path);
  }

  sync(): void {
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #whereNow(): string {
    return readlinkSync(`/proc/self/fd/${this.#descriptor}`);
  }
}

export const movedAway = (path: string): CountersignError =>
  new CountersignError('APPROVAL_STALE', { problem: `the directory "${path || '.'}" was moved` });

const MAX_LINKS = 40;

/** Where a file is or would be: a directory and a name in it. */
export interface Place {
  /** Workspace-relative, links resolved: the file that a link leads to, not the link. */
  readonly path: string;
  readonly name: string;
  /** Undefined where the directory is not there yet. The caller closes it. */
  readonly directory: WorkspaceDirectory | undefined;
  /** Whether the path itself was a link. */
  readonly throughLink: boolean;
}

/**
 * Finds the place that a path names. A link is followed to the file it leads to, also to one that is not there yet;
 * what leads outside is refused. Nothing is created.
 */
export function findPlace(root: string, path: string): Place {
  let rest = belowRoot(root, path);
  for (let links = 0; links <= MAX_LINKS; links++) {
    const { parent, name } = splitLast(rest, path);
    const directory = openIfThere(root, parent);
    if (!directory)
      return {
        path: missingPath(root, parent, name, path),
        name,
        directory: undefined,
        throughLink: links > 0,
      };
    const target = linkTarget(directory, name);
    if (target === undefined)
      return { path: joined(directory.path, name), name, directory, throughLink: links > 0 };
    directory.close();
    rest = isAbsolute(target) ? belowRoot(root, target) : joined(directory.path, target);
  }
  throw new CountersignError('PATH_INVALID', { path, problem: 'its links never end' });
}

/**
 * Opens a directory of the workspace and creates what is missing on the way, each from the descriptor of the one
 * before it. `created` are the new ones, outermost first.
 */
export function openOrCreateDirectory(
  root: string,
  path: string,
  created: string[] = [],
): { readonly directory: WorkspaceDirectory; readonly created: readonly string[] } {
  const below = belowRoot(root, path);
  const there = openIfThere(root, below);
  if (there) return { directory: there, created };
  const { parent, name } = splitLast(below, path);
  const { directory: above } = openOrCreateDirectory(root, parent, created);
  try {
    try {
      mkdirSync(above.at(name));
      created.push(joined(above.path, name));
      above.sync();
    } catch (error) {
      // Somebody was quicker, or a link to nowhere stands there: opening it tells.
      if (!failedWith(error, 'EEXIST')) throw error;
    }
    return { directory: above.open(name), created };
  } finally {
    above.close();
  }
}

/** A path of a call as the walk takes it: relative to the root. Absolute ones inside the root are allowed (VA-1). */
export function belowRoot(root: string, path: string): string {
  if (!isAbsolute(path)) return path;
  if (path.startsWith(`${root}/`)) return path.slice(root.length + 1);
  const below = relative(root, path);
  if (below.startsWith('..') || isAbsolute(below))
    throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path });
  return below;
}

function openIfThere(root: string, path: string): WorkspaceDirectory | undefined {
  try {
    return openDirectory(root, path);
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function splitLast(path: string, asked: string): { parent: string; name: string } {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const name = parts.pop();
  if (name === undefined) throw new CountersignError('PATH_IS_ROOT', { path: asked });
  if (name === '..') throw new CountersignError('IS_A_DIRECTORY', { path: asked });
  return { parent: parts.join('/'), name };
}

/** The real path of something whose directory is missing: below the last directory that is there. */
function missingPath(root: string, parent: string, name: string, asked: string): string {
  const there = parent.split('/');
  const missing = [name];
  for (;;) {
    const part = there.pop() as string; // the root is always there
    if (part === '..') throw new CountersignError('FILE_NOT_FOUND', { path: asked });
    missing.unshift(part);
    const directory = openIfThere(root, there.join('/'));
    if (!directory) continue;
    directory.close();
    return joined(directory.path, missing.join('/'));
  }
}

function linkTarget(directory: WorkspaceDirectory, name: string): string | undefined {
  try {
    return readlinkSync(directory.at(name));
  } catch (error) {
    // EINVAL: not a link (UNKNOWN on Windows).
    if (failedWith(error, 'EINVAL', 'ENOENT', 'UNKNOWN')) return undefined;
    directory.close();
    throw error;
  }
}

const joined = (directory: string, rest: string): string =>
  directory === '' ? rest : `${directory}/${rest}`;
