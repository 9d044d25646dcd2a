import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { inFolder } from './folder-by-descriptor.ts';

/**
 * An empty folder that holds a name while a command runs: what is not there cannot be mounted read-only. `made` are the
 * folders that had to be made for it, outermost first, relative to `base`; nothing else is ever removed.
 */
export interface StandIn {
  readonly base: string;
  readonly path: string;
  readonly made: readonly string[];
}

/** What would have to be made; undefined where that cannot be: something else stands there, or a link on the way. */
export function planStandIn(base: string, path: string): StandIn | undefined {
  const names = path.split('/');
  const all = names.map((_, at) => names.slice(0, at + 1).join('/'));
  const there = all.findIndex((some) => kindOf(base, some) !== 'folder');
  if (there < 0) return { base, path, made: [] };
  return kindOf(base, all[there] as string) === 'nothing'
    ? { base, path, made: all.slice(there) }
    : undefined;
}

/** False when somebody was quicker, or there is no right to make it. */
export function makeStandIn({ base, path, made }: StandIn): boolean {
  try {
    for (const folder of made) inFolder(base, dirname(folder), (at) => mkdirSync(at(basename(folder))));
    return kindOf(base, path) === 'folder';
  } catch {
    return false;
  }
}

/** Removes what was made, unless the person has put something into it. */
export function removeStandIn({ base, made }: StandIn): void {
  for (const folder of made.toReversed()) {
    try {
      inFolder(base, dirname(folder), (at) => rmdirSync(at(basename(folder))));
    } catch {
      return;
    }
  }
}

function kindOf(base: string, path: string): 'folder' | 'nothing' | 'other' {
  try {
    const stats = inFolder(base, dirname(path), (at) =>
      lstatSync(at(basename(path)), { throwIfNoEntry: false }),
    );
    if (stats === undefined) return 'nothing';
    return stats.isDirectory() ? 'folder' : 'other';
  } catch {
    return 'other';
  }
}
