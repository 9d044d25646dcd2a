import { hash } from 'node:crypto';
import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CountersignError } from '@countersign/protocol';
import { failedWith } from '../real-disk.ts';
import type { WorkspaceDirectory } from './workspace-directory.ts';

/**
 * What stands at a path: null where there is nothing, `directory`, or for a file `sha256:` and 64 hexadecimal digits of
 * its bytes.
 */
export type FileVersion = string | null;
/** The version of a file with these bytes. */
export const versionOf = (bytes: Uint8Array): NonNullable<FileVersion> => `sha256:${hash('sha256', bytes)}`;
export const DIRECTORY = 'directory';

export interface FileChange {
  /** Workspace-relative. */
  readonly path: string;
  readonly operation: 'created' | 'modified' | 'deleted';
  readonly before: FileVersion;
  readonly after: FileVersion;
  /** What undo puts back; undefined where there was no file. */
  readonly original: { readonly bytes: Uint8Array; readonly mode: number } | undefined;
}

/** The journal's side of one call that changes files. */
export interface ChangeRecorder {
  /**
   * Keeps the undo copy and writes "started" with both digests, each flushed to the disk before it returns (RN-3).
   * Only then may the file be touched. Throws JOURNAL_UNAVAILABLE: then nothing may run.
   */
  begin(changes: readonly FileChange[]): void;
}

/** One regular file at one moment. */
export interface FileSnapshot {
  readonly bytes: Uint8Array;
  readonly version: NonNullable<FileVersion>;
  /** The permission bits, with set-user-id and the like. */
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Device, inode, size and times: what changes when anything about the file does. */
  readonly identity: string;
}

const TRIES = 3;
const PIECE_BYTES = 4 * 1024 * 1024;
/** Neither a link is followed nor a pipe waited for. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export interface SnapshotOptions {
  /** For messages only. */
  readonly path: string;
  readonly maxBytes: number;
  /** Told after each piece. */
  readonly onRead?: ((length: number, size: number) => void) | undefined;
}

/** Reads a whole file; undefined if there is none. */
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

/** The identity of what stands there now, undefined where nothing does. A link has its own. */
export function identityNow(directory: WorkspaceDirectory, name: string): string | undefined {
  const stats = lstatSync(directory.at(name), { bigint: true, throwIfNoEntry: false });
  return stats && identityOf(stats);
}

/** The bytes, or undefined when the file does not have that many, or has more. */
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

const identityOf = ({ dev, ino, mode, size, ctimeNs, mtimeNs }: BigIntStats): string =>
  [dev, ino, mode, size, ctimeNs, mtimeNs].join(':');

const notRegular = (path: string, kind: string): CountersignError =>
  new CountersignError('NOT_A_REGULAR_FILE', { path, kind });
