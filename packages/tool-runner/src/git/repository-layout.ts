import { closeSync, constants, fstatSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PathValidator, sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { openInside } from '../open-inside.ts';
import { failedWith, fileFailure, realDisk } from '../real-disk.ts';
import { unquotePath } from './quoted-path.ts';

/** Paths below `.git` that git reads or writes. With links resolved, each must be inside the workspace. */
const followed = [
  'HEAD',
  'commondir',
  'config',
  'config.worktree',
  'hooks',
  'index',
  'info',
  'info/attributes',
  'info/exclude',
  'info/sparse-checkout',
  'logs',
  'logs/HEAD',
  'logs/refs',
  'modules',
  'objects',
  'objects/info',
  'objects/info/alternates',
  'objects/pack',
  'packed-refs',
  'refs',
  'refs/heads',
  'refs/remotes',
  'refs/tags',
  'reftable',
  'shallow',
];

const MAX_SMALL_FILE = 1024 * 1024;
const MAX_ALTERNATES = 20;

/**
 * Checks the repository's files before git sees them (RN-6). Throws NOT_A_REPOSITORY if there is none, and
 * REPOSITORY_UNSAFE if it is not wholly inside the workspace: `.git` must be a folder of the root (not a file that
 * leads elsewhere, as in a linked work tree or a submodule; not above the root), and neither its links nor its
 * alternates may lead outside.
 */
export function checkLayout(root: string): void {
  const kind = realDisk.look(join(root, '.git'))?.type;
  if (kind === undefined) {
    if (isInsideRepository(root)) {
      throw unsafe('it starts above the workspace; open its top folder as the workspace to use git here');
    }
    throw new CountersignError('NOT_A_REPOSITORY');
  }
  if (kind !== 'directory') {
    throw unsafe('its .git is not a folder but leads elsewhere (a linked work tree, a submodule or a link)');
  }
  const paths = new PathValidator({ root, disk: realDisk });
  for (const name of followed) {
    const checked = paths.check(`.git/${name}`);
    if (!checked.ok && checked.refused.code !== 'PATH_SENSITIVE') throw leadsOutside(`.git/${name}`);
  }
  for (const needed of ['HEAD', 'objects', 'refs']) {
    if (!realDisk.look(join(root, '.git', needed))) throw new CountersignError('NOT_A_REPOSITORY');
  }
  if (realDisk.look(join(root, '.git/commondir'))) throw leadsOutside('.git/commondir');
  checkAlternates(root, paths, '.git/objects', new Set());
}

/** The bytes of a small file of the workspace, opened by descriptors; undefined if there is none. */
export function readSmallFile(root: string, path: string): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openInside(root, path, constants.O_RDONLY);
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return undefined;
    throw fileFailure(error, path, 'READ_FAILED');
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MAX_SMALL_FILE) throw unsafe(`its ${path} is no small regular file`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export const unsafe = (problem: string): CountersignError =>
  new CountersignError('REPOSITORY_UNSAFE', { problem });

export const leadsOutside = (what: string): CountersignError =>
  unsafe(`its ${what} leads outside the workspace`);

function isInsideRepository(root: string): boolean {
  for (let folder = dirname(root); ; folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false })) return true;
    if (folder === dirname(folder)) return false;
  }
}

/** Checks the object stores that this one borrows from, and those that they borrow from. */
function checkAlternates(root: string, paths: PathValidator, objects: string, seen: Set<string>): void {
  if (seen.has(objects)) return;
  seen.add(objects);
  if (seen.size > MAX_ALTERNATES) throw unsafe('it has too many alternates');
  const list = readSmallFile(root, `${objects}/info/alternates`)?.toString('latin1') ?? '';
  for (const line of list.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const named = unquotePath(line).toString('utf8');
    const checked = paths.check(named, objects);
    if (!checked.ok) throw leadsOutside(`${objects}/info/alternates`);
    checkAlternates(root, paths, checked.relative === '' ? '.' : checked.relative, seen);
  }
}

/**
 * Whether a path that git named may be shown: sensitive files are left out of every read (VA-2). Throws
 * REPOSITORY_UNSAFE for a path that is not below the root: the index or tree is forged.
 */
export function mayBeListed(path: Buffer): boolean {
  const text = path.toString('utf8');
  const parts = text.split('/');
  if (text.startsWith('/') || parts.includes('..') || parts.includes('.git')) {
    throw unsafe('its index names files outside the work tree');
  }
  return sensitivePlaces.find(text.endsWith('/') ? text.slice(0, -1) : text) === undefined;
}
