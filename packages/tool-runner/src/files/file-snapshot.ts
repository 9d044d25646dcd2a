import { hash } from 'node:crypto';
import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CountersignError } from '@countersign/protocol';
import { failedWith } from '../real-disk.ts';
import type { WorkspaceDirectory } from './workspace-directory.ts';

/** The state of a path: `sha256:` and the hexadecimal digest for a file, `directory`, or null if nothing is there. */
export type FileVersion = string | null;
export const versionOf = (bytes: Uint8Array): NonNullable<FileVersion> => `sha256:${hash('sha256', bytes)}`;
export const DIRECTORY = 'directory';

export interface FileChange {
  /** Workspace-relative. */
  readonly path: string;
  readonly operation: 'created' | 'modified' | 'deleted';
  readonly before: FileVersion;
  readonly after: FileVersion;
  /** The content and mode that undo restores; undefined if there was no file. */
  readonly original: { readonly bytes: Uint8Array; readonly mode: number } | undefined;
  /** The content after the call, for the diff of its run; undefined if not at hand, null if there is no file or a directory. */
  readonly contentAfter?: { readonly bytes: Uint8Array; readonly mode: number | undefined } | null;
}

/** Records the changes of one call in the journal. */
export interface ChangeRecorder {
  /**
   * Stores undo copies and the versions before and after, and flushes them to the disk (RN-3). Call it before touching a
   * file. If it throws JOURNAL_UNAVAILABLE, no file may be touched.
   */
  begin(changes: readonly FileChange[]): void;
}

/** One regular file at one moment. */
export interface FileSnapshot {
  readonly bytes: Uint8Array;
  readonly version: NonNullable<FileVersion>;
  /** The permission bits, including set-user-id, set-group-id and sticky. */
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Device, inode, mode, size and times. Any change to the file changes it, unless timestamps are too coarse. */
  readonly identity: string;
}

const TRIES = 3;
const PIECE_BYTES = 4 * 1024 * 1024;
/** Does not follow a link, and does not block on a pipe. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export interface SnapshotOptions {
  /** Used only in error messages. */
  readonly path: string;
  readonly maxBytes: number;
  /** Called after each piece with the number of bytes read so far. */
  readonly onRead?: ((length: number, size: number) => void) | undefined;
}

/** Reads a whole file; undefined if it does not exist. Retries if the file changes meanwhile. */
export async function takeSnapshot(
  directory: WorkspaceDirectory,
  name: string,
  { path, maxBytes, onRead }: SnapshotOptions,
): Promise<FileSnapshot | undefined> {
  let file: FileHandle;
  try {
    file = await open(directory.at(name), readFlags);
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return undefined;
    if (failedWith(error, 'ENXIO')) throw notRegular(path, 'device, pipe or socket');
    if (failedWith(error, 'ELOOP')) throw notRegular(path, 'link');
    throw error;
  }
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const stats = await file.stat({ bigint: true });
      if (stats.isDirectory()) throw new CountersignError('IS_A_DIRECTORY', { path });
      if (!stats.isFile()) throw notRegular(path, 'device, pipe or socket');
      const size = Number(stats.size);
      if (size > maxBytes) throw new CountersignError('FILE_TOO_LARGE', { path, size, limit: maxBytes });
      const bytes = await readExactly(file, size, onRead);
      const identity = identityOf(stats);
      if (bytes === undefined || identityOf(await file.stat({ bigint: true })) !== identity) continue;
      return {
        bytes,
        version: versionOf(bytes),
        mode: Number(stats.mode) & 0o7777,
        owner: { uid: Number(stats.uid), gid: Number(stats.gid) },
        identity,
      };
    }
  } finally {
    await file.close();
  }
  throw new CountersignError('READ_FAILED', { path, problem: 'it changes while it is read' });
}

/** Returns the identity of the entry, undefined if there is none. Does not follow a link. */
export function identityNow(directory: WorkspaceDirectory, name: string): string | undefined {
  const stats = lstatSync(directory.at(name), { bigint: true, throwIfNoEntry: false });
  return stats && identityOf(stats);
}

/** Returns undefined if the file has fewer or more bytes than `size`. */
async function readExactly(
  file: FileHandle,
  size: number,
  onRead: SnapshotOptions['onRead'],
): Promise<Uint8Array | undefined> {
  const bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  while (length < bytes.length) {
    const piece = Math.min(PIECE_BYTES, bytes.length - length);
    const { bytesRead } = await file.read(bytes, length, piece, length);
    if (bytesRead === 0) break;
    length += bytesRead;
    onRead?.(length, size);
  }
  return length === size ? bytes.subarray(0, size) : undefined;
}

export const identityOf = ({ dev, ino, mode, size, ctimeNs, mtimeNs }: BigIntStats): string =>
  [dev, ino, mode, size, ctimeNs, mtimeNs].join(':');

const notRegular = (path: string, kind: string): CountersignError =>
  new CountersignError('NOT_A_REGULAR_FILE', { path, kind });
