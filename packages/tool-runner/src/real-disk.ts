import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import type { Disk, DiskEntry } from '@countersign/policy';

/** The disk of this machine, as policy sees it. */
export const realDisk: Disk = {
  look(path) {
    try {
      const stats = lstatSync(path);
      const type: DiskEntry['type'] = stats.isFile()
        ? 'file'
        : stats.isDirectory()
          ? 'directory'
          : stats.isSymbolicLink()
            ? 'link'
            : 'other';
      return { type, size: stats.size, hardLinks: stats.nlink };
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
