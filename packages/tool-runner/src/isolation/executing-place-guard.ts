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
import { inFolder, namesIn, realInside } from './disk-names.ts';
import type { Confinement } from './isolated-process.ts';
import { findPlanted, identify, type SetAside, setAside } from './planted-places.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** What a command planted where it would execute later (VA-3). */
export interface Planted {
  readonly setAside: readonly SetAside[];
  /** Why more of it may still be in the workspace. */
  readonly problem?: string;
}

/** All paths are absolute, with links resolved. */
export interface Protection {
  /** Places to mount read-only. */
  readonly readOnly: readonly string[];
  /** Folders that stay writable but cannot be moved away, so that no other folder can take their name. */
  readonly pinned: readonly string[];
  /** To be called once, when no process of the command is left. */
  release(): Planted;
}

export interface ProtectOptions {
  readonly writableGit: Confinement['writableGit'];
  /** Git folders elsewhere that the command may write. */
  readonly repositories: readonly string[];
}

/**
 * Folders that execute later. If the workspace does not have one, an empty stand-in holds its name, because a path that
 * does not exist cannot be mounted read-only. Only a few, because the person sees them while a command runs.
 */
const heldFolders = ['.git', '.vscode', '.idea', '.husky', '.countersign', '.github/workflows'];

/** Parts of a git folder that decide what git runs. A command that may write the folder never needs to change them. */
const obeyedByGit = ['config', 'config.worktree', 'commondir', 'hooks', 'modules', 'worktrees'];
/** Steps that git would continue with. It changes and removes them itself; a new one was planted. */
const stepsOfGit = ['rebase-merge', 'rebase-apply', 'sequencer'];

/**
 * Keeps commands from planting what executes later (VA-3). Existing places become read-only. Empty folders hold the
 * names of the best-known places that do not exist. All other places are searched for when the command has ended: a new
 * one, or a link that leads elsewhere than before, is moved out of the workspace and kept for the person. What was
 * there before is written to disk, so that the next runner can do this if this one is killed.
 */
export class ExecutingPlaceGuard {
  readonly #root: string;
  /** A file for each running command. */
  readonly #records: string;
  #count = 0;
  readonly #kept: string;
  readonly #look: () => SpecialPlaces;
  /** Stand-ins by their absolute path, and how many commands need each. */
  readonly #held = new Map<string, { readonly standIn: StandIn; users: number }>();
  readonly #open = new Map<string, ProtectionRecord>();

  constructor(options: { root: string; stateFolder: string; look: () => SpecialPlaces }) {
    this.#root = options.root;
    this.#records = join(options.stateFolder, 'isolation', 'protections');
    this.#kept = join(options.stateFolder, 'set-aside');
    this.#look = options.look;
  }

