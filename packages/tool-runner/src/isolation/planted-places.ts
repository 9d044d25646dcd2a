import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { versionOf } from '../file-change.ts';
import { isInside } from './fixed-path.ts';
import { inFolder } from './folder-by-descriptor.ts';
import { nameFromDisk, onDisk } from './name-on-disk.ts';
import type { ProtectionRecord } from './protection-records.ts';
import { realInside } from './real-inside.ts';
import type { FoundPlace } from './workspace-scan.ts';

/** What a place is: the same wherever it is moved to, another when it is replaced. `target`: what a link leads to. */
export type Identity = readonly [self: string, target: string];

export function identify(path: string): Identity {
  try {
    const stats = lstatSync(onDisk(path), { bigint: true });
    const self = selfOf(stats, path);
    if (!stats.isSymbolicLink()) return [`${self}:${stats.isDirectory() ? 'folder' : 'file'}`, ''];
    return [`${self}:${stats.ctimeNs}`, targetOf(path)];
  } catch {
    return [`gone:${path}`, ''];
  }
}

function targetOf(path: string): string {
  try {
    return selfOf(statSync(onDisk(path), { bigint: true }), path);
  } catch {
    return 'nothing';
  }
}

/**
 * A number alone does not tell: a file system may give that of a removed file to the next one at once. When it was made
 * tells, and nobody can set that; where a file system does not keep it, what has another name is another thing.
 */
const selfOf = ({ dev, ino, birthtimeNs }: BigIntStats, path: string): string =>
  `${dev}:${ino}:${birthtimeNs > 0n ? birthtimeNs : path}`;

/**
 * Which of the places that are there now were planted since the record was made: those that are new, and links that
 * lead elsewhere. Not what a tool of ours has written meanwhile, as long as it is still what was approved. Paths are
 * relative to the root.
 */
export function findPlanted(root: string, record: ProtectionRecord, places: readonly FoundPlace[]): string[] {
  const before = new Map(record.places);
  const names = new Set(record.names);
  const expected = new Map(record.expected);

  const isExpected = (path: string): boolean => {
    const version = expected.get(path);
    return version !== undefined && version === versionNow(root, path);
  };
  /** A new folder that a tool of ours has made or written into is taken apart: the rest of it was planted. */
  const suspects = (path: string, type: FoundPlace['type']): string[] => {
    if (type === 'file') return isExpected(path) ? [] : [path];
    const isShared = type === 'directory' && [...expected.keys()].some((known) => isInside(path, known));
    return isShared ? entriesOf(root, path).flatMap((entry) => suspects(entry.path, entry.type)) : [path];
  };

  return places.flatMap(({ path, type }) => {
    if (names.has(path)) return [];
    const [self, target] = identify(join(root, path));
    const known = before.get(self);
    if (known === undefined) return suspects(path, type);
    if (known === target) return [];
    const leadsTo = realInside(root, join(root, path)).map((real) => real.slice(root.length + 1));
    return leadsTo.some(isExpected) ? [] : [path];
  });
}

/** Undefined for what is no file, or gone. */
function versionNow(root: string, path: string): string | undefined {
  try {
    return inFolder(root, dirname(path), (at) => {
      const file = openSync(
        at(basename(path)),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        return fstatSync(file).isFile() ? versionOf(readFileSync(file)) : undefined;
      } finally {
        closeSync(file);
      }
    });
  } catch {
    return undefined;
  }
}

function entriesOf(root: string, path: string): FoundPlace[] {
  const entries = inFolder(root, path, (at) =>
    readdirSync(at('.'), { withFileTypes: true, encoding: 'buffer' }),
  );
  return entries.map((entry) => ({
    path: `${path}/${nameFromDisk(entry.name)}`,
    type: entry.isDirectory() ? 'directory' : entry.isFile() ? 'file' : 'link',
  }));
}
