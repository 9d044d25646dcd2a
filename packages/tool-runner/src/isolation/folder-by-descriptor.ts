import { closeSync, constants, openSync } from 'node:fs';
import { onDisk } from './name-on-disk.ts';

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Does something in the folder `path` below `base`, walked from descriptor to descriptor without following a link:
 * what a command swaps in meanwhile is an error, never another place (VA-1). `at` says what to give to `fs` for a name
 * in it. Throws what `fs` throws; a link on the way is ENOTDIR.
 */
export function inFolder<T>(
  base: string,
  path: string,
  use: (at: (name: string) => string | Buffer) => T,
): T {
  let folder = openSync(base, flags);
  try {
    for (const name of path.split('/').filter((part) => part !== '' && part !== '.')) {
      const next = openSync(onDisk(`/proc/self/fd/${folder}/${name}`), flags);
      closeSync(folder);
      folder = next;
    }
    return use((name) => onDisk(`/proc/self/fd/${folder}/${name}`));
  } finally {
    closeSync(folder);
  }
}
