import { realpathSync } from 'node:fs';
import { isInside } from './fixed-path.ts';
import { nameFromDisk, onDisk } from './name-on-disk.ts';

/** Where a path leads to when links are resolved; nothing where that is not below the folder, or not there. */
export function realInside(folder: string, path: string): string[] {
  try {
    const real = nameFromDisk(realpathSync.native(onDisk(path), 'buffer'));
    return real !== folder && isInside(folder, real) ? [real] : [];
  } catch {
    return [];
  }
}
