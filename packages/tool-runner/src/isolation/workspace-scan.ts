import {
  accessSync,
  constants,
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join, normalize } from 'node:path';
import { executingPlaces, sensitivePlaces } from '@countersign/policy';
import { holdsLogin, isGitConfig, MAX_GIT_CONFIG_BYTES } from '../files/git-login.ts';
import { realDisk } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import { nameFromDisk, onDisk, realInside } from './disk-names.ts';

export interface FoundPlace {
  /** Workspace-relative; a name that is not UTF-8 as in disk-names.ts. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link';
}

/** Places of a workspace that isolation must treat specially. */
export interface SpecialPlaces {
  /** VA-2, and git configurations that contain a login. */
  readonly sensitive: readonly FoundPlace[];
  /**
   * VA-3; rc files with a login, which a package manager obeys; each link inside such a place; what git obeys in a
   * folder that it would take for a repository; and files that links in the person's home lead to.
   */
  readonly executing: readonly FoundPlace[];
  /** Sockets, pipes and devices: ways to processes outside. */
  readonly doors: readonly string[];
  /** Files with a hard link outside the workspace: their content may belong to a file outside (VA-1). */
  readonly linkedOutside: readonly FoundPlace[];
  /** Why something may have been missed; undefined if everything was seen. */
  readonly missed?: string;
}

export interface ScanBounds {
  readonly directories?: number;
  readonly milliseconds?: number;
}

/**
 * Installed packages: large, from a registry, and executed by their nature. Only their hidden folders are searched, and
 * only for doors: build tools leave sockets in `node_modules/.cache`.
 */
const packageFolders = new Set(['node_modules', 'site-packages']);
const hiddenPackages = new Set(['.bin', '.pnpm', '.store']);
/** A listing of a directory that changed less than this before is read again: its times may hide a second change. */
const tickMs = 2_000;
/** Every file of a copied tree may be a hard link: more than this are not counted again before each command. */
const MAX_RECOUNTED = 1_000;

/** A file with several names. */
interface HardLinked {
  readonly place: FoundPlace;
  /** Device and inode: the same for each of its names. */
  readonly file: string;
  readonly names: number;
}

/** What one directory contains. */
interface Found {
  readonly below: string[];
  readonly sensitive: FoundPlace[];
  readonly executing: FoundPlace[];
  readonly doors: string[];
  readonly hardLinked: HardLinked[];
  /** Git configurations: sensitive if they contain a login. */
  readonly gitConfigs: FoundPlace[];
  /** Links whose name may begin the path of a place, if they lead to a folder: `.cargo` in `.cargo/config.toml`. */
  readonly aliases: string[];
}

interface Listing extends Found {
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly inode: number;
  /** False: it had changed just before it was read, so it is read again. */
  readonly isSettled: boolean;
}

/**
 * Finds special places in one workspace. The first look reads every directory, except installed packages and most of
 * the inside of `.git`; the next ones only ask each directory whether it has changed, which takes some microseconds.
 */
export class WorkspaceScan {
  readonly #root: string;
  readonly #home: string;
  readonly #bounds: Required<ScanBounds>;
  #listings = new Map<string, Listing>();

  constructor(
    { root, home }: Pick<Workspace, 'root' | 'home'>,
    { directories = 50_000, milliseconds = 2_000 }: ScanBounds = {},
  ) {
    this.#root = root;
    this.#home = home;
    this.#bounds = { directories, milliseconds };
  }