  protect({ executing }: SpecialPlaces, { writableGit, repositories }: ProtectOptions): Protection {
    const mayWrite = isWritableGit(writableGit);
    const real = ({ path }: FoundPlace): string[] => realInside(this.#root, join(this.#root, path));
    const ownGit = executing.filter(mayWrite).flatMap(real);
    const gitFolders = writesSettings(writableGit) ? repositories : [...ownGit, ...repositories];
    const planned = this.#planStandIns(executing, writableGit, [...ownGit, ...repositories]);
    const record: ProtectionRecord = {
      standIns: planned,
      looksForPlanted: writableGit !== 'everything',
      places: [
        ...executing.map(({ path }) => identify(join(this.#root, path))),
        ...gitFolders.flatMap(suspectsIn).map(identify),
      ],
      names: namesBelow(this.#root, planned),
      gitFolders,
      expected: [],
    };
    const name = `${process.pid}-${this.#count++}.json`;
    // Before anything is made, so that the next runner knows of it after a crash.
    this.#write(name, record);
    const held = planned.filter((standIn) => this.#hold(standIn));
    this.#open.set(name, record);
    if (held.length < planned.length) this.#change(name, { names: namesBelow(this.#root, held) });
    const obeyed = (folder: string, parts: readonly string[]): string[] =>
      parts.flatMap((part) => realInside(folder, join(folder, part)));
    const kept = executing.filter((place) => !mayWrite(place)).flatMap(real);
    return {
      readOnly: [
        ...new Set([
          ...kept.filter((path) => !repositories.includes(path)),
          ...held.map(pathOf),
          ...ownGit.flatMap((folder) => obeyed(folder, ['hooks'])),
          ...gitFolders.flatMap((folder) => obeyed(folder, obeyedByGit)),
        ]),
      ],
      pinned: [
        ...ownGit,
        ...new Set(
          [...executing.map(({ path }) => path), ...record.names]
            .map((path) => dirname(path))
            .filter((path) => path.startsWith('.github'))
            .flatMap((path) => realInside(this.#root, join(this.#root, path))),
        ),
      ],
      release: () => this.#release(name, held),
    };
  }

  /** Our own tools are about to write these: a command that runs at the same time did not plant them. */
  expectChanges(changes: readonly Pick<FileChange, 'path' | 'after'>[]): void {
    const added = changes.flatMap(({ path, after }) => (after === null ? [] : [[path, after] as const]));
    if (added.length === 0) return;
    for (const [name, { expected }] of this.#open) this.#change(name, { expected: [...expected, ...added] });
  }

  /**
   * Cleans up after a runner that was killed: removes its stand-ins and sets aside what its commands planted. Call it
   * only when no process of these commands is left.
   */
  settleAbandoned(isAbandoned: (pid: number) => boolean): Planted {
    const left = this.#readRecords().filter(({ pid }) => isAbandoned(pid));
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

  /** All records, with the pid of the runner that made each. */
  #readRecords(): { readonly name: string; readonly pid: number; readonly record: ProtectionRecord }[] {
    const names = namesIn(this.#records).filter((name) => name.endsWith('.json'));
    return names.flatMap((name) => {
      try {
        const record = JSON.parse(readFileSync(join(this.#records, name), 'utf8')) as ProtectionRecord;
        return [{ name, pid: Number.parseInt(name, 10), record }];
      } catch {
        return []; // removed since it was listed
      }
    });
  }

  #planStandIns(
    executing: readonly FoundPlace[],
    writableGit: ProtectOptions['writableGit'],
    gitFolders: readonly string[],
  ): StandIn[] {
    const taken = new Set(executing.map(({ path }) => path.toLowerCase()));
    const plan = (base: string, path: string): StandIn[] => {
      const known = this.#held.get(join(base, path));
      const planned = known ? known.standIn : planStandIn(base, path);
      return planned ? [planned] : [];
    };
    const wanted = heldFolders.filter(
      (path) =>
        !(writableGit !== undefined && path === '.git') &&
        (this.#held.has(join(this.#root, path)) || !taken.has(path)),
    );
    return [
      ...wanted.flatMap((path) => plan(this.#root, path)),
      // Git makes hooks only in a new repository.
      ...gitFolders.flatMap((folder) => plan(folder, 'hooks')).filter(({ made }) => made.length > 0),
    ];
  }

  #hold(standIn: StandIn): boolean {
    const path = pathOf(standIn);
    const known = this.#held.get(path);
    if (known) known.users += 1;
    else if (makeStandIn(standIn)) this.#held.set(path, { standIn, users: 1 });
    else return false;
    return true;
  }

  #release(name: string, held: readonly StandIn[]): Planted {
    const record = this.#open.get(name);
    if (!record) return { setAside: [] };
    this.#open.delete(name);
    for (const path of held.map(pathOf)) {
      const known = this.#held.get(path);
      if (!known) continue;
      known.users -= 1;
      if (known.users > 0) continue;
      this.#held.delete(path);
      removeStandIn(known.standIn);
    }
    const planted = this.#setAsidePlanted([record]);
    unlinkSync(join(this.#records, name));
    return planted;
  }

  #setAsidePlanted(records: readonly ProtectionRecord[]): Planted {
    const looking = records.filter(({ looksForPlanted }) => looksForPlanted);
    // Do not search after a git checkout: its files come from reviewed history, and a partial work tree is useless.
    const after: SpecialPlaces =
      looking.length > 0 ? this.#look() : { sensitive: [], executing: [], doors: [], linkedOutside: [] };
    const places = after.executing.filter(({ path }) => !this.#held.has(join(this.#root, path)));
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
        // Go on with the others.
        problems.push(`"${path.toWellFormed()}" is still there (${(error as Error).message})`);
      }
    }
    return { setAside: moved, ...(problems.length > 0 && { problem: problems.join('; ') }) };
  }

  #plantedInGit({ gitFolders, places, standIns }: ProtectionRecord): string[] {
    const before = new Map(places);
    const expected = new Set(standIns.map(pathOf));
    return gitFolders.flatMap(suspectsIn).filter((path) => {
      const [self, target] = identify(path);
      return before.get(self) !== target && !expected.has(path) && !this.#held.has(path);
    });
  }
}

const pathOf = ({ base, path }: StandIn): string => join(base, path);

const namesBelow = (root: string, standIns: readonly StandIn[]): string[] =>
  standIns.filter(({ base }) => base === root).map(({ path }) => path);

const suspectsIn = (gitFolder: string): string[] =>
  [...obeyedByGit, ...stepsOfGit].map((name) => join(gitFolder, name)).filter((path) => existsSync(path));

/** A `.git` that is a file only names another folder: git itself never changes it. */
function isWritableGit(writableGit: ProtectOptions['writableGit']): (place: FoundPlace) => boolean {
  if (writableGit === 'data') return ({ path, type }) => path === '.git' && type === 'directory';
  if (writesSettings(writableGit))
    return ({ path, type }) => basename(path).toLowerCase() === '.git' && type !== 'file';
  return () => false;
}

const writesSettings = (writableGit: ProtectOptions['writableGit']): boolean =>
  writableGit === 'everything' || writableGit === 'patches';

/** The state of the workspace before a command, kept on disk in case the runner is killed. */
export interface ProtectionRecord {
  readonly standIns: readonly StandIn[];
  /** Whether new places are set aside. */
  readonly looksForPlanted: boolean;
  /** The identity of each place (planted-places.ts). */
  readonly places: readonly (readonly [self: string, target: string])[];
  /** Names that stand-ins held: the command cannot have put anything there. */
  readonly names: readonly string[];
  /** Git folders that the command may write, except for what git obeys, which is among `places`. */
  readonly gitFolders: readonly string[];
  /** Versions of files that our own tools have written since, by path. */
  readonly expected: readonly (readonly [path: string, version: string])[];
}

/**
 * An empty folder that holds a name while a command runs. `made` are the folders that had to be made for it, outermost
 * first, relative to `base`; nothing else is ever removed.
 */
export interface StandIn {
  readonly base: string;
  readonly path: string;
  readonly made: readonly string[];
}

/** Plans what must be made; undefined if it cannot be: something else is there, or a link is on the way. */
function planStandIn(base: string, path: string): StandIn | undefined {
  const names = path.split('/');
  const all = names.map((_, at) => names.slice(0, at + 1).join('/'));
  const there = all.findIndex((some) => kindOf(base, some) !== 'folder');
  if (there < 0) return { base, path, made: [] };
  return kindOf(base, all[there] as string) === 'nothing'
    ? { base, path, made: all.slice(there) }
    : undefined;
}

/** False if another program was faster, or we may not make it. */
function makeStandIn({ base, path, made }: StandIn): boolean {
  try {
    for (const folder of made) inFolder(base, dirname(folder), (at) => mkdirSync(at(basename(folder))));
    return kindOf(base, path) === 'folder';
  } catch {
    return false;
  }
}

/** Removes what was made, unless the person has put something into it. */
function removeStandIn({ base, made }: StandIn): void {
  for (const folder of made.toReversed()) {
    try {
      inFolder(base, dirname(folder), (at) => rmdirSync(at(basename(folder))));
    } catch {
      return;
    }
  }
}

function kindOf(base: string, path: string): 'folder' | 'nothing' | 'other' {
  try {
    const stats = inFolder(base, dirname(path), (at) =>
      lstatSync(at(basename(path)), { throwIfNoEntry: false }),
    );
    if (stats === undefined) return 'nothing';
    return stats.isDirectory() ? 'folder' : 'other';
  } catch {
    return 'other';
  }
}
