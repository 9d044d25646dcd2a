import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { DIRECTORY, type FileVersion, identityOf, versionOf } from '../files/file-snapshot.ts';
import { nameFromDisk } from '../isolation/disk-names.ts';
import { failedWith } from '../real-disk.ts';

/** An entry of a workspace or a layer as it is now. */
export interface EntryNow {
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly mode: number;
  readonly size: number;
  /** Bytes on the disk: less than `size` if the file has holes. */
  readonly diskBytes: number;
  readonly names: number;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly dev: bigint;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly identity: string;
}

/** Undefined if there is no entry. Does not follow a link. */
export function entryNow(at: string | Buffer | undefined): EntryNow | undefined {
  if (at === undefined) return undefined;
  try {
    const stats = lstatSync(at, { bigint: true, throwIfNoEntry: false });
    return stats && entryOf(stats);
  } catch (error) {
    if (failedWith(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

const entryOf = (stats: BigIntStats): EntryNow => ({
  type: stats.isFile()
    ? 'file'
    : stats.isDirectory()
      ? 'directory'
      : stats.isSymbolicLink()
        ? 'link'
        : 'other',
  mode: Number(stats.mode & 0o7777n),
  size: stats.isFile() ? Number(stats.size) : 0,
  diskBytes: Number(stats.blocks ?? 0n) * 512,
  names: Number(stats.nlink),
  owner: { uid: Number(stats.uid), gid: Number(stats.gid) },
  dev: stats.dev,
  ino: stats.ino,
  mtimeNs: stats.mtimeNs,
  identity: identityOf(stats),
});

/** Whether entries can be renamed and linked from one folder to the other: not across mounts, even of one disk. */
export const isSameMount = (one: string, other: string): boolean =>
  lstatSync(one).dev === lstatSync(other).dev && mountOf(one) === mountOf(other);

/** The kernel's number of the mount that a folder is on; undefined where the kernel does not tell. */
function mountOf(folder: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a version is that of a file. */
export const isFileVersion = (version: FileVersion): boolean => version?.startsWith('sha256:') ?? false;

const LINK = 'link:';
/** The target of a link, by its version; undefined for other versions. */
export const targetOf = (version: FileVersion): string | undefined =>
  version?.startsWith(LINK) ? version.slice(LINK.length) : undefined;

const PIECE_BYTES = 1024 * 1024;
/** A smaller file is read at once: waiting for each step of reading it takes longer than the reading. */
const SMALL_BYTES = 128 * 1024;
/** Does not follow a link, and does not block on a pipe. */
export const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The version of an entry: null if there is none. Reads a file in pieces. Undefined if the entry is a pipe, socket or
 * device, or changes while it is read.
 */
export async function versionNow(
  at: string | Buffer | undefined,
  entry: EntryNow | undefined,
): Promise<FileVersion | undefined> {
  if (at === undefined || !entry) return null;
  if (entry.type === 'directory') return DIRECTORY;
  if (entry.type === 'link') return LINK + nameFromDisk(readlinkSync(at, { encoding: 'buffer' }));
  if (entry.type === 'other') return undefined;
  if (entry.size <= SMALL_BYTES) return smallFileVersion(at, entry);
  const file = await open(at, readFlags);
  try {
    const isSame = async () => identityOf(await file.stat({ bigint: true })) === entry.identity;
    if (!(await isSame())) return undefined;
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(1, entry.size)));
    for (let length = 0; ; ) {
      const { bytesRead } = await file.read(piece, 0, piece.length, length);
      if (bytesRead === 0) break;
      hash.update(piece.subarray(0, bytesRead));
      length += bytesRead;
    }
    return (await isSame()) ? `sha256:${hash.digest('hex')}` : undefined;
  } finally {
    await file.close();
  }
}

function smallFileVersion(at: string | Buffer, entry: EntryNow): FileVersion | undefined {
  const file = openSync(at, readFlags);
  try {
    const isSame = () => identityOf(fstatSync(file, { bigint: true })) === entry.identity;
    if (!isSame()) return undefined;
    const version = versionOf(readFileSync(file));
    return isSame() ? version : undefined;
  } finally {
    closeSync(file);
  }
}

/** Whether an entry has this version, and this mode if it is not undefined. */
export async function isEntry(
  at: string | Buffer | undefined,
  now: EntryNow,
  version: FileVersion,
  mode: number | undefined,
): Promise<boolean> {
  if (mode !== undefined && now.type !== 'link' && now.mode !== mode) return false;
  // Do not read a file for nothing.
  if ((now.type === 'file') !== isFileVersion(version)) return false;
  return (await versionNow(at, now)) === version;
}
