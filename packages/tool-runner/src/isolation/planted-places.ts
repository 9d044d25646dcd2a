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
import { inFolder, nameFromDisk, onDisk, realInside } from './disk-names.ts';
import type { ProtectionRecord } from './executing-place-guard.ts';
import { isInside } from './fixed-path.ts';
import type { FoundPlace } from './workspace-scan.ts';

/** Identifies a place: it stays the same when the place is moved, and changes when it is replaced. `target`: of a link. */
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
 * The inode alone is not enough: a file system may reuse it at once. The time of birth, which no program can set, makes
 * it unique. On a file system without it, the path is used instead.
 */
const selfOf = ({ dev, ino, birthtimeNs }: BigIntStats, path: string): string =>
  `${dev}:${ino}:${birthtimeNs > 0n ? birthtimeNs : path}`;

/**
 * The places that were planted since the record was made: new ones, and links that lead elsewhere. A file that our own
 * tools wrote is not planted as long as it has the approved content. Paths are relative to the root.
 */
export function findPlanted(root: string, record: ProtectionRecord, places: readonly FoundPlace[]): string[] {
  const before = new Map(record.places);
  const names = new Set(record.names);
  const expected = new Map(record.expected);

  const isExpected = (path: string): boolean => {
    const version = expected.get(path);
    return version !== undefined && version === versionNow(root, path);
  };
  /** In a new folder that our own tools wrote to, only the other entries were planted. */
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

/** Undefined if it is not a file, or gone. */
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

/** A planted place, and where its content is kept now. */
export interface SetAside {
  /** Relative to the workspace; absolute if it was in another repository. */
  readonly path: string;
  readonly keptIn: string;
}

type At = (name: string) => string | Buffer;

let moves = 0;

/** Copying to another disk blocks the whole runner. */
const LONGEST_COPY_MS = 10_000;

/**
 * Moves a place below `base` to a new folder in `kept`. If the command took away permissions that this needs, they are
 * restored. If it cannot be moved out at all (the other disk is full, say), it is renamed in place to a name that
 * nothing obeys. Undefined if it is gone already; throws if it is still there under its name.
 */
export function setAside(base: string, path: string, kept: string): string | undefined {
  const id = `${Date.now()}-${process.pid}-${moves++}`;
  const folder = join(kept, id);
  const name = basename(path);
  try {
    return inFolder(base, dirname(path), (at) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        insist(at, name, () => move(at, name, join(folder, name)));
        return join(folder, name).toWellFormed();
      } catch (error) {
        if (isGone(error)) throw error;
        rmSync(folder, { recursive: true, force: true });
        const disarmed = `set-aside-${id}`;
        insist(at, name, () => renameSync(at(name), at(disarmed)));
        return join(base, dirname(path), disarmed).toWellFormed();
      }
    });
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Retries with write permission for the folder, and for the place itself if it is a folder: moving it needs both. */
function insist(at: At, name: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
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
    renameSync(at(name), onDisk(to));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    // To another disk: mv copies names that are not UTF-8, but its arguments must be UTF-8.
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
