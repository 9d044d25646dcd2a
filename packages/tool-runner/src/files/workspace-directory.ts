import { closeSync, constants, fsyncSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { openInside } from '../open-inside.ts';
import { openDirectoryByName } from './directory-by-name.ts';
import { fileFailure } from './file-failure.ts';

/**
 * A directory of the workspace that we stand in: what happens to its names is done from here, never by walking the
 * whole path a second time (VA-1). Whoever opened it closes it.
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
