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
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';
import { nameFromDisk, resolveInside, toDiskPath } from './disk-names.ts';

export interface FoundPlace {
  /** Workspace-relative, decoded by `nameFromDisk`: it may contain names that are not UTF-8. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link';
}

/** Places of a workspace that isolation must treat specially. */
export interface SpecialPlaces {
  /** Sensitive places (VA-2), and git configurations that contain a login. */
  readonly sensitive: readonly FoundPlace[];
  /**
   * Places that execute later (VA-3), and links inside them; rc files with a login, because they also configure a
   * package manager; settings and hooks in folders that git would take for a repository; and files that are the targets
   * of links in the person's home.
   */
  readonly executing: readonly FoundPlace[];
  /** Links that may stand for the folder of an executing place, such as `.cargo` in `.cargo/config.toml`. */
  readonly aliases: readonly string[];
  /** Sockets, pipes and devices, through which a command could reach processes outside isolation. */
  readonly specialFiles: readonly string[];
  /** Files with a hard link outside the workspace, so their content may be that of a file outside (VA-1). */
  readonly linkedOutside: readonly FoundPlace[];
  /** Why the scan may be incomplete; undefined if it is complete. */
  readonly missed?: string;
}

export interface ScanBounds {
  readonly directories?: number;
  readonly milliseconds?: number;
}

/**
 * Installed packages are large, and commands may execute them anyway. Only their hidden folders are searched, and only
 * for sockets, pipes and devices: build tools leave sockets in `node_modules/.cache`.
 */
const packageFolders: ReadonlySet<string> = new Set(['node_modules', 'site-packages']);
const unscannedPackageFolders = new Set(['.bin', '.pnpm', '.store']);
/** Python's own tests, which have dozens of keys that everybody knows. */
const publicKeys = /(^|\/)lib\/python3\.\d+\/test$/;
/** A directory that changed this recently is read again, because a second change may leave the same timestamps. */
const recentChangeMs = 2_000;
/** If there are more suspicious hard links than this, their link counts are not read again before each command. */
const MAX_RECOUNTED = 1_000;

/** A file with several hard links. */
interface HardLinked {
  readonly place: FoundPlace;
  /** Device and inode, which are the same for all its names. */
  readonly file: string;
  readonly names: number;
}

/** The special places of one directory. `below` are the subdirectories to scan next. */
interface DirectoryPlaces {
  readonly below: string[];
  readonly sensitive: FoundPlace[];
  readonly executing: FoundPlace[];
  readonly specialFiles: string[];
  readonly hardLinked: HardLinked[];
  /** Git configurations, which are sensitive if they contain a login. */
  readonly gitConfigs: FoundPlace[];
  /** Links that may stand for the folder of an executing place, such as `.cargo` in `.cargo/config.toml`. */
  readonly aliases: string[];
}

interface Listing extends DirectoryPlaces {
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly inode: number;
  /** False if the directory had changed just before it was read. Then it is read again. */
  readonly isSettled: boolean;
}

/**
 * Finds special places in one workspace. The first scan reads every directory, except installed packages and most of
 * `.git`. Later scans read only directories whose timestamps have changed.
 */
export class WorkspaceScan {
  readonly #root: string;
  readonly #home: string;
  readonly #below: string | undefined;
  readonly #bounds: Required<ScanBounds>;
  #listings = new Map<string, Listing>();

  /**
   * With `below`, searches only that folder, relative to the root, and only for sensitive places, sockets, pipes and
   * devices. The names above it count for the rules about names.
   */
  constructor(
    { root, home }: Pick<Workspace, 'root' | 'home'>,
    { directories = 50_000, milliseconds = 2_000 }: ScanBounds = {},
    below?: string,
  ) {
    this.#root = root;
    this.#home = home;
    this.#below = below;
    this.#bounds = { directories, milliseconds };
  }

