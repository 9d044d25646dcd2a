import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { FileChange } from '../files/file-snapshot.ts';
import { tryOr } from '../try-or.ts';
import { inFolder, namesIn, resolveInside } from './disk-names.ts';
import type { Confinement } from './isolated-process.ts';
import { findPlanted, type Identity, identify, type SetAside, setAside } from './planted-places.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** Files that a command left in places that execute later (VA-3). */
export interface Planted {
  readonly setAside: readonly SetAside[];
  /** Why planted files may still be in the workspace; undefined if all were set aside. */
  readonly problem?: string;
}

/** All paths are absolute, with links resolved. */
export interface Protection {
  /** Places to mount read-only. */
  readonly readOnly: readonly string[];
  /** Folders that stay writable but cannot be moved away, so that no other folder can take their name. */
  readonly pinned: readonly string[];
  /** The empty folders below the workspace's root that are there only meanwhile, workspace-relative. */
  readonly standIns: readonly string[];
  /** Call this once, after all processes of the command have ended. */
  release(): Planted;
}

/**
 * Folders whose content executes later. If one does not exist, an empty stand-in folder is made, because only an existing
 * path can be mounted read-only. The list is short because the person sees the stand-ins while a command runs.
 */
const standInFolders = ['.git', '.vscode', '.idea', '.husky', '.countersign', '.github/workflows'];

/** Entries of a git folder that decide what git runs. A command that may write the folder need not change them. */
export const gitControlEntries = ['config', 'config.worktree', 'commondir', 'hooks', 'modules', 'worktrees'];
/** State of an unfinished git operation, which git would continue. If a command created one, it counts as planted. */
export const gitOperationFolders = ['rebase-merge', 'rebase-apply', 'sequencer'];

/**
 * Keeps commands from planting files that execute later (VA-3). Existing places become read-only, and stand-ins block
 * the best-known places that do not exist. After the command, the workspace is searched for other places: a new place,
 * or a link with a new target, is moved out of the workspace and kept for the person. The state before the command is
 * written to disk, so that the next runner can do this search if this runner is killed.
 */
export class ExecutingPlaceGuard {
  readonly #root: string;
  /** Folder with one file for each running command. */
  readonly #records: string;
  #count = 0;
  readonly #kept: string;
  readonly #findPlaces: () => SpecialPlaces;
  /** Stand-ins by absolute path. `users` is the number of running commands that need the stand-in. */
  readonly #standIns = new Map<string, { readonly standIn: StandIn; users: number }>();
  readonly #open = new Map<string, ProtectionRecord>();

  constructor(options: { root: string; stateFolder: string; findPlaces: () => SpecialPlaces }) {
    this.#root = options.root;
    this.#records = join(options.stateFolder, 'isolation', 'protections');
    this.#kept = join(options.stateFolder, 'set-aside');
    this.#findPlaces = options.findPlaces;
  }

