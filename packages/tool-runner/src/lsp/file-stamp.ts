import { lstatSync, type Stats } from 'node:fs';

/** Two changes this close together may leave the same times behind. */
const CLOCK_GRAIN_MS = 100;

/** Tells one version of a file from another without reading it. */
export type FileStamp = string;

/** Undefined where no regular file is. */
export function stampOf(path: string): FileStamp | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stampFrom(stats) : undefined;
}

/**
 * A file that was changed just now gets a stamp that equals no other, not even its own next one: it is looked at
 * again rather than believed.
 */
function stampFrom({ dev, ino, size, mtimeMs, ctimeMs }: Stats): FileStamp {
  const isFresh = Date.now() - ctimeMs < CLOCK_GRAIN_MS;
  return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}${isFresh ? `:${freshCount++}` : ''}`;
}

let freshCount = 0;
