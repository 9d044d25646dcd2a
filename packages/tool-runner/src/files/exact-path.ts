import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';

/**
 * The bytes of a name or path as the disk has them, one character for each: a name need not be UTF-8, and what a
 * file is called must survive being read and used again. `shownName` is what people and models see of it.
 */
export type RawPath = string;

/** Bytes that are not UTF-8 become U+FFFD. */
export const shownName = (raw: RawPath): string =>
  isAscii(raw) ? raw : Buffer.from(raw, 'latin1').toString('utf8');

/** The path as `fs` takes it. */
export const pathBytes = (raw: RawPath): string | Buffer => (isAscii(raw) ? raw : Buffer.from(raw, 'latin1'));

export const rawPath = (path: string): RawPath =>
  isAscii(path) ? path : Buffer.from(path, 'utf8').toString('latin1');

/**
 * Opens what stands at exactly this path below the root, with no link anywhere on the way; undefined where it does
 * not stand there now, or may not be opened. The name is trusted for nothing: the descriptor says where it is (VA-1),
 * so swapping a link in between only makes it undefined. The caller closes it.
 *
 * `root` has its links resolved.
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
    const stands = platform === 'linux' ? whereIs(descriptor) === expected : isStill(descriptor, expected);
    if (stands) return descriptor;
  } catch {
    // Not there, not permitted, or swapped just now: nothing to open.
  }
  if (descriptor !== undefined) closeSync(descriptor);
  return undefined;
}

/**
 * Flags to open something only in order to look at it: neither its permissions nor what kind of thing it is matter,
 * and nothing is done to a device. Node has no name for O_PATH; other systems than Linux do not have it.
 */
export const lookFlags = process.platform === 'linux' ? 0o10000000 : constants.O_RDONLY;

function whereIs(descriptor: number): RawPath {
  return readlinkSync(`/proc/self/fd/${descriptor}`, 'latin1');
}

/** Where descriptors have no names: the path leads through no link, and to what was opened. */
function isStill(descriptor: number, expected: RawPath): boolean {
  const path = pathBytes(expected);
  const opened = fstatSync(descriptor, { bigint: true });
  const named = lstatSync(path, { bigint: true });
  const isSame = opened.ino === named.ino && opened.dev === named.dev;
  return isSame && realpathSync.native(path, 'latin1') === expected;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the class is exactly the ASCII range
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);
