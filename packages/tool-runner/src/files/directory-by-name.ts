import { closeSync, fsyncSync, lstatSync, openSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { movedAway, type WorkspaceDirectory } from './workspace-directory.ts';

/**
 * Where there is no `/proc/self/fd`: the directory is known by its real name, and each use of it first looks whether
 * the same directory still stands under that name. Between that look and the use a moment remains in which
 * somebody who may change the workspace could swap it; on Linux there is none.
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
    if (process.platform === 'win32') return;
    const descriptor = openSync(this.#real, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  close(): void {}
}

function identityOf(path: string, asked: string): string {
  const stats = lstatSync(path, { bigint: true });
  if (!stats.isDirectory()) throw new CountersignError('NOT_A_DIRECTORY', { path: asked });
  return `${stats.dev}:${stats.ino}`;
}
