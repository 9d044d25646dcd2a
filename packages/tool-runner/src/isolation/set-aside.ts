import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inFolder } from './folder-by-descriptor.ts';
import { onDisk } from './name-on-disk.ts';

/** A place that was made while a command ran, and where its content is kept now. */
export interface SetAside {
  /** Relative to the workspace, or absolute where it stood in another repository. */
  readonly path: string;
  readonly keptIn: string;
}

type At = (name: string) => string | Buffer;

let moves = 0;

/** Copying to another disk keeps the whole runner waiting. */
const LONGEST_COPY_MS = 10_000;

/**
 * Moves a place below `base` to a new folder in `kept`. A command may have taken the rights away that this needs: they
 * are given back. Where it cannot be moved out at all (another disk that is full, say), it gets a name beside its own
 * that nothing obeys. Undefined when somebody removed it meanwhile; throws when it is still there under its name.
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

/** Taking a name out of a folder needs the right to write there, and a folder that moves must itself be writable. */
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
    // To another disk: copied by a program, which takes names that are not UTF-8 inside, but is told none.
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
