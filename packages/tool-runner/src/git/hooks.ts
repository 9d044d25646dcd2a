import { accessSync, constants, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PathValidator } from '@countersign/policy';
import { versionOf } from '../files/file-snapshot.ts';
import { realDisk } from '../real-disk.ts';
import { leadsOutside, readSmallFile } from './repository-layout.ts';

/** The hooks that git runs while it makes a commit. */
export const commitHooks = [
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'post-index-change',
  'reference-transaction',
];
export const pushHooks = ['pre-push', 'reference-transaction'];
/** Those of a repository on this machine that is pushed to. */
export const receiveHooks = [
  'pre-receive',
  'update',
  'proc-receive',
  'post-receive',
  'post-update',
  'reference-transaction',
  'push-to-checkout',
];

const MAX_FILES = 200;

/**
 * Which of these hooks git would run: their paths, `folder` before each. `root` is the folder that they must not lead
 * out of; one that does is REPOSITORY_UNSAFE, because it would not be seen in isolation and so be passed over.
 */
export function activeHooks(root: string, folder: string, names: readonly string[]): string[] {
  const paths = new PathValidator({ root, disk: realDisk });
  return names
    .map((name) => join(folder, name))
    .filter((path) => {
      if (!realDisk.look(join(root, path))) return false;
      const checked = paths.check(path);
      if (!checked.ok) throw leadsOutside(`hook ${path}`);
      return checked.entry?.type === 'file' && isExecutable(join(root, checked.relative));
    });
}

/**
 * The hooks that run, and every file beside them, with its version, for the digest (AP-8). A folder called `_` is
 * husky's: the scripts that its hooks call stand beside it. Of very many files only some, but always `hooks`.
 */
export function hookVersions(root: string, folder: string, hooks: readonly string[]): string[] {
  const folders = basename(folder) === '_' ? [folder, dirname(folder)] : [folder];
  const named = folders.flatMap((place) => hooks.map((hook) => join(place, basename(hook))));
  const beside = folders.flatMap((place) => filesOf(join(root, place)).map((name) => join(place, name)));
  return [...new Set([...named, ...beside])].map((path) => {
    const bytes = isThere(root, path) ? readSmallFile(root, path) : undefined;
    return `hook ${path} ${bytes ? versionOf(bytes) : 'gone'}`;
  });
}

/** A link to nothing counts too; a folder does not. */
function isThere(root: string, path: string): boolean {
  const type = realDisk.look(join(root, path))?.type;
  return type !== undefined && type !== 'directory';
}

function filesOf(folder: string): string[] {
  const entries = readdirSyncOrNothing(folder).filter((entry) => !entry.isDirectory());
  return entries
    .map((entry) => entry.name)
    .filter((name) => !name.endsWith('.sample'))
    .sort()
    .slice(0, MAX_FILES);
}

function readdirSyncOrNothing(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
