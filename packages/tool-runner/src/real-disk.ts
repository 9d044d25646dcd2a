import { closeSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
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
      if (!lstatSync(path).isFile()) return undefined;
      descriptor = openSync(path, 'r');
      const buffer = new Uint8Array(bytes);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, 0));
    } catch {
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  },
};
