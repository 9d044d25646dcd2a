import { spawnSync } from 'node:child_process';
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { versionOf } from '../files/file-snapshot.ts';
import { failedWith } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import { inFolder, nameFromDisk, resolveInside, toDiskPath } from './disk-names.ts';
import type { ProtectionRecord } from './executing-place-guard.ts';
import { isInside } from './fixed-path.ts';
import type { FoundPlace } from './workspace-scan.ts';

/** Stays the same when a place is moved, and changes when it is replaced. `target` is set only for a link. */
export type Identity = readonly [self: string, target: string];

export function identify(path: string): Identity {
  return tryOr(() => {
    const stats = lstatSync(toDiskPath(path), { bigint: true });
    const self = selfOf(stats, path);
    if (!stats.isSymbolicLink()) return [`${self}:${stats.isDirectory() ? 'folder' : 'file'}`, ''];
    const target = tryOr(() => selfOf(statSync(toDiskPath(path), { bigint: true }), path), 'nothing');
    return [`${self}:${stats.ctimeNs}`, target];
  }, [`gone:${path}`, '']);
}

/**
 * The inode alone is not enough, because a file system may reuse it at once. The birth time, which programs cannot set,
 * makes the identity unique. On a file system without birth times, the path is used instead.
 */
const selfOf = ({ dev, ino, birthtimeNs }: BigIntStats, path: string): string =>
  `${dev}:${ino}:${birthtimeNs > 0n ? birthtimeNs : path}`;

/**
 * Returns the places that were planted since the record was made: new places, and links with a new target. A file that
 * our own tools wrote is not planted as long as it has the approved content. Paths are relative to the root.
 */
export function findPlanted(root: string, record: ProtectionRecord, places: readonly FoundPlace[]): string[] {
  const before = new Map(record.places);
  const names = new Set(record.names);
  const expected = new Map(record.expected);

  const isExpected = (path: string): boolean => {
    const version = expected.get(path);
    return version !== undefined && version === versionNow(root, path);
  };
  /** If our own tools wrote files into a new folder, only its other entries were planted. */
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
    const leadsTo = resolveInside(root, join(root, path)).map((real) => real.slice(root.length + 1));
    return leadsTo.some(isExpected) ? [] : [path];
  });
}

/** Returns undefined if there is no regular file at the path. */
function versionNow(root: string, path: string): string | undefined {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const read = (at: At): string | undefined => {
    const file = openSync(at(basename(path)), flags);
    try {
      return fstatSync(file).isFile() ? versionOf(readFileSync(file)) : undefined;
    } finally {
      closeSync(file);
    }
  };
  return tryOr(() => inFolder(root, dirname(path), read), undefined);
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

/** A planted place, and the path to which it was moved. */
export interface SetAside {
  /** Relative to the workspace; absolute if it was in another repository. */
  readonly path: string;
  readonly keptIn: string;
}

/** Returns what to pass to `fs` for an entry of an open folder (`inFolder`). */
type At = (name: string) => string | Buffer;

let moves = 0;

/** Limited because copying to another disk blocks the whole runner. */
const LONGEST_COPY_MS = 10_000;

/**
 * Moves a place below `base` to a new folder in `kept` and returns its new path. Restores permissions that the command
 * removed and that moving needs. If moving fails, for example because the other disk is full, the place is renamed to a
 * name that no program executes. Returns undefined if the place is already gone. Throws if it keeps its name.
 */
export function setAside(base: string, path: string, kept: string): string | undefined {
  const id = `${Date.now()}-${process.pid}-${moves++}`;
  const folder = join(kept, id);
  const name = basename(path);
  try {
    return inFolder(base, dirname(path), (at) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        retryWithPermission(at, name, () => move(at, name, join(folder, name)));
        return join(folder, name).toWellFormed();
      } catch (error) {
        if (failedWith(error, 'ENOENT')) throw error;
        rmSync(folder, { recursive: true, force: true });
        const disarmed = `set-aside-${id}`;
        retryWithPermission(at, name, () => renameSync(at(name), at(disarmed)));
        return join(base, dirname(path), disarmed).toWellFormed();
      }
    });
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** If `work` lacks permission, makes the folder and the place itself (if it is a folder) writable and tries again. */
function retryWithPermission(at: At, name: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!failedWith(error, 'EACCES', 'EPERM')) throw error;
    const { mode } = statSync(at('.'));
    chmodSync(at('.'), mode | 0o700);
    try {
      makeWritable(at(name));
      work();
    } finally {
      chmodSync(at('.'), mode);
    }
  }
}

function makeWritable(path: string | Buffer): void {
  if (!lstatSync(path).isDirectory()) return;
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  fchmodSync(folder, 0o700);
  closeSync(folder);
}

function move(at: At, name: string, to: string): void {
  try {
    renameSync(at(name), toDiskPath(to));
  } catch (error) {
    if (!failedWith(error, 'EXDEV')) throw error;
    // The target is on another disk, so use mv. Its arguments must be UTF-8: rename the place first if necessary.
    const plain = name.toWellFormed();
    if (plain !== name) renameSync(at(name), at(plain));
    const from = at(plain).toString().replace('/proc/self/', `/proc/${process.pid}/`);
    const { status, stderr } = spawnSync('/bin/mv', ['-T', '--', from, to.toWellFormed()], {
      encoding: 'utf8',
      timeout: LONGEST_COPY_MS,
    });
    if (status === 0) return;
    if (plain !== name) renameSync(at(plain), at(name));
    throw new Error(`it could not be moved to another disk: ${stderr}`, { cause: error });
  }
}
