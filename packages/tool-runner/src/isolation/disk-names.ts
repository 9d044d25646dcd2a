import { isUtf8 } from 'node:buffer';
import { closeSync, constants, openSync, readdirSync, realpathSync } from 'node:fs';
import { tryOr } from '../try-or.ts';
import { isInside } from './fixed-path.ts';

/**
 * Decodes a file name. Linux file names are bytes and not always UTF-8: each byte that is not UTF-8 becomes a lone
 * surrogate, U+DC80 to U+DCFF. So different names stay different, and `isWellFormed()` is false for such a name. Pass
 * `toDiskPath(name)` to `fs`, never the decoded name.
 */
export function nameFromDisk(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = lengths.find((some) => at + some <= bytes.length && isUtf8(bytes.subarray(at, at + some)));
    name +=
      length === undefined
        ? String.fromCharCode(STRAY_BYTE + (bytes[at] as number))
        : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return name;
}

/** Converts a path with names from `nameFromDisk` to what `fs` accepts. */
export function toDiskPath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(
    [...path].map((character) => {
      const code = character.codePointAt(0) as number;
      return code > STRAY_BYTE && code <= STRAY_BYTE + 0xff
        ? Buffer.of(code - STRAY_BYTE)
        : Buffer.from(character);
    }),
  );
}

/** Code point of a byte that is not UTF-8, minus the byte. */
const STRAY_BYTE = 0xdc00;
/** Possible lengths of a character in UTF-8. */
const lengths = [1, 2, 3, 4];

/** Resolves the links of a path. Returns an empty array if the result is not below the folder or does not exist. */
export function resolveInside(folder: string, path: string): string[] {
  const real = tryOr(() => nameFromDisk(realpathSync.native(toDiskPath(path), 'buffer')), folder);
  return real !== folder && isInside(folder, real) ? [real] : [];
}

/** Returns the names in a folder; empty if it does not exist or may not be read. */
export const namesIn = (folder: string): string[] => tryOr(() => readdirSync(folder), []);

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Calls `use` with a folder below `base`, as `openFolder` opens it. `at(name)` returns what to pass to `fs` for an entry of
 * the folder. Throws what `fs` throws.
 */
export function inFolder<T>(
  base: string,
  path: string,
  use: (at: (name: string) => string | Buffer) => T,
): T {
  const folder = openFolder(base, path);
  try {
    return use((name) => toDiskPath(`/proc/self/fd/${folder}/${name}`));
  } finally {
    closeSync(folder);
  }
}

/**
 * Opens the folder `path` below `base` and returns its descriptor. Each folder on the way is opened from the descriptor of
 * its parent without following links, so a link that a command swaps in causes ENOTDIR instead of leading elsewhere (VA-1).
 */
export function openFolder(base: string, path: string): number {
  let folder = openSync(base, flags);
  try {
    for (const name of path.split('/').filter((part) => part !== '' && part !== '.')) {
      const next = openSync(toDiskPath(`/proc/self/fd/${folder}/${name}`), flags);
      closeSync(folder);
      folder = next;
    }
    return folder;
  } catch (error) {
    closeSync(folder);
    throw error;
  }
}
