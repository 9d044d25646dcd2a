import { isUtf8 } from 'node:buffer';
import { closeSync, constants, openSync, readdirSync, realpathSync } from 'node:fs';
import { isInside } from './fixed-path.ts';

/**
 * Names on a Linux disk are bytes, and not always UTF-8. In such a name, each byte that is not UTF-8 becomes half a
 * surrogate pair, U+DC80 to U+DCFF: nothing is lost, different names stay different, and `isWellFormed()` tells which
 * text is such a name. `fs` must be given `onDisk(name)`, never the text itself.
 */
export function nameFromDisk(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = lengths.find((some) => at + some <= bytes.length && isUtf8(bytes.subarray(at, at + some)));
    name +=
      length === undefined
        ? String.fromCharCode(stray + (bytes[at] as number))
        : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return name;
}

/** A path that may contain such names, as `fs` takes it. */
export function onDisk(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(
    [...path].map((character) => {
      const code = character.codePointAt(0) as number;
      return code > stray && code <= stray + 0xff ? Buffer.of(code - stray) : Buffer.from(character);
    }),
  );
}

const stray = 0xdc00;
/** Lengths that one character can have in UTF-8. */
const lengths = [1, 2, 3, 4];

/** Where a path leads when links are resolved; empty if that is not below the folder, or does not exist. */
export function realInside(folder: string, path: string): string[] {
  try {
    const real = nameFromDisk(realpathSync.native(onDisk(path), 'buffer'));
    return real !== folder && isInside(folder, real) ? [real] : [];
  } catch {
    return [];
  }
}

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Names in a folder; empty if it does not exist or may not be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Calls `use` for the folder `path` below `base`, which is opened from descriptor to descriptor without following
 * links: if a command swaps a link in, that is an error, never another place (VA-1). `at(name)` is the path for `fs` of
 * a name in the folder. Throws what `fs` throws; a link on the way is ENOTDIR.
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
