import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { executingPlaces, sensitivePlaces } from '@countersign/policy';

export interface FoundPlace {
  /** Workspace-relative. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link';
}

/** What isolation must treat specially in a workspace. */
export interface SpecialPlaces {
  /** VA-2. */
  readonly sensitive: readonly FoundPlace[];
  /** VA-3, and the rc files with a login that a package manager obeys. */
  readonly executing: readonly FoundPlace[];
  /** Sockets, pipes and devices: a way to processes outside. */
  readonly doors: readonly string[];
  /** False when the bounds were reached: then something may have been missed. */
  readonly isComplete: boolean;
}

export interface ScanBounds {
  readonly directories?: number;
  readonly milliseconds?: number;
}

/** Installed packages: large, from a registry, and executed by their nature. What stands in them is not looked at. */
const packageFolders = new Set(['node_modules', 'site-packages']);
/** Listings younger than this are read again: within one tick of its clock a directory changes unseen. */
const tickMs = 2_000;

interface Listing {
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly inode: number;
  readonly isSettled: boolean;
  readonly below: readonly string[];
  readonly sensitive: readonly FoundPlace[];
  readonly executing: readonly FoundPlace[];
  readonly doors: readonly string[];
}

/**
 * Finds special places in one workspace. The first look reads every directory, except installed packages and the
 * inside of `.git`; the next ones only ask each directory whether it has changed, which takes some microseconds.
 */
export class WorkspaceScan {
  readonly #root: string;
  readonly #bounds: Required<ScanBounds>;
  #listings = new Map<string, Listing>();

  constructor(root: string, { directories = 50_000, milliseconds = 2_000 }: ScanBounds = {}) {
    this.#root = root;
    this.#bounds = { directories, milliseconds };
  }

  look(): SpecialPlaces {
    const deadline = performance.now() + this.#bounds.milliseconds;
    const seen = new Map<string, Listing>();
    const sensitive: FoundPlace[] = [];
    const executing: FoundPlace[] = [];
    const doors: string[] = [];
    const todo = [''];
    let isComplete = true;
    for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
      if (seen.size >= this.#bounds.directories || (seen.size % 64 === 63 && performance.now() > deadline)) {
        isComplete = false;
        break;
      }
      const listing = this.#list(path);
      if (!listing) continue;
      seen.set(path, listing);
      sensitive.push(...listing.sensitive);
      executing.push(...listing.executing);
      doors.push(...listing.doors);
      todo.push(...listing.below);
    }
    // What was read before the bounds were reached stays known, so that the next look gets further.
    this.#listings = isComplete ? seen : new Map([...this.#listings, ...seen]);
    return { sensitive, executing, doors, isComplete };
  }

  /** Undefined for what is gone or closed to us, and so to the command. */
  #list(path: string): Listing | undefined {
    const absolute = join(this.#root, path);
    try {
      const { mtimeMs, ctimeMs, ino } = lstatSync(absolute);
      const known = this.#listings.get(path);
      if (known?.isSettled && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs && known.inode === ino)
        return known;
      const isSettled = Date.now() - Math.max(mtimeMs, ctimeMs) > tickMs;
      return { mtimeMs, ctimeMs, inode: ino, isSettled, ...sortEntries(path, readEntries(absolute)) };
    } catch {
      return undefined;
    }
  }
}

const readEntries = (path: string): Dirent[] => readdirSync(path, { withFileTypes: true });

type Sorted = Pick<Listing, 'below' | 'sensitive' | 'executing' | 'doors'>;

function sortEntries(folder: string, entries: readonly Dirent[]): Sorted {
  const below: string[] = [];
  const sensitive: FoundPlace[] = [];
  const executing: FoundPlace[] = [];
  const doors: string[] = [];
  const isHidden = /(^|\/)\./.test(folder);
  const isGit = /(^|\/)\.git$/i.test(folder);
  // Inside such a place all of it is protected already; only secrets are still looked for.
  const isInExecuting = isHidden && executingPlaces.find(folder) !== undefined;
  for (const entry of entries) {
    const { name } = entry;
    const path = folder === '' ? name : `${folder}/${name}`;
    const type = typeOf(entry);
    if (type === undefined) {
      doors.push(path);
      continue;
    }
    // The places that are told by several names in a row all begin with a hidden folder.
    const kind = isHidden ? kindOf(path) : kindOfName(name);
    if (kind.isSensitive) sensitive.push({ path, type });
    if (kind.isExecuting && !isInExecuting) executing.push({ path, type });
    const goesOn = type === 'directory' && !kind.isSensitive && !isGit && !packageFolders.has(name);
    if (goesOn) below.push(path);
  }
  return { below, sensitive, executing, doors };
}

function typeOf(entry: Dirent): FoundPlace['type'] | undefined {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : undefined;
}

interface Kind {
  readonly isSensitive: boolean;
  readonly isExecuting: boolean;
}

/** Both an rc file that decides what is installed and a login: VA-3 as well as VA-2. */
const rcFileWithLogin = 'SENS-5';

function kindOf(path: string): Kind {
  const sensitive = sensitivePlaces.find(path);
  const isExecuting = executingPlaces.find(path) !== undefined || sensitive?.id === rcFileWithLogin;
  return { isSensitive: sensitive !== undefined, isExecuting };
}

/** Workspaces repeat names; asking the tables once for each makes the first look several times as fast. */
const kinds = new Map<string, Kind>();

function kindOfName(name: string): Kind {
  const known = kinds.get(name);
  if (known) return known;
  if (kinds.size > 20_000) kinds.clear();
  const kind = kindOf(name);
  kinds.set(name, kind);
  return kind;
}
