import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';

/** The bytes of a file name or path, one character (Latin-1) for each byte, because a name need not be UTF-8. */
export type RawPath = string;

/** Returns the name for people and models. Bytes that are not UTF-8 become U+FFFD. */
export const shownName = (raw: RawPath): string =>
  isAscii(raw) ? raw : Buffer.from(raw, 'latin1').toString('utf8');

/** Returns the path for `fs`. */
export const pathBytes = (raw: RawPath): string | Buffer => (isAscii(raw) ? raw : Buffer.from(raw, 'latin1'));

export const rawPath = (path: string): RawPath =>
  isAscii(path) ? path : Buffer.from(path, 'utf8').toString('latin1');

/** Joins two paths. An empty directory is the root. */
export const joinPath = (directory: RawPath, name: RawPath): RawPath =>
  directory === '' ? name : `${directory}/${name}`;

/**
 * Opens the entry at this path below `root`, an absolute path with links resolved. Returns undefined if there is none, if
 * it may not be opened, or if the path contains a link. The check uses the real path of the opened descriptor, so
 * swapping a link in meanwhile cannot lead elsewhere (VA-1). The caller closes the descriptor.
 */
export function openExactly(
  root: RawPath,
  path: RawPath,
  flags: number,
  platform: NodeJS.Platform = process.platform,
): number | undefined {
  const expected = path === '' ? root : `${root}/${path}`;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(pathBytes(expected), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const isExpected =
      platform === 'linux' ? realPathOf(descriptor) === expected : isSameFile(descriptor, expected);
    if (isExpected) return descriptor;
  } catch {
    // There is no such entry, it may not be opened, or it was swapped just now.
  }
  if (descriptor !== undefined) closeSync(descriptor);
  return undefined;
}

/** Flags to open an entry only for fstat. O_PATH, which Node does not name, needs no permission and opens no device. */
export const statFlags = process.platform === 'linux' ? 0o10000000 : constants.O_RDONLY;

function realPathOf(descriptor: number): RawPath {
  return readlinkSync(`/proc/self/fd/${descriptor}`, 'latin1');
}

/** Used on systems without /proc: checks that the path has no links and leads to the opened file. */
function isSameFile(descriptor: number, expected: RawPath): boolean {
  const path = pathBytes(expected);
  const opened = fstatSync(descriptor, { bigint: true });
  const named = lstatSync(path, { bigint: true });
  const isSame = opened.ino === named.ino && opened.dev === named.dev;
  return isSame && realpathSync.native(path, 'latin1') === expected;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the class is exactly the ASCII range
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);