  look(): SpecialPlaces {
    const deadline = performance.now() + this.#bounds.milliseconds;
    const seen = new Map<string, Listing>();
    const sensitive: FoundPlace[] = [];
    const executing = linkedFromHome(this.#home, this.#root);
    const doors: string[] = [];
    const hardLinked: HardLinked[] = [];
    const todo = [''];
    let missed: string | undefined;
    let isCut = false;
    for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
      if (seen.size >= this.#bounds.directories || (seen.size % 64 === 63 && performance.now() > deadline)) {
        missed = 'there are more folders than can be searched';
        isCut = true;
        break;
      }
      const listing = this.#list(path);
      if (typeof listing === 'string') missed ??= listing;
      if (typeof listing !== 'object') continue;
      seen.set(path, listing);
      sensitive.push(
        ...listing.sensitive,
        ...listing.gitConfigs.filter((config) => this.#holdsLogin(config)),
      );
      executing.push(...listing.executing, ...listing.aliases.flatMap((alias) => this.#lookThrough(alias)));
      doors.push(...listing.doors);
      hardLinked.push(...listing.hardLinked);
      todo.push(...listing.below);
    }
    // Keep what was read before the bounds were reached, so that the next look gets further.
    this.#listings = isCut ? new Map([...this.#listings, ...seen]) : seen;
    const linkedOutside = withNamesOutside(this.#root, hardLinked);
    return { sensitive, executing, doors, linkedOutside, ...(missed !== undefined && { missed }) };
  }

  /** Undefined if the folder is gone, or closed to us and so to the command; a string says why it cannot be listed. */
  #list(path: string): Listing | string | undefined {
    const absolute = onDisk(join(this.#root, path));
    let stats: Stats | undefined;
    try {
      stats = lstatSync(absolute);
      const { mtimeMs, ctimeMs, ino } = stats;
      const known = this.#listings.get(path);
      if (known?.isSettled && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs && known.inode === ino)
        return known;
      const isSettled = Date.now() - Math.max(mtimeMs, ctimeMs) > tickMs;
      return { mtimeMs, ctimeMs, inode: ino, isSettled, ...sortEntries(path, readEntries(absolute)) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      if (code === 'EACCES' && isClosed(absolute, stats)) return undefined;
      return `the folder "${path.toWellFormed()}" cannot be listed (${code})`;
    }
  }

  /** A file that we cannot read, the command cannot read either. A name that is not UTF-8 counts as a login. */
  #holdsLogin({ path }: FoundPlace): boolean {
    if (!path.isWellFormed()) return true;
    const head = realDisk.readHead(join(this.#root, path), MAX_GIT_CONFIG_BYTES);
    return head !== undefined && holdsLogin(head);
  }

  /** A link `.cargo` to a folder with a `config.toml` executes just as a folder of that name does. */
  #lookThrough(path: string): FoundPlace[] {
    try {
      const names = readdirSync(onDisk(join(this.#root, path)));
      const leads = names.some((name) => executingPlaces.find(`${path}/${name}`) !== undefined);
      return leads ? [{ path, type: 'link' }] : [];
    } catch {
      return []; // it leads to a file, or to nothing
    }
  }
}

/**
 * If all names of a file are in the workspace, its content is the workspace's own. A new or removed name changes the
 * file's link count but not the other folders that name it, so cached listings may have an older count. The highest
 * count is used, and files that look suspicious are counted again.
 */
function withNamesOutside(root: string, entries: readonly HardLinked[]): FoundPlace[] {
  const files = new Map<string, { inside: number; names: number }>();
  for (const { file, names } of entries) {
    const known = files.get(file) ?? { inside: 0, names: 0 };
    files.set(file, { inside: known.inside + 1, names: Math.max(known.names, names) });
  }
  const isOutside = (file: string, names = files.get(file)?.names ?? 0): boolean =>
    (files.get(file)?.inside ?? 0) < names;
  const suspicious = entries.filter(({ file }) => isOutside(file));
  if (suspicious.length > MAX_RECOUNTED) return suspicious.map(({ place }) => place);
  return suspicious
    .filter(({ place, file }) => isOutside(file, namesNow(join(root, place.path))))
    .map(({ place }) => place);
}

/** Undefined if the file is gone or cannot be seen: then the listed count is used. */
function namesNow(path: string): number | undefined {
  try {
    return lstatSync(onDisk(path)).nlink;
  } catch {
    return undefined;
  }
}

/** We cannot enter it and do not own it. A command has no more rights than we have. */
function isClosed(path: string | Buffer, stats: Stats | undefined): boolean {
  if (stats === undefined || stats.uid === process.geteuid?.()) return false;
  try {
    accessSync(path, constants.X_OK);
    return false;
  } catch {
    return true;
  }
}

interface Entry {
  readonly name: string;
  readonly type: FoundPlace['type'] | undefined;
  /** Set for a file with several names. */
  readonly links?: Pick<HardLinked, 'file' | 'names'>;
}

function readEntries(path: string | Buffer): Entry[] {
  const entries = readdirSync(path, { withFileTypes: true });
  const entryOf = (entry: Dirent | Dirent<Buffer>, name: string): Entry => {
    const type = typeOf(entry);
    return type === 'file' ? { name, type, ...linksOf(path, entry.name) } : { name, type };
  };
  if (!entries.some(({ name }) => name.includes('\ufffd')))
    return entries.map((entry) => entryOf(entry, entry.name));
  const exact = readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
  return exact.map((entry) => entryOf(entry, nameFromDisk(entry.name)));
}

function linksOf(folder: string | Buffer, name: string | Buffer): Pick<Entry, 'links'> {
  const path = Buffer.concat([Buffer.from(folder), Buffer.from('/'), Buffer.from(name)]);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && stats.nlink > 1 ? { links: { file: `${stats.dev}:${stats.ino}`, names: stats.nlink } } : {};
}

function sortEntries(folder: string, entries: readonly Entry[]): Found {
  const found: Found = {
    below: [],
    sensitive: [],
    executing: [],
    doors: [],
    hardLinked: [],
    gitConfigs: [],
    aliases: [],
  };
  const inPackages = folder.split('/').some((name) => packageFolders.has(name));
  if (inPackages) sortPackages(folder, entries, found);
  else sortPlaces(folder, entries, found);
  return found;
}

function sortPackages(folder: string, entries: readonly Entry[], { below, doors }: Found): void {
  const isOutermost = packageFolders.has(folder.slice(folder.lastIndexOf('/') + 1));
  for (const { name, type } of entries) {
    if (type === undefined) doors.push(`${folder}/${name}`);
    const isSearched = !isOutermost || (name.startsWith('.') && !hiddenPackages.has(name));
    if (type === 'directory' && isSearched) below.push(`${folder}/${name}`);
  }
}

function sortPlaces(folder: string, entries: readonly Entry[], found: Found): void {
  const { below, sensitive, executing, doors, hardLinked, gitConfigs, aliases } = found;
  const isGit = /(^|\/)\.git$/i.test(folder);
  // The whole of such a place is protected already: inside it, only secrets and links that lead out are looked for.
  const isInExecuting = executingPlaces.find(folder) !== undefined;
  // In other folders, an entry's name alone tells what it is.
  const needsPath = /(^|\/)\./.test(folder) || isInExecuting || executingPlaces.beginsRun(folder);
  const isBare = !isGit && looksLikeRepository(entries);
  for (const { name, type, links } of entries) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (type === undefined) {
      doors.push(path);
      continue;
    }
    if (links) hardLinked.push({ place: { path, type }, ...links });
    const kind = needsPath ? kindOf(path) : kindOfName(name);
    if (kind.isSensitive) sensitive.push({ path, type });
    const isObeyed = isBare && obeyedByGit.has(name);
    if ((kind.isExecuting && (!isInExecuting || type === 'link')) || isObeyed) executing.push({ path, type });
    else if (type === 'link' && (name.startsWith('.') || executingPlaces.beginsRun(name))) aliases.push(path);
    if (isGit && type === 'file' && isGitConfig(path)) gitConfigs.push({ path, type });
    const goesOn = type === 'directory' && !kind.isSensitive && (!isGit || name === 'hooks');
    if (goesOn) below.push(path);
  }
}

/** Git takes any folder that has these for a repository, whatever its name, and runs what its configuration says. */
function looksLikeRepository(entries: readonly Entry[]): boolean {
  const has = (wanted: string): boolean => entries.some(({ name }) => name === wanted);
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));
}

const obeyedByGit: ReadonlySet<string> = new Set(['config', 'config.worktree', 'commondir', 'hooks']);

function typeOf(entry: Dirent | Dirent<Buffer>): FoundPlace['type'] | undefined {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : undefined;
}

interface Kind {
  readonly isSensitive: boolean;
  readonly isExecuting: boolean;
}

/** An rc file with a login also decides what is installed: VA-3 as well as VA-2. */
const rcFileWithLogin = 'SENS-5';

function kindOf(path: string): Kind {
  const sensitive = sensitivePlaces.find(path);
  const isExecuting = executingPlaces.find(path) !== undefined || sensitive?.id === rcFileWithLogin;
  return { isSensitive: sensitive !== undefined, isExecuting };
}

/** Workspaces repeat names: this cache makes the first look several times as fast. */
const kinds = new Map<string, Kind>();

function kindOfName(name: string): Kind {
  const known = kinds.get(name);
  if (known) return known;
  if (kinds.size > 20_000) kinds.clear();
  const kind = kindOf(name);
  kinds.set(name, kind);
  return kind;
}

/**
 * Files of this workspace that the person's home uses (VA-3). If they keep their dotfiles in a repository, `~/.zshrc`
 * is a link to `zsh/zshrc`, which the next shell executes though its name does not show that.
 */
function linkedFromHome(home: string, root: string): FoundPlace[] {
  const links = [
    ...linksIn(home).filter((name) => name.startsWith('.')),
    ...linksIn(join(home, '.config')).map((name) => join('.config', name)),
  ];
  return links
    .flatMap((link) => realInside(root, join(home, link)))
    .map((real) => ({
      path: real.slice(root.length + 1),
      type: statSync(onDisk(real)).isDirectory() ? 'directory' : 'file',
    }));
}

function linksIn(folder: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // it does not exist, or we may not read it
  }
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
}

/**
 * Socket files below a folder, relative to it, from the kernel's table: it includes those in installed packages, which
 * are not searched. It lacks sockets that were made by a relative path or in another container.
 */
export function listeningSockets(root: string): string[] {
  let table: string;
  try {
    table = readFileSync('/proc/net/unix', 'utf8');
  } catch {
    return [];
  }
  if (!table.includes(` ${root}/`)) return [];
  // Columns: number, references, protocol, flags, type, state, inode, path.
  const paths = table.split('\n').flatMap((line) => /^(?:\S+\s+){7}(\/.*)$/.exec(line)?.[1] ?? []);
  return (
    [...new Set(paths.map((path) => normalize(path)))]
      // It may have been removed or moved since it was made.
      .filter((path) => path.startsWith(`${root}/`) && realDisk.look(path)?.type === 'other')
      .map((path) => path.slice(root.length + 1))
  );
}
