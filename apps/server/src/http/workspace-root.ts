import { posix } from 'node:path';

/** One spelling of a root: a project and a runner that mean the same folder must find each other (EX-10). */
export function workspaceRoot(path: string): string {
  const plain = path.startsWith('/') ? posix.normalize(path) : path;
  return plain.length > 1 ? plain.replace(/(?<=[^:])[/\\]+$/, '') : plain;
}
