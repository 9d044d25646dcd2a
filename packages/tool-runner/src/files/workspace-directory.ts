import { closeSync, constants, fsyncSync, mkdirSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { openInside } from '../open-inside.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import { openDirectoryByName } from './directory-by-name.ts';
import { joinPath } from './exact-path.ts';

/**
 * An open directory of the workspace. Its entries are used through this object and never by their whole path, because a
 * link in the path may have been swapped since (VA-1). The caller closes it.
 */
export interface WorkspaceDirectory {
  /** Workspace-relative, links resolved, at the time of opening. `''` is the root. */
  readonly path: string;
  /** Returns the path for `fs` of an entry. `name` must be a name, not a path. */
  at(name: string): string;
  /** Opens a directory in this one. Does not follow a link. */
  open(name: string): WorkspaceDirectory;
  /** Throws APPROVAL_STALE if the directory has been moved since it was opened. */
  assertSamePlace(): void;
  /** Flushes the names to the disk. */
  sync(): void;
  close(): void;
}

/** The path of an open directory: workspace-relative, and for `fs`. */
export interface OpenedPath {
  readonly path: string;
  readonly fsPath: string;
}

/** Opens a directory below the root. Follows links that stay inside the root. Throws what `fs` throws. */
export function openDirectory(
  root: string,
  path: string,
  platform: NodeJS.Platform = process.platform,
): WorkspaceDirectory {
  if (platform !== 'linux') return openDirectoryByName(root, path);
  const realRoot = realpathSync(root);
  return new DirectoryByDescriptor(realRoot, openInside(realRoot, path, directoryFlags));
}

/** Returns the path of an existing directory, workspace-relative with links resolved. Throws what `fs` throws. */
export function realDirectory(root: string, asked: string): string {
  const directory = openDirectory(root, relativeToRoot(root, asked));
  directory.close();
  return directory.path;
}

/** Opens a directory that a call names, and closes it when `work` is done. Refuses a sensitive directory (VA-2). */
export async function inDirectory<T>(
  root: string,
  asked: string,
  work: (directory: OpenedPath) => Promise<T>,
): Promise<T> {
  let directory: WorkspaceDirectory | undefined;
  try {
    directory = openDirectory(root, asked);
    refuseSensitive(directory.path, asked);
    return await work({ path: directory.path, fsPath: directory.at('.') });
  } catch (error) {
    throw fileFailure(error, asked, 'READ_FAILED');
  } finally {
    directory?.close();
  }
}

/**
 * Throws PATH_SENSITIVE if an opened file is sensitive by its real path (VA-2): a link may have been swapped since the
 * policy checked the path. `real` is relative to the root; `path` is the path in the call. `lifted` are the real paths
 * that the person's own policy file allows.
 */
export function refuseSensitive(real: string, path: string, lifted?: ReadonlySet<string>): void {
  const place = sensitivePlaces.find(real);
  if (place && !lifted?.has(real)) throw new CountersignError('PATH_SENSITIVE', { path, kind: place.kind });
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** On Linux, a descriptor stays with its directory even if the directory is moved. */
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

/** The directory and name of a file, which need not exist. */
export interface Place {
  /** Workspace-relative, links resolved: the path of a link's target, not of the link. */
  readonly path: string;
  readonly name: string;
  /** Undefined if the directory does not exist. The caller closes it. */
  readonly directory: WorkspaceDirectory | undefined;
  /** Whether the last component of the path was a link. */
  readonly throughLink: boolean;
}

/** Finds the place of a path. Follows links, also to a file that does not exist. Refuses links that lead outside. */
export function findPlace(root: string, path: string): Place {
  let rest = relativeToRoot(root, path);
  for (let links = 0; links <= MAX_LINKS; links++) {
    const { parent, name } = splitLast(rest, path);
    const directory = openIfThere(root, parent);
    const throughLink = links > 0;
    if (!directory) return { path: missingPath(root, parent, name, path), name, directory, throughLink };
    const target = linkTarget(directory, name);
    if (target === undefined) return { path: joinPath(directory.path, name), name, directory, throughLink };
    directory.close();
    rest = isAbsolute(target) ? relativeToRoot(root, target) : joinPath(directory.path, target);
  }
  throw new CountersignError('PATH_INVALID', { path, problem: 'its links never end' });
}

/**
 * Opens a directory of the workspace. Creates missing directories, each from the descriptor of its parent, and adds their
 * paths to `created`, outermost first.
 */
export function openOrCreateDirectory(
  root: string,
  path: string,
  created: string[] = [],
): { readonly directory: WorkspaceDirectory; readonly created: readonly string[] } {
  const below = relativeToRoot(root, path);
  const there = openIfThere(root, below);
  if (there) return { directory: there, created };
  const { parent, name } = splitLast(below, path);
  const { directory: above } = openOrCreateDirectory(root, parent, created);
  try {
    try {
      mkdirSync(above.at(name));
      created.push(joinPath(above.path, name));
      above.sync();
    } catch (error) {
      // Another program created it first, or it is a dangling link: then opening it throws.
      if (!failedWith(error, 'EEXIST')) throw error;
    }
    return { directory: above.open(name), created };
  } finally {
    above.close();
  }
}

/** Makes a path of a call relative to the root. Throws PATH_OUTSIDE_WORKSPACE for an absolute path outside (VA-1). */
function relativeToRoot(root: string, path: string): string {
  if (!isAbsolute(path)) return path;
  if (path.startsWith(`${root}/`)) return path.slice(root.length + 1);
  const below = relative(root, path);
  if (below.startsWith('..') || isAbsolute(below))
    throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path });
  return below;
}

/** Returns undefined if the directory does not exist: on ENOENT and the other given error codes. */
export function openIfThere(
  root: string,
  path: string,
  ...codes: readonly string[]
): WorkspaceDirectory | undefined {
  try {
    return openDirectory(root, path);
  } catch (error) {
    if (failedWith(error, 'ENOENT', ...codes)) return undefined;
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

/** Returns the real path of a file whose directory is missing: the nearest existing directory plus the missing names. */
function missingPath(root: string, parent: string, name: string, asked: string): string {
  const there = parent.split('/');
  const missing = [name];
  for (;;) {
    const part = there.pop() as string; // never undefined, because the root exists
    if (part === '..') throw new CountersignError('FILE_NOT_FOUND', { path: asked });
    missing.unshift(part);
    const directory = openIfThere(root, there.join('/'));
    if (!directory) continue;
    directory.close();
    return joinPath(directory.path, missing.join('/'));
  }
}

function linkTarget(directory: WorkspaceDirectory, name: string): string | undefined {
  try {
    return readlinkSync(directory.at(name));
  } catch (error) {
    // EINVAL (UNKNOWN on Windows) means that it is not a link.
    if (failedWith(error, 'EINVAL', 'ENOENT', 'UNKNOWN')) return undefined;
    directory.close();
    throw error;
  }
}
