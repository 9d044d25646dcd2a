import {
  closeSync,
  constants,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import type { Disk, DiskEntry } from '@countersign/policy';
import { CountersignError, type ErrorCode } from '@countersign/protocol';

/** The disk of this machine, as policy sees it. */
export const realDisk: Disk = {
  look(path) {
    try {
      const stats = lstatSync(path);
      return { type: typeOf(stats), size: stats.size, hardLinks: stats.nlink };
    } catch {
      return undefined;
    }
  },
  readLink(path) {
    try {
      return readlinkSync(path);
    } catch {
      return undefined;
    }
  },
  entries(path, most) {
    let folder: Dir | undefined;
    try {
      folder = opendirSync(path);
      const entries: { name: string; type: DiskEntry['type'] }[] = [];
      for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
        if (entries.length >= most) return undefined;
        entries.push({ name: entry.name, type: typeOf(entry) });
      }
      return entries;
    } catch {
      return undefined;
    } finally {
      folder?.closeSync();
    }
  },
  readHead(path, bytes) {
    let descriptor: number | undefined;
    try {
      // The path may have become a pipe since it was checked: opening it must not hang.
      descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
      if (!fstatSync(descriptor).isFile()) return undefined;
      const buffer = new Uint8Array(bytes);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, 0));
    } catch {
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  },
};

const typeOf = (entry: Stats | Dirent): DiskEntry['type'] =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other';

/** Undefined if the path cannot be resolved. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'FILE_NOT_FOUND',
  EEXIST: 'FILE_EXISTS',
  EISDIR: 'IS_A_DIRECTORY',
  ENOTDIR: 'NOT_A_DIRECTORY',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  EROFS: 'PERMISSION_DENIED',
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  ENAMETOOLONG: 'PATH_INVALID',
  ELOOP: 'PATH_INVALID',
};

const problems: Readonly<Record<string, string>> = {
  ENAMETOOLONG: 'it is too long for this disk',
  ELOOP: 'a link stands in its way',
  EIO: 'the disk failed',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EFBIG: 'it is too large for this disk',
  ETXTBSY: 'it is a program that is running',
  EBUSY: 'it is in use',
};

/** Turns an error of `fs` into a CountersignError (EX-5). A CountersignError stays as it is. */
export function fileFailure(
  cause: unknown,
  path: string,
  otherwise: 'READ_FAILED' | 'WRITE_FAILED',
): CountersignError {
  if (cause instanceof CountersignError) return cause;
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const problem = problems[code] ?? `the system says ${code}`;
  return new CountersignError(codes[code] ?? otherwise, { path, problem }, { cause });
}

/** Whether `fs` failed with one of these codes, such as ENOENT. */
export const failedWith = (error: unknown, ...expected: readonly string[]): boolean =>
  expected.includes((error as NodeJS.ErrnoException).code ?? '');
