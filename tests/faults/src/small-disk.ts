import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A disk that a test can fill. */
export interface FillableDisk {
  fill(): void;
  free(): void;
  close(): void;
}

const filler = '.fills-the-disk';

/** Mounts a small file system in memory at `folder`; returns undefined where that is not allowed. */
export function mountSmallDisk(folder: string, megabytes: number): FillableDisk | undefined {
  mkdirSync(folder, { recursive: true });
  const options = `size=${megabytes}m,mode=0755`;
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  if (status !== 0) return undefined;
  const path = join(folder, filler);
  return {
    fill() {
      const file = openSync(path, 'a', 0o600);
      // Large pieces first, then the rest page by page.
      for (const bytes of [1024 * 1024, 4096]) {
        const piece = Buffer.alloc(bytes, 1);
        while (writes(file, piece));
      }
      closeSync(file);
    },
    free: () => rmSync(path, { force: true }),
    close() {
      // Lazily: a process that was just killed may still hold a file.
      spawnSync('umount', ['--lazy', folder], { stdio: 'ignore' });
    },
  };
}

function writes(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) === piece.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

/**
 * For machines where nothing can be mounted: no file of these processes can grow. The error differs from that of a full
 * disk (EFBIG), and only processes that run now are limited.
 */
export function limitFileSizes(pids: () => readonly number[]): FillableDisk {
  const limit = (size: string) => {
    for (const pid of pids()) spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${size}`], { stdio: 'ignore' });
  };
  return { fill: () => limit('0:unlimited'), free: () => limit('unlimited:unlimited'), close: () => {} };
}
