import { basename, dirname, join } from 'node:path';
import { PathValidator } from '@countersign/policy';
import { versionOf } from '../files/file-snapshot.ts';
import { namesIn } from '../isolation/disk-names.ts';
import { isExecutable } from '../isolation/fixed-path.ts';
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
/** The hooks that git runs in a repository on this machine when it receives a push. */
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
 * The paths of those hooks in `folder` that git would run. Throws REPOSITORY_UNSAFE for a hook that leads outside `root`,
 * because git in isolation would not see it and would silently skip it.
 */
export function activeHooks(root: string, folder: string, names: readonly string[]): string[] {
  const paths = new PathValidator({ root, disk: realDisk });
  return names
    .map((name) => join(folder, name))
    .filter((path) => {
      if (!realDisk.look(join(root, path))) return false;
      const checked = paths.check(path);
      if (!checked.ok) throw leadsOutside(`hook ${path}`);
      return isExecutable(join(root, checked.relative));
    });
}

/**
 * The versions of these hooks and of all files in their folder, for the digest (AP-8). A folder called `_` is husky's: its
 * hooks call scripts in the folder above. At most MAX_FILES files of a folder are covered, and always the hooks.
 */
export function hookVersions(root: string, folder: string, hooks: readonly string[]): string[] {
  const folders = basename(folder) === '_' ? [folder, dirname(folder)] : [folder];
  const named = folders.flatMap((place) => hooks.map((hook) => join(place, basename(hook))));
  const beside = folders.flatMap((place) => filesOf(root, place));
  return [...new Set([...named, ...beside])].map((path) => {
    const bytes = isThere(root, path) ? readSmallFile(root, path) : undefined;
    return `hook ${path} ${bytes ? versionOf(bytes) : 'gone'}`;
  });
}

/** False for a folder; true for a link, even if it leads nowhere. */
function isThere(root: string, path: string): boolean {
  const type = realDisk.look(join(root, path))?.type;
  return type !== undefined && type !== 'directory';
}

function filesOf(root: string, folder: string): string[] {
  return namesIn(join(root, folder))
    .filter((name) => !name.endsWith('.sample'))
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => isThere(root, path))
    .slice(0, MAX_FILES);
}
