import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { statFlags } from '../files/exact-path.ts';
import { toDiskPath } from '../isolation/disk-names.ts';
import { failedWith } from '../real-disk.ts';
import { entryNow } from './entry-now.ts';

type DiskPath = string | Buffer;

interface OpenFolder {
  readonly name: string;
  readonly descriptor: number;
  /** The path where the folder was when it was opened, as bytes in Latin-1. */
  readonly place: string;
}

/**
 * Reaches many entries below a folder, by descriptors and without following links (VA-1). Folders stay open from one path
 * to the next, so sorted paths are quick. A folder that is moved or swapped for a link meanwhile is noticed at the next
 * entry. On systems without `/proc/self/fd` the path is checked before each use instead.
 */
export class FolderWalk {
  readonly #base: string;
  readonly #open: OpenFolder[] = [];

  /** `base` is absolute, with its links resolved. */
  constructor(base: string) {
    this.#base = base;
  }

  /** What to pass to `fs` for an entry, valid until the next call. Undefined if its folder is not there. */
  at(path: string): DiskPath | undefined {
    const slash = path.lastIndexOf('/');
    const name = path.slice(slash + 1);
    if (name === '' || name === '.' || name === '..') return undefined;
    const folder = slash < 0 ? '' : path.slice(0, slash);
    if (process.platform !== 'linux') return this.#byName(folder, name);
    const descriptor = this.#enter(folder);
    return descriptor === undefined ? undefined : toDiskPath(`/proc/self/fd/${descriptor}/${name}`);
  }

  /** The path of what is in the way to an entry and is not a folder, such as a link; undefined if nothing is. */
  blockedAt(path: string): string | undefined {
    for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
      const above = path.slice(0, slash);
      const entry = entryNow(this.at(above));
      if (!entry) return undefined;
      if (entry.type !== 'directory') return above;
    }
    return undefined;
  }

  /** Creates the missing folders above an entry. Returns false if something else is in the way. */
  makeFoldersAbove(path: string): boolean {
    if (this.at(path) !== undefined) return true;
    const parts = path.split('/').slice(0, -1);
    for (let length = 1; length <= parts.length; length++) {
      const at = this.at(parts.slice(0, length).join('/'));
      if (at === undefined) return false;
      try {
        mkdirSync(at);
      } catch (error) {
        if (!failedWith(error, 'EEXIST')) throw error;
      }
    }
    return this.at(path) !== undefined;
  }

  /**
   * Changes the mode, and the modification time in seconds, of exactly the entry whose device and inode are `expected`.
   * Returns false if another entry is there. Never follows a link.
   */
  adjust(
    path: string,
    expected: EntryId,
    { mode, mtime }: { mode?: number | undefined; mtime?: number | undefined },
  ): boolean {
    const at = this.at(path);
    if (at === undefined) return false;
    const descriptor = openSync(at, statFlags | constants.O_NOFOLLOW);
    try {
      const { dev, ino } = fstatSync(descriptor, { bigint: true });
      if (dev !== expected.dev || ino !== expected.ino) return false;
      const entry = process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : at;
      if (mode !== undefined) chmodSync(entry, mode);
      if (mtime !== undefined) utimesSync(entry, mtime, mtime);
      return true;
    } finally {
      closeSync(descriptor);
    }
  }

  /**
   * Calls `work`, which changes the names in the folder of `path`. If the folder is write-protected and ours, it is
   * made writable meanwhile: a command may protect a folder after it has written there.
   */
  async writing<T>(path: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!failedWith(error, 'EACCES')) throw error;
      const folder = this.at(path) === undefined ? undefined : this.#open.at(-1);
      if (!folder) throw error;
      const here = `/proc/self/fd/${folder.descriptor}`;
      const { mode } = fstatSync(folder.descriptor);
      chmodSync(here, (mode & 0o7777) | 0o700);
      try {
        return await work();
      } finally {
        chmodSync(here, mode & 0o7777);
      }
    }
  }

  close(): void {
    for (const { descriptor } of this.#open.splice(0)) closeSync(descriptor);
  }

  #enter(folder: string): number | undefined {
    const parts = ['', ...(folder === '' ? [] : folder.split('/'))];
    let shared = 0;
    while (shared < parts.length && this.#open[shared]?.name === parts[shared]) shared++;
    const last = this.#open[shared - 1];
    if (last && placeOf(last.descriptor) !== last.place) shared = 0;
    for (const { descriptor } of this.#open.splice(shared)) closeSync(descriptor);
    try {
      for (const name of parts.slice(shared)) this.#open.push(this.#openNext(name));
    } catch (error) {
      if (failedWith(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) return undefined;
      throw error;
    }
    return this.#open.at(-1)?.descriptor;
  }

  #openNext(name: string): OpenFolder {
    const above = this.#open.at(-1);
    const path = above ? toDiskPath(`/proc/self/fd/${above.descriptor}/${name}`) : this.#base;
    const descriptor = openSync(path, folderFlags);
    const place = placeOf(descriptor);
    const expected = above ? `${above.place === '/' ? '' : above.place}/${latin1(name)}` : latin1(this.#base);
    if (place === expected) return { name, descriptor, place };
    closeSync(descriptor);
    throw Object.assign(new Error('The folder was moved'), { code: 'ENOTDIR' });
  }

  #byName(folder: string, name: string): string | undefined {
    const expected = join(this.#base, folder);
    try {
      return realpathSync.native(expected) === expected ? join(expected, name) : undefined;
    } catch (error) {
      if (failedWith(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
      throw error;
    }
  }
}

export interface EntryId {
  readonly dev: bigint;
  readonly ino: bigint;
}

const folderFlags = statFlags | constants.O_DIRECTORY | constants.O_NOFOLLOW;

const placeOf = (descriptor: number): string => readlinkSync(`/proc/self/fd/${descriptor}`, 'latin1');

const latin1 = (path: string): string => Buffer.from(toDiskPath(path)).toString('latin1');