  findPlaces(): SpecialPlaces {
    const deadline = performance.now() + this.#bounds.milliseconds;
    const seen = new Map<string, Listing>();
    const sensitive: FoundPlace[] = [];
    const executing = this.#below === undefined ? linkedFromHome(this.#home, this.#root) : [];
    const aliases: string[] = [];
    const specialFiles: string[] = [];
    const hardLinked: HardLinked[] = [];
    const todo = [this.#below ?? ''];
    let missed: string | undefined;
    let isLimited = false;
    for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
      if (seen.size >= this.#bounds.directories || (seen.size % 64 === 63 && performance.now() > deadline)) {
        missed = 'there are more folders than can be searched';
        isLimited = true;
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
      executing.push(
        ...listing.executing,
        ...listing.aliases.flatMap((alias) => this.#executingAlias(alias)),
      );
      aliases.push(...listing.aliases);
      specialFiles.push(...listing.specialFiles);
      hardLinked.push(...listing.hardLinked);
      todo.push(...listing.below);
    }
    // If the limits were reached, keep the earlier listings too, so that the next scan gets further.
    this.#listings = isLimited ? new Map([...this.#listings, ...seen]) : seen;
    const linkedOutside = linkedOutsideRoot(this.#root, hardLinked);
    return {
      sensitive,
      executing,
      aliases,
      specialFiles,
      linkedOutside,
      ...(missed !== undefined && { missed }),
    };
  }

  /**
   * Returns undefined if the folder is gone, or if neither we nor the command may enter it. Returns a string, the reason,
   * if it cannot be listed.
   */
  #list(path: string): Listing | string | undefined {
    const absolute = toDiskPath(join(this.#root, path));
    let stats: Stats | undefined;
    try {
      stats = lstatSync(absolute);
      const { mtimeMs, ctimeMs, ino } = stats;
      const known = this.#listings.get(path);
      if (known?.isSettled && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs && known.inode === ino)
        return known;
      const isSettled = Date.now() - Math.max(mtimeMs, ctimeMs) > recentChangeMs;
      const secretsOnly = this.#below !== undefined;
      const entries = readEntries(absolute, secretsOnly);
      return { mtimeMs, ctimeMs, inode: ino, isSettled, ...classifyEntries(path, entries, secretsOnly) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      if (code === 'EACCES' && isClosed(absolute, stats)) return undefined;
      return `the folder "${path.toWellFormed()}" cannot be listed (${code})`;
    }
  }

  /** A file with a name that is not UTF-8 counts as a login. A file that we cannot read, the command cannot read either. */
  #holdsLogin({ path }: FoundPlace): boolean {
    if (!path.isWellFormed()) return true;
    const head = realDisk.readHead(join(this.#root, path), MAX_GIT_CONFIG_BYTES);
    return head !== undefined && holdsLogin(head);
  }

  /** A link `.cargo` to a folder with a `config.toml` counts as executing, like a folder of that name. */
  #executingAlias(path: string): FoundPlace[] {
    // The link may lead to a file, or nowhere.
    const names = tryOr(() => readdirSync(toDiskPath(join(this.#root, path))), []);
    const leads = names.some((name) => executingPlaces.find(`${path}/${name}`) !== undefined);
    return leads ? [{ path, type: 'link' }] : [];
  }
}

/**
 * Returns the files that have more names than were found in the workspace. A cached listing may have an old link count,
 * because adding a name elsewhere does not change this directory. So the highest known count is used, and the count of
 * each suspicious file is read again.
 */
function linkedOutsideRoot(root: string, entries: readonly HardLinked[]): FoundPlace[] {
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
    .filter(({ place, file }) => {
      // If the file cannot be read any more, the known count is used.
      const namesNow = tryOr(() => lstatSync(toDiskPath(join(root, place.path))).nlink, undefined);
      return isOutside(file, namesNow);
    })
    .map(({ place }) => place);
}

/** True if we can neither enter the folder nor change its permissions. A command has no more rights than we have. */
function isClosed(path: string | Buffer, stats: Stats | undefined): boolean {
  if (stats === undefined || stats.uid === process.geteuid?.()) return false;
  return tryOr(() => {
    accessSync(path, constants.X_OK);
    return false;
  }, true);
}

interface Entry {
  readonly name: string;
  readonly type: FoundPlace['type'] | undefined;
  /** Set for a file with several hard links. */
  readonly links?: Pick<HardLinked, 'file' | 'names'>;
}

function readEntries(path: string | Buffer, secretsOnly: boolean): Entry[] {
  const entries = readdirSync(path, { withFileTypes: true });
  const entryOf = (entry: Dirent | Dirent<Buffer>, name: string): Entry => {
    const type = typeOf(entry);
    return type === 'file' && !secretsOnly ? { name, type, ...linksOf(path, entry.name) } : { name, type };
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

function classifyEntries(folder: string, entries: readonly Entry[], secretsOnly: boolean): DirectoryPlaces {
  const found: DirectoryPlaces = {
    below: [],
    sensitive: [],
    executing: [],
    specialFiles: [],
    hardLinked: [],
    gitConfigs: [],
    aliases: [],
  };
  const inPackages = folder.split('/').some((name) => packageFolders.has(name));
  if (inPackages) classifyPackageEntries(folder, entries, found);
  else if (secretsOnly) classifyForSecrets(folder, entries, found);
  else classifyOrdinaryEntries(folder, entries, found);
  return found;
}

function classifyPackageEntries(
  folder: string,
  entries: readonly Entry[],
  { below, specialFiles }: DirectoryPlaces,
): void {
  const isOutermost = packageFolders.has(folder.slice(folder.lastIndexOf('/') + 1));
  for (const { name, type } of entries) {
    if (type === undefined) specialFiles.push(`${folder}/${name}`);
    const isSearched = !isOutermost || (name.startsWith('.') && !unscannedPackageFolders.has(name));
    if (type === 'directory' && isSearched) below.push(`${folder}/${name}`);
  }
}

function classifyForSecrets(
  folder: string,
  entries: readonly Entry[],
  { below, sensitive, specialFiles, gitConfigs }: DirectoryPlaces,
): void {
  const needsPath = sensitivePlaces.beginsSubpath(folder);
  for (const { name, type } of entries) {
    const path = `${folder}/${name}`;
    const { isSensitive } = needsPath ? kindOf(path) : kindOfName(name);
    if (type === undefined) specialFiles.push(path);
    else if (isSensitive) sensitive.push({ path, type });
    else if (type === 'directory' && !publicKeys.test(path)) below.push(path);
    else if (type === 'file' && isGitConfig(path)) gitConfigs.push({ path, type });
  }
}

function classifyOrdinaryEntries(folder: string, entries: readonly Entry[], found: DirectoryPlaces): void {
  const { below, sensitive, executing, specialFiles, hardLinked, gitConfigs, aliases } = found;
  const isGit = /(^|\/)\.git$/i.test(folder);
  // An executing place is protected as a whole, so only secrets and links are looked for inside it.
  const isInExecuting = executingPlaces.find(folder) !== undefined;
  // In other folders, the rules depend only on the entry's name.
  const needsPath = /(^|\/)\./.test(folder) || isInExecuting || executingPlaces.beginsSubpath(folder);
  const isBare = !isGit && looksLikeRepository((wanted) => entries.some(({ name }) => name === wanted));
  for (const { name, type, links } of entries) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (type === undefined) {
      specialFiles.push(path);
      continue;
    }
    if (links) hardLinked.push({ place: { path, type }, ...links });
    const kind = needsPath ? kindOf(path) : kindOfName(name);
    if (kind.isSensitive) sensitive.push({ path, type });
    const isGitControl = isBare && gitControlEntries.has(name);
    if ((kind.isExecuting && (!isInExecuting || type === 'link')) || isGitControl)
      executing.push({ path, type });
    else if (type === 'link' && mayStandForFolder(name)) aliases.push(path);
    if (isGit && type === 'file' && isGitConfig(path)) gitConfigs.push({ path, type });
    const isScanned = type === 'directory' && !kind.isSensitive && (!isGit || name === 'hooks');
    if (isScanned) below.push(path);
  }
}

/** Git takes any folder with these entries for a repository, and runs the programs that its configuration names. */
export const looksLikeRepository = (has: (name: string) => boolean): boolean =>
  has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));

/** Whether a link of this name may stand for the folder of an executing place. */
export function mayStandForFolder(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name.startsWith('.') || executingPlaces.beginsSubpath(name);
}

/** Whether what a command writes at this path executes later, by its name. */
export function executesLater(path: string): boolean {
  const inPackages = path
    .split('/')
    .slice(0, -1)
    .some((name) => packageFolders.has(name));
  return !inPackages && kindOf(path).isExecuting;
}

const gitControlEntries: ReadonlySet<string> = new Set(['config', 'config.worktree', 'commondir', 'hooks']);

function typeOf(entry: Dirent | Dirent<Buffer>): FoundPlace['type'] | undefined {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : undefined;
}

interface Kind {
  readonly isSensitive: boolean;
  readonly isExecuting: boolean;
}

/** An rc file with a login also decides what is installed, so it is both sensitive (VA-2) and executing (VA-3). */
const rcFileWithLogin = 'SENS-5';

function kindOf(path: string): Kind {
  const sensitive = sensitivePlaces.find(path);
  const isExecuting = executingPlaces.find(path) !== undefined || sensitive?.id === rcFileWithLogin;
  return { isSensitive: sensitive !== undefined, isExecuting };
}

/** Caches kinds by name. Names repeat, so this makes the first scan several times as fast. */
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
 * Returns files of this workspace that are the targets of links in the person's home (VA-3). In a repository of dotfiles,
 * `~/.zshrc` may be a link to `zsh/zshrc`, which the next shell executes although its name does not show that.
 */
function linkedFromHome(home: string, root: string): FoundPlace[] {
  const links = [
    ...linksIn(home).filter((name) => name.startsWith('.')),
    ...linksIn(join(home, '.config')).map((name) => join('.config', name)),
  ];
  return links
    .flatMap((link) => resolveInside(root, join(home, link)))
    .map((real) => ({
      path: real.slice(root.length + 1),
      type: statSync(toDiskPath(real)).isDirectory() ? 'directory' : 'file',
    }));
}

function linksIn(folder: string): string[] {
  const entries = tryOr(() => readdirSync(folder, { withFileTypes: true }), []);
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
}

/**
 * Returns the socket files below a folder, relative to it, from the kernel's table. The table includes sockets in
 * installed packages, which are not scanned. It lacks sockets made by a relative path or in another container.
 */
export function listeningSockets(root: string): string[] {
  const table = tryOr(() => readFileSync('/proc/net/unix', 'utf8'), '');
  if (!table.includes(` ${root}/`)) return [];
  // Columns: number, references, protocol, flags, type, state, inode, path.
  const paths = table.split('\n').flatMap((line) => /^(?:\S+\s+){7}(\/.*)$/.exec(line)?.[1] ?? []);
  return (
    [...new Set(paths.map((path) => normalize(path)))]
      // The socket file may have been removed or moved since.
      .filter((path) => path.startsWith(`${root}/`) && realDisk.look(path)?.type === 'other')
      .map((path) => path.slice(root.length + 1))
  );
}
