import { lstatSync, readFileSync } from 'node:fs';
import { normalize } from 'node:path';

/**
 * Socket files of this machine below a folder, relative to it, as the kernel knows them: also those in installed
 * packages, which nobody searches. Not those that were made by a relative path or in another container.
 */
export function listeningSockets(root: string): string[] {
  let table: string;
  try {
    table = readFileSync('/proc/net/unix', 'utf8');
  } catch {
    return [];
  }
  if (!table.includes(` ${root}/`)) return [];
  // Number, references, protocol, flags, type, state, inode, and the path that it was given.
  const paths = table.split('\n').flatMap((line) => /^(?:\S+\s+){7}(\/.*)$/.exec(line)?.[1] ?? []);
  return [...new Set(paths.map((path) => normalize(path)))]
    .filter((path) => path.startsWith(`${root}/`) && isSocket(path))
    .map((path) => path.slice(root.length + 1));
}

/** It may have been removed, or moved, since it was made. */
function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}
