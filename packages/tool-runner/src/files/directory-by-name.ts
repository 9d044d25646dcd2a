import { closeSync, fsyncSync, lstatSync, openSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { movedAway, type WorkspaceDirectory } from './workspace-directory.ts';

/**
 * Opens a directory on a system without `/proc/self/fd`. The directory is used by its real path, and each use first checks
 * that this path still leads to the same directory. Unlike on Linux, the directory can be swapped between check and use.
 */
export function openDirectoryByName(root: string, path: string): WorkspaceDirectory {
  const realRoot = realpathSync(root);
  return new DirectoryByName(realRoot, realpathSync(join(realRoot, path)), path);
}

class DirectoryByName implements WorkspaceDirectory {
  readonly path: string;
  readonly #root: string;
  readonly #real: string;
  readonly #identity: string;

  constructor(root: string, real: string, asked: string) {
    const below = relative(root, real);
    if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below))
      throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path: asked });
    this.path = below.split(sep).join('/');
    this.#root = root;
    this.#real = real;
    this.#identity = identityOf(real, asked);
  }

  at(name: string): string {
    this.assertSamePlace();
    return join(this.#real, name);
  }

  open(name: string): WorkspaceDirectory {
    return new DirectoryByName(this.#root, this.at(name), `${this.path}/${name}`);
  }

  assertSamePlace(): void {
    if (realpathSync(this.#real) !== this.#real || identityOf(this.#real, this.path) !== this.#identity)
      throw movedAway(this.path);
  }

  sync(): void {
    // Windows cannot open a directory, and flushes names by itself.
    if (process.platform !== 'win32') flushDirectory(this.#real);
  }

  close(): void {}
}

/** Flushes the names in a directory to the disk. */
export function flushDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function identityOf(path: string, asked: string): string {
  const stats = lstatSync(path, { bigint: true });
  if (!stats.isDirectory()) throw new CountersignError('NOT_A_DIRECTORY', { path: asked });
  return `${stats.dev}:${stats.ino}`;
}
