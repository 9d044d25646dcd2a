import {
  closeSync,
  constants,
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openInside } from '../open-inside.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** A place that was made while a command ran, and where its content is kept now. */
export interface SetAside {
  /** Workspace-relative. */
  readonly path: string;
  readonly keptIn: string;
}

/** What a command had planted. */
export interface Planted {
  readonly setAside: readonly SetAside[];
  /** Why there may be more, still in the workspace. */
  readonly problem?: string;
}

export interface Protection {
  /** Workspace-relative places to mount read-only. */
  readonly readOnly: readonly string[];
  /** Folders that stay writable but must not be moved away, so that no other can take their name. */
  readonly pinned: readonly string[];
  /** To be called once, when no process of the command is left. */
  release(): Planted;
}

/**
 * Folders that execute later and that are held by an empty stand-in where a workspace has none: what is not there
 * cannot be mounted read-only. Few, because the person sees them while a command runs.
 */
const heldFolders = ['.git', '.vscode', '.idea', '.husky', '.countersign', '.github/workflows'];

/**
 * Keeps commands from planting what executes later (VA-3). Places that exist become read-only. The best-known ones
 * that do not exist are held by empty folders meanwhile. All others, anywhere in the workspace, are looked for when
 * the command has ended, and what is new is moved out of the workspace, where the person finds it.
 */
export class ExecutingPlaceGuard {
  readonly #root: string;
  readonly #records: string;
  readonly #kept: string;
  readonly #look: () => SpecialPlaces;
  /** How many commands need each stand-in. */
  readonly #held = new Map<string, number>();
  #moves = 0;

  constructor(options: { root: string; records: string; kept: string; look: () => SpecialPlaces }) {
    this.#root = options.root;
    this.#records = options.records;
    this.#kept = options.kept;
    this.#look = options.look;
    removeStandIns(this.#root, this.#records);
  }

  protect(places: SpecialPlaces, { writableGit }: { readonly writableGit: boolean }): Protection {
    const isOurs = (path: string): boolean => !(writableGit && basename(path).toLowerCase() === '.git');
    const existing = places.executing.filter(({ path }) => isOurs(path));
    const held = this.#hold(heldFolders.filter(isOurs), places.executing);
    const before = new Set([...places.executing.map((place) => this.#identify(place)), ...held.map(byName)]);
    let isReleased = false;
    return {
      readOnly: [
        ...existing.map(({ path }) => path),
        ...held,
        // Git writes in its folder, but makes hooks only in a new repository.
        ...(writableGit
          ? places.executing.filter((place) => !isOurs(place.path)).flatMap(hooksOf(this.#root))
          : []),
      ],
      pinned: [...new Set([...existing.map(({ path }) => path), ...held].map(dirname))].filter((path) =>
        path.startsWith('.github'),
      ),
      release: () => {
        if (isReleased) return { setAside: [] };
        isReleased = true;
        this.#letGo(held);
        // What git checks out comes from history, which a person reviews; half a work tree would help nobody.
        if (writableGit) return { setAside: [] };
        const isNew = (place: FoundPlace): boolean =>
          !before.has(this.#identify(place)) && !before.has(byName(place.path));
        const after = this.#look();
        const planted = after.executing.filter((place) => isNew(place) && !this.#held.has(place.path));
        const setAside = planted.flatMap(({ path }) => this.#setAside(path));
        return after.isComplete
          ? { setAside }
          : { setAside, problem: 'it left more folders than can be searched' };
      },
    };
  }

  /** Makes the stand-ins that are missing; the record of them outlives a crash of the runner. */
  #hold(folders: readonly string[], existing: readonly FoundPlace[]): string[] {
    const taken = new Set(existing.map(({ path }) => path.toLowerCase()));
    const wanted = folders.filter((path) => this.#held.has(path) || !taken.has(path));
    const missing = wanted.filter((path) => !this.#held.has(path));
    if (missing.length > 0) writeFileSync(this.#records, JSON.stringify([...this.#held.keys(), ...missing]));
    const held = wanted.filter((path) => this.#held.has(path) || makeFolder(join(this.#root, path)));
    for (const path of held) this.#held.set(path, (this.#held.get(path) ?? 0) + 1);
    return held;
  }

  #letGo(held: readonly string[]): void {
    for (const path of held) {
      const users = (this.#held.get(path) ?? 1) - 1;
      if (users > 0) this.#held.set(path, users);
      else {
        this.#held.delete(path);
        removeEmpty(this.#root, path);
      }
    }
    if (this.#held.size === 0) rmSync(this.#records, { force: true });
  }

  /** A place that was moved together with its parent is still the same one, and was read-only all the time. */
  #identify({ path, type }: FoundPlace): string {
    try {
      const { dev, ino, ctimeMs } = lstatSync(join(this.#root, path));
      return `${dev}:${ino}:${type === 'link' ? ctimeMs : type}`;
    } catch {
      return byName(path);
    }
  }

  /** Moves by descriptor of the folder: another command could put a link in its place meanwhile. */
  #setAside(path: string): SetAside[] {
    const folder = join(this.#kept, `${Date.now()}-${process.pid}-${this.#moves++}`);
    const keptIn = join(folder, basename(path));
    let parent: number | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      parent = openInside(this.#root, dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
      move(`/proc/self/fd/${parent}/${basename(path)}`, keptIn);
      return [{ path, keptIn }];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // somebody removed it meanwhile
      throw error;
    } finally {
      if (parent !== undefined) closeSync(parent);
    }
  }
}

export const standInRecords = (folder: string): string => join(folder, 'stand-ins.json');

/** Removes what a runner that was killed could not let go of. */
export function removeStandIns(root: string, records: string): void {
  try {
    const left = JSON.parse(readFileSync(records, 'utf8')) as string[];
    for (const path of heldFolders.filter((folder) => left.includes(folder))) removeEmpty(root, path);
    rmSync(records, { force: true });
  } catch {
    // There is no record: the last runner let go of everything.
  }
}

const byName = (path: string): string => `name:${path}`;

const hooksOf =
  (root: string) =>
  ({ path, type }: FoundPlace): string[] => {
    const hooks = join(path, 'hooks');
    return type === 'directory' && isFolder(join(root, hooks)) ? [hooks] : [];
  };

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** False when something else stands there, such as a link. */
function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true });
    return isFolder(path);
  } catch {
    return false;
  }
}

/** Removes a stand-in and the parent that was made for it, if the person has not put anything into them. */
function removeEmpty(root: string, path: string): void {
  for (let rest = path; rest !== '.'; rest = dirname(rest)) {
    try {
      rmdirSync(join(root, rest));
    } catch {
      return;
    }
  }
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    cpSync(from, to, { recursive: true, dereference: false, verbatimSymlinks: true });
    rmSync(from, { recursive: true });
  }
}