  protect(
    { executing }: SpecialPlaces,
    { writableGit, writable: repositories = [] }: Pick<Confinement, 'writableGit' | 'writable'>,
  ): Protection {
    const mayWrite = isWritableGit(writableGit);
    const real = ({ path }: FoundPlace): string[] => resolveInside(this.#root, join(this.#root, path));
    const ownGit = executing.filter(mayWrite).flatMap(real);
    const gitFolders = writesSettings(writableGit) ? repositories : [...ownGit, ...repositories];
    const planned = this.#planStandIns(executing, writableGit, [...ownGit, ...repositories]);
    const record: ProtectionRecord = {
      standIns: planned,
      looksForPlanted: writableGit !== 'everything',
      places: [
        ...executing.map(({ path }) => identify(join(this.#root, path))),
        ...gitFolders.flatMap(controlPathsIn).map(identify),
      ],
      names: namesBelow(this.#root, planned),
      gitFolders,
      expected: [],
    };
    const name = `${process.pid}-${this.#count++}.json`;
    // Write the record before making stand-ins, so that the next runner can remove them after a crash.
    this.#write(name, record);
    const held = planned.filter((standIn) => this.#addStandIn(standIn));
    this.#open.set(name, record);
    if (held.length < planned.length) this.#change(name, { names: namesBelow(this.#root, held) });
    const obeyed = (folder: string, parts: readonly string[]): string[] =>
      parts.flatMap((part) => resolveInside(folder, join(folder, part)));
    const kept = executing.filter((place) => !mayWrite(place)).flatMap(real);
    return {
      readOnly: [
        ...new Set([
          ...kept.filter((path) => !repositories.includes(path)),
          ...held.map(pathOf),
          ...ownGit.flatMap((folder) => obeyed(folder, ['hooks'])),
          ...gitFolders.flatMap((folder) => obeyed(folder, gitControlEntries)),
        ]),
      ],
      pinned: [
        ...ownGit,
        ...new Set(
          [...executing.map(({ path }) => path), ...record.names]
            .map((path) => dirname(path))
            .filter((path) => path.startsWith('.github'))
            .flatMap((path) => resolveInside(this.#root, join(this.#root, path))),
        ),
      ],
      standIns: namesBelow(
        this.#root,
        held.filter(({ made }) => made.length > 0),
      ),
      release: () => this.#release(name, held),
    };
  }

  /** Announces files that our own tools are about to write, so that they do not count as planted by a running command. */
  expectChanges(changes: readonly Pick<FileChange, 'path' | 'after'>[]): void {
    const added = changes.flatMap(({ path, after }) => (after === null ? [] : [[path, after] as const]));
    if (added.length === 0) return;
    for (const [name, { expected }] of this.#open) this.#change(name, { expected: [...expected, ...added] });
  }

  /**
   * Cleans up after a killed runner: removes its stand-ins and sets aside what its commands planted. Call this only after
   * all processes of these commands have ended. `isAbandoned` gets the pid of the runner that made a record.
   */
  settleAbandoned(isAbandoned: (pid: number) => boolean): Planted {
    const names = namesIn(this.#records).filter((name) => name.endsWith('.json'));
    const left = names.flatMap((name) => {
      if (!isAbandoned(Number.parseInt(name, 10))) return [];
      const read = (): ProtectionRecord => JSON.parse(readFileSync(join(this.#records, name), 'utf8'));
      const record = tryOr(read, undefined); // undefined if it was removed since it was listed
      return record ? [{ name, record }] : [];
    });
    if (left.length === 0) return { setAside: [] };
    for (const { record } of left) for (const standIn of record.standIns) removeStandIn(standIn);
    const planted = this.#setAsidePlanted(left.map(({ record }) => record));
    for (const { name } of left) unlinkSync(join(this.#records, name));
    return planted;
  }

  #change(name: string, change: Partial<ProtectionRecord>): void {
    const record = { ...(this.#open.get(name) as ProtectionRecord), ...change };
    this.#open.set(name, record);
    this.#write(name, record);
  }

  #write(name: string, record: ProtectionRecord): void {
    mkdirSync(this.#records, { recursive: true, mode: 0o700 });
    const path = join(this.#records, name);
    writeFileSync(`${path}.new`, JSON.stringify(record));
    renameSync(`${path}.new`, path);
  }

  #planStandIns(
    executing: readonly FoundPlace[],
    writableGit: Confinement['writableGit'],
    gitFolders: readonly string[],
  ): StandIn[] {
    const taken = new Set(executing.map(({ path }) => path.toLowerCase()));
    const plan = (base: string, path: string): StandIn[] => {
      const known = this.#standIns.get(join(base, path));
      const planned = known ? known.standIn : planStandIn(base, path);
      return planned ? [planned] : [];
    };
    const wanted = standInFolders.filter(
      (path) =>
        !(writableGit !== undefined && path === '.git') &&
        (this.#standIns.has(join(this.#root, path)) || !taken.has(path)),
    );
    return [
      ...wanted.flatMap((path) => plan(this.#root, path)),
      // A stand-in for a missing hooks folder does not disturb git, which makes hooks only in a new repository.
      ...gitFolders.flatMap((folder) => plan(folder, 'hooks')).filter(({ made }) => made.length > 0),
    ];
  }

  #addStandIn(standIn: StandIn): boolean {
    const path = pathOf(standIn);
    const known = this.#standIns.get(path);
    if (known) known.users += 1;
    else if (makeStandIn(standIn)) this.#standIns.set(path, { standIn, users: 1 });
    else return false;
    return true;
  }

  #release(name: string, held: readonly StandIn[]): Planted {
    const record = this.#open.get(name);
    if (!record) return { setAside: [] };
    this.#open.delete(name);
    for (const path of held.map(pathOf)) {
      const known = this.#standIns.get(path);
      if (!known) continue;
      known.users -= 1;
      if (known.users > 0) continue;
      this.#standIns.delete(path);
      removeStandIn(known.standIn);
    }
    const planted = this.#setAsidePlanted([record]);
    unlinkSync(join(this.#records, name));
    return planted;
  }

  #setAsidePlanted(records: readonly ProtectionRecord[]): Planted {
    const looking = records.filter(({ looksForPlanted }) => looksForPlanted);
    // Skip the search after a git checkout: its files come from reviewed history, and a partial work tree is useless.
    const after: SpecialPlaces =
      looking.length > 0
        ? this.#findPlaces()
        : { sensitive: [], executing: [], aliases: [], specialFiles: [], linkedOutside: [] };
    const places = after.executing.filter(({ path }) => !this.#standIns.has(join(this.#root, path)));
    const planted = new Set([
      ...looking.flatMap((record) => findPlanted(this.#root, record, places)),
      ...records.flatMap((record) => this.#plantedInGit(record)),
    ]);
    const moved: SetAside[] = [];
    const problems = after.missed === undefined ? [] : [after.missed];
    for (const path of planted) {
      const [base, below] = isAbsolute(path) ? [dirname(path), basename(path)] : [this.#root, path];
      try {
        const keptIn = setAside(base, below, this.#kept);
        if (keptIn !== undefined) moved.push({ path: path.toWellFormed(), keptIn });
      } catch (error) {
        problems.push(`"${path.toWellFormed()}" is still there (${(error as Error).message})`);
      }
    }
    return { setAside: moved, ...(problems.length > 0 && { problem: problems.join('; ') }) };
  }

  #plantedInGit({ gitFolders, places, standIns }: ProtectionRecord): string[] {
    const before = new Map(places);
    const expected = new Set(standIns.map(pathOf));
    return gitFolders.flatMap(controlPathsIn).filter((path) => {
      const [self, target] = identify(path);
      return before.get(self) !== target && !expected.has(path) && !this.#standIns.has(path);
    });
  }
}

const pathOf = ({ base, path }: StandIn): string => join(base, path);

const namesBelow = (root: string, standIns: readonly StandIn[]): string[] =>
  standIns.filter(({ base }) => base === root).map(({ path }) => path);

const controlPathsIn = (gitFolder: string): string[] =>
  [...gitControlEntries, ...gitOperationFolders]
    .map((name) => join(gitFolder, name))
    .filter((path) => existsSync(path));

/** A `.git` file stays read-only: it only names another folder, and git itself never changes it. */
function isWritableGit(writableGit: Confinement['writableGit']): (place: FoundPlace) => boolean {
  if (writableGit === 'data') return ({ path, type }) => path === '.git' && type === 'directory';
  if (writesSettings(writableGit))
    return ({ path, type }) => basename(path).toLowerCase() === '.git' && type !== 'file';
  return () => false;
}

const writesSettings = (writableGit: Confinement['writableGit']): boolean =>
  writableGit === 'everything' || writableGit === 'patches';

/** The state of the workspace before a command, kept on disk in case the runner is killed. */
export interface ProtectionRecord {
  readonly standIns: readonly StandIn[];
  /** Whether new places are set aside after the command. */
  readonly looksForPlanted: boolean;
  /** The places that existed before the command. */
  readonly places: readonly Identity[];
  /** Workspace-relative paths of the stand-ins, in which the command could not plant anything. */
  readonly names: readonly string[];
  /** Git folders that the command may write, except for the entries that decide what git runs. */
  readonly gitFolders: readonly string[];
  /** Paths and versions of files that our own tools have written since. */
  readonly expected: readonly (readonly [path: string, version: string])[];
}

/**
 * An empty folder that occupies a name while a command runs. `made` lists the folders that were made for it, outermost
 * first, relative to `base`. Only these are removed afterwards.
 */
export interface StandIn {
  readonly base: string;
  readonly path: string;
  readonly made: readonly string[];
}

/** Returns undefined if a stand-in is impossible because a file or a link is in the way. */
function planStandIn(base: string, path: string): StandIn | undefined {
  const names = path.split('/');
  const all = names.map((_, at) => names.slice(0, at + 1).join('/'));
  const there = all.findIndex((some) => kindOf(base, some) !== 'folder');
  if (there < 0) return { base, path, made: [] };
  return kindOf(base, all[there] as string) === 'nothing'
    ? { base, path, made: all.slice(there) }
    : undefined;
}

/** Returns false if another program was faster, or if the runner lacks permission. */
function makeStandIn({ base, path, made }: StandIn): boolean {
  return tryOr(() => {
    for (const folder of made) inFolder(base, dirname(folder), (at) => mkdirSync(at(basename(folder))));
    return kindOf(base, path) === 'folder';
  }, false);
}

/** Removes the folders that were made. A folder that the person has put files into stays. */
function removeStandIn({ base, made }: StandIn): void {
  tryOr(() => {
    for (const folder of made.toReversed())
      inFolder(base, dirname(folder), (at) => rmdirSync(at(basename(folder))));
  }, undefined);
}

function kindOf(base: string, path: string): 'folder' | 'nothing' | 'other' {
  return tryOr(() => {
    const stats = inFolder(base, dirname(path), (at) =>
      lstatSync(at(basename(path)), { throwIfNoEntry: false }),
    );
    if (stats === undefined) return 'nothing';
    return stats.isDirectory() ? 'folder' : 'other';
  }, 'other');
}
