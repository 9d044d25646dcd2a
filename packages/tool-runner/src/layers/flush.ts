import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { failedWith } from '../real-disk.ts';

/** More entries than this are flushed with their whole file system, which is quicker. */
const FEW = 32;

/**
 * Flushes files and the names in folders to the disk. `below` is a folder on the same file system; the system's `sync`
 * flushes that file system if there are many entries. `at` returns the path of an entry. Entries that are gone are skipped.
 */
export async function flush(
  entries: readonly string[],
  below: string,
  at: (entry: string) => string | Buffer,
): Promise<void> {
  if (entries.length > FEW && (await flushFileSystem(below))) return;
  for (const entry of entries) await flushEntry(at(entry));
}

/** False if the system's `sync` cannot flush one file system. */
async function flushFileSystem(folder: string): Promise<boolean> {
  try {
    await promisify(execFile)('sync', ['-f', folder]);
    return true;
  } catch {
    return false;
  }
}

async function flushEntry(path: string | Buffer): Promise<void> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    // Some file systems flush by themselves and do not support fsync; a link or an unreadable file cannot be opened.
    if (!failedWith(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENXIO')) throw error;
  }
}
