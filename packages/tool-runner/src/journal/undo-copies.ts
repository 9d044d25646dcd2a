import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { flushDirectory } from '../files/directory-by-name.ts';
import { copyContent } from '../layers/copy-content.ts';
import { type EntryNow, entryNow } from '../layers/entry-now.ts';
import { failedWith } from '../real-disk.ts';

/** Copies of files before a call changed them, in a folder that only this person can enter. */
export class UndoCopies {
  readonly folder: string;
  /** Copies that the journal does not name yet. */
  readonly #unrecorded = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Writes a copy and flushes it to disk, so that the journal may refer to it. */
  keep(name: string, bytes: Uint8Array): void {
    const descriptor = openSync(this.pathOf(name), 'w', 0o600);
    try {
      writeFileSync(descriptor, bytes);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    flushDirectory(this.folder);
  }

  /**
   * Keeps a file that is about to be replaced or removed: by a hard link if it has one name and is on the same disk,
   * otherwise by a copy. Flushes nothing, and call `recorded` when the journal names the copy. Returns the entry as it is afterwards (a link changes its ctime); undefined if
   * the file is no longer the expected entry.
   *
   * A program that still has the file open can write into a hard link, so compare the version before using the copy.
   */
  async keepEntry(name: string, at: string | Buffer, expected: EntryNow): Promise<EntryNow | undefined> {
    const path = this.pathOf(name);
    this.#unrecorded.add(name);
    if (expected.names === 1 && tryLink(at, path)) {
      const linked = entryNow(path);
      const isExpected =
        linked?.dev === expected.dev &&
        linked.ino === expected.ino &&
        linked.mode === expected.mode &&
        linked.size === expected.size &&
        linked.mtimeNs === expected.mtimeNs;
      if (isExpected) return linked;
      this.remove([name]);
      return undefined;
    }
    await copyContent(at, path, expected);
    if (entryNow(at)?.identity === expected.identity) return expected;
    this.remove([name]);
    return undefined;
  }

  read(name: string): Buffer {
    return readFileSync(this.pathOf(name));
  }

  recorded(names: Iterable<string>): void {
    for (const name of names) this.#unrecorded.delete(name);
  }

  remove(names: Iterable<string>): void {
    for (const name of names) {
      rmSync(this.pathOf(name), { force: true });
      this.#unrecorded.delete(name);
    }
  }

  /** Removes all other copies, which were pruned from the journal or left by a killed process. */
  keepOnly(names: ReadonlySet<string>): void {
    this.remove(readdirSync(this.folder).filter((name) => !names.has(name) && !this.#unrecorded.has(name)));
  }

  pathOf(name: string): string {
    return join(this.folder, name);
  }
}

/** False if this disk, or these permissions, do not allow a hard link. */
function tryLink(at: string | Buffer, path: string): boolean {
  try {
    linkSync(at, path);
    return true;
  } catch (error) {
    if (failedWith(error, 'EXDEV', 'EPERM', 'EMLINK', 'EACCES', 'ENOTSUP', 'ENOSYS')) return false;
    throw error;
  }
}
