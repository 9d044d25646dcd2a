import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inFolder } from './folder-by-descriptor.ts';
import { onDisk } from './name-on-disk.ts';

/** A place that was made while a command ran, and where its content is kept now. */
export interface SetAside {
  /** Relative to the workspace, or absolute where it stood in another repository. */
  readonly path: string;
  readonly keptIn: string;
}

let moves = 0;

/** Moves a place below `base` to a new folder in `kept`. Undefined when somebody removed it meanwhile. */
export function setAside(base: string, path: string, kept: string): string | undefined {
  const folder = join(kept, `${Date.now()}-${process.pid}-${moves++}`);
  const keptIn = join(folder, basename(path));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    inFolder(base, dirname(path), (at) => move(at, basename(path), keptIn));
    return keptIn.toWellFormed();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function move(at: (name: string) => string | Buffer, name: string, to: string): void {
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
    });
    if (status !== 0) throw new Error(`it could not be moved to another disk: ${stderr}`, { cause: error });
  }
}
