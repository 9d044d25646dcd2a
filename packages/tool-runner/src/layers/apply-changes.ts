import { linkSync, lutimesSync, mkdirSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DIRECTORY, type FileVersion } from '../files/file-snapshot.ts';
import { toDiskPath } from '../isolation/disk-names.ts';
import type { RecordedChange } from '../journal/recorded-change.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import { copyContent, secondsOf } from './copy-content.ts';
import { type EntryNow, entryNow, isEntry, isSameMount, targetOf, versionNow } from './entry-now.ts';
import { flush } from './flush.ts';
import { FolderWalk } from './folder-walk.ts';
import { Turns } from './turns.ts';

export interface Application {
  /** The workspace. */
  readonly root: string;
  /** The folder of the layer that holds the new entries; undefined if they come from undo copies. */
  readonly upper?: string;
  /** The path of an undo copy. */
  readonly copyAt: (name: string) => string;
  /** Whether missing folders above a file are created; otherwise such a file is a conflict. */
  readonly makesFolders: boolean;
  /** True after a crash: then what a new entry is made of is compared with its recorded version. */
  readonly isResumed: boolean;
}

export interface Applied {
  /** The changes that were not made. */
  readonly conflicts: ReadonlySet<RecordedChange>;
  /** What the system said where a change could not be made for another reason than another program's change. */
  readonly problem: string | undefined;
}

/**
 * Makes recorded changes in the workspace: of a landing, or of an undo. Looks at each entry first. If it is as after the
 * change, nothing is done, so an interrupted call may be repeated. If it is as before, the change is made: a file or link
 * is replaced by an atomic rename. Anything else is a conflict, and stays. At the end the changed names are flushed.
 *
 * Other names of a replaced file keep the old content. A file that is renamed from a layer keeps the extended attributes
 * of the overlay (`overlay.origin` and the like): they mean nothing outside an overlay.
 */
export async function applyChanges(
  changes: readonly RecordedChange[],
  application: Application,
): Promise<Applied> {
  const applying = new Applying(application);
  try {
    return await applying.run([...changes].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)));
  } finally {
    applying.close();
  }
}

const isFolder = (version: FileVersion): boolean => version === DIRECTORY;
/** A file or link takes the place of a folder, or the other way round: not possible with one rename. */
const isSwap = ({ before, after }: RecordedChange): boolean =>
  before !== null && after !== null && isFolder(before) !== isFolder(after);

/** Copied files wait for each other, to be flushed together before they are renamed. */
const BATCH = 500;

/** A new entry that only needs to be renamed to its place. */
interface Staged {
  /** Workspace-relative path of a copy beside the place; undefined if the entry is renamed from the layer itself. */
  readonly temporary: string | undefined;
  /** Identity of the entry that is replaced; undefined if there must be none. */
  readonly replaces: string | undefined;
}

class Applying {
  readonly #how: Application;
  readonly #workspace: FolderWalk;
  /** For a second entry at the same time. */
  readonly #elsewhere: FolderWalk;
  readonly #layer: FolderWalk | undefined;
  /** Whether entries can be renamed from the layer. */
  readonly #isSameMount: boolean;
  readonly #turns = new Turns();
  readonly #conflicts = new Set<RecordedChange>();
  #problem: string | undefined;
  readonly #madeFolders = new Set<RecordedChange>();
  /** Where the copy of a file is that has several names in the layer, by inode. */
  readonly #copied = new Map<bigint, { path: string }>();

  constructor(how: Application) {
    this.#how = how;
    this.#workspace = new FolderWalk(how.root);
    this.#elsewhere = new FolderWalk(how.root);
    this.#layer = how.upper === undefined ? undefined : new FolderWalk(how.upper);
    this.#isSameMount = how.upper !== undefined && isSameMount(how.upper, how.root);
  }

  close(): void {
    for (const walk of [this.#workspace, this.#elsewhere, this.#layer]) walk?.close();
  }

  async run(changes: readonly RecordedChange[]): Promise<Applied> {
    const backwards = changes.toReversed();
    const removed = changes.filter(
      ({ before, after }) => before !== null && !isFolder(before) && (after === null || isFolder(after)),
    );
    const removedFolders = backwards.filter(({ before, after }) => isFolder(before) && !isFolder(after));
    const madeFolders = changes.filter(({ before, after }) => isFolder(after) && !isFolder(before));
    const placed = changes.filter(({ after }) => after !== null && !isFolder(after));
    await this.#each(removed, (change) => this.#removeFile(change));
    await this.#each(removedFolders, (change) => this.#removeFolder(change));
    await this.#each(madeFolders, (change) => this.#makeFolder(change));
    for (let start = 0; start < placed.length; start += BATCH)
      await this.#placeAll(placed.slice(start, start + BATCH));
    await this.#each(
      backwards.filter(({ after }) => isFolder(after)),
      (change) => this.#adjustFolder(change),
    );
    await this.#flush([
      ...new Set(changes.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/'))))),
    ]);
    return { conflicts: this.#conflicts, problem: this.#problem };
  }

  /** Calls `work` with each change. If it returns false, or the system refuses, the change is a conflict. */
  async #each(
    changes: readonly RecordedChange[],
    work: (change: RecordedChange) => boolean | Promise<boolean>,
  ): Promise<void> {
    for (const change of changes) {
      await this.#turns.next();
      if (this.#conflicts.has(change)) continue;
      try {
        if (await work(change)) continue;
      } catch (error) {
        if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error;
        if (!isInTheWay(error)) this.#problem ??= fileFailure(error, change.path, 'WRITE_FAILED').message;
      }
      this.#conflicts.add(change);
    }
  }

  async #removeFile(change: RecordedChange): Promise<boolean> {
    const { path, after } = change;
    const now = entryNow(this.#workspace.at(path));
    if (!now || (isFolder(after) && now.type === 'directory')) return true;
    const identity = await this.#asBefore(change, now);
    const at = this.#workspace.at(path);
    if (identity === undefined || at === undefined || entryNow(at)?.identity !== identity) return false;
    await this.#workspace.writing(path, () => unlinkSync(at));
    return true;
  }

  async #removeFolder({ path, after }: RecordedChange): Promise<boolean> {
    const at = this.#workspace.at(path);
    const now = entryNow(at);
    if (at === undefined || !now) return true;
    // Something else is in the place of the folder. If it is what the change puts there, that is found out later.
    if (now.type !== 'directory') return after !== null;
    await this.#workspace.writing(path, () => rmdirSync(at));
    return true;
  }

  async #makeFolder(change: RecordedChange): Promise<boolean> {
    const { path, modeAfter } = change;
    if (this.#how.makesFolders && !this.#workspace.makeFoldersAbove(path)) return false;
    const at = this.#workspace.at(path);
    if (at === undefined) return false;
    const now = entryNow(at);
    if (now) return now.type === 'directory';
    // Nobody else looks in before it has its own mode.
    await this.#workspace.writing(path, () => mkdirSync(at, modeAfter === undefined ? 0o777 : 0o700));
    this.#madeFolders.add(change);
    return true;
  }

  /** Files and links. All copies are finished and flushed before any of them is renamed. */
  async #placeAll(changes: readonly RecordedChange[]): Promise<void> {
    const staged = new Map<RecordedChange, Staged>();
    await this.#each(changes, async (change) => {
      const next = await this.#stage(change);
      if (typeof next !== 'boolean') staged.set(change, next);
      return next !== false;
    });
    const copies = [...staged.values()].flatMap(({ temporary }) => temporary ?? []);
    await this.#flush(copies);
    await this.#each([...staged.keys()], (change) => this.#commit(change, staged.get(change) as Staged));
    for (const [change, { temporary }] of staged)
      if (temporary !== undefined && this.#conflicts.has(change))
        await this.#each([change], () => this.#discard(temporary));
  }

  /** Returns true if the change is made, and false if it is a conflict. */
  async #stage(change: RecordedChange): Promise<Staged | boolean> {
    const { path, before } = change;
    const { makesFolders, isResumed } = this.#how;
    if (makesFolders && !this.#workspace.makeFoldersAbove(path)) return false;
    if (isResumed) await this.#discard(besides(change));
    const source = entryNow(this.#sourceOf(change));
    // What is gone from the layer has landed, even if it was changed since.
    const hasLanded = this.#layer !== undefined && !source && !change.isModeOnly;
    const now = entryNow(this.#workspace.at(path));
    const isReplaced = before !== null && !isSwap(change);
    if (!now && isReplaced) return hasLanded;
    const replaces = now && isReplaced ? await this.#asBefore(change, now) : undefined;
    if (now && replaces === undefined) {
      const isDone = hasLanded || (await this.#isAs(path, now, change.after, change.modeAfter));
      if (isDone && source && source.names > 1) this.#copied.set(source.ino, { path });
      return isDone;
    }
    if (hasLanded && isResumed) return true;
    if (now && change.isModeOnly) return this.#workspace.adjust(path, now, { mode: change.modeAfter });
    if (source && this.#isSameMount)
      return (await this.#isWhole(change, source)) && { temporary: undefined, replaces };
    return (await this.#copy(change, source, now?.owner)) && { temporary: besides(change), replaces };
  }

  /** Makes a new file or link beside its place. */
  async #copy(
    change: RecordedChange,
    source: EntryNow | undefined,
    owner: EntryNow['owner'] | undefined,
  ): Promise<boolean> {
    const { after, modeAfter, mtimeNsAfter } = change;
    const temporary = besides(change);
    const to = this.#workspace.at(temporary);
    if (to === undefined) return false;
    const target = targetOf(after);
    if (target !== undefined) {
      await this.#workspace.writing(temporary, () => symlinkSync(toDiskPath(target), to));
      if (mtimeNsAfter !== undefined) lutimesSync(to, secondsOf(mtimeNsAfter), secondsOf(mtimeNsAfter));
      return true;
    }
    if (source?.type !== 'file') return false;
    const otherName = this.#layer && source.names > 1 ? this.#copied.get(source.ino) : undefined;
    if (otherName) {
      const copied = this.#elsewhere.at(otherName.path);
      if (copied === undefined) return false;
      await this.#workspace.writing(temporary, () => linkSync(copied, to));
      return true;
    }
    const from = this.#sourceOf(change) as string | Buffer;
    const looks = {
      ...source,
      owner: (!this.#layer && owner) || source.owner,
      mode: modeAfter ?? source.mode,
      mtimeNs: this.#layer ? source.mtimeNs : mtimeNsAfter,
    };
    const version = await this.#workspace.writing(temporary, () => copyContent(from, to, looks));
    if (version === after) {
      if (source.names > 1) this.#copied.set(source.ino, { path: temporary });
      return true;
    }
    await this.#discard(temporary);
    return false;
  }

  async #commit(change: RecordedChange, { temporary, replaces }: Staged): Promise<boolean> {
    const { path } = change;
    let expected = replaces;
    let to = this.#workspace.at(path);
    let now = entryNow(to);
    if (now && replaces !== undefined && now.identity !== replaces) {
      // Replacing another name of the same file has changed its identity.
      expected = await this.#asBefore(change, now);
      if (expected === undefined) return false;
      to = this.#workspace.at(path);
      now = entryNow(to);
    }
    const from = temporary === undefined ? this.#layer?.at(path) : this.#workspace.at(temporary);
    if (to === undefined || from === undefined || now?.identity !== expected) return false;
    const rename = () => renameSync(from, to);
    await this.#workspace.writing(path, () =>
      temporary === undefined && this.#layer ? this.#layer.writing(path, rename) : rename(),
    );
    for (const copied of this.#copied.values()) if (copied.path === temporary) copied.path = path;
    return true;
  }

  #adjustFolder(change: RecordedChange): boolean {
    const { path, before, mode, modeAfter, mtimeNsAfter } = change;
    const now = entryNow(this.#workspace.at(path));
    if (now?.type !== 'directory') return false;
    if (isFolder(before)) {
      if (now.mode === modeAfter || modeAfter === undefined) return true;
      return (
        (mode === undefined || now.mode === mode) && this.#workspace.adjust(path, now, { mode: modeAfter })
      );
    }
    // Another program's folder of the same name keeps its mode.
    if (!this.#how.isResumed && !this.#madeFolders.has(change)) return true;
    const mtime = mtimeNsAfter === undefined ? undefined : secondsOf(mtimeNsAfter);
    return this.#workspace.adjust(path, now, { mode: modeAfter, mtime });
  }

  /** The identity of an entry if it is as before the change. */
  async #asBefore(
    { path, before, mode, identity }: RecordedChange,
    now: EntryNow,
  ): Promise<string | undefined> {
    return now.identity === identity || (await this.#isAs(path, now, before, mode))
      ? now.identity
      : undefined;
  }

  #isAs(path: string, now: EntryNow, version: FileVersion, mode: number | undefined): Promise<boolean> {
    return isEntry(this.#workspace.at(path), now, version, mode);
  }

  /** Whether the layer still has what is to land: after a power failure it may have lost it. */
  async #isWhole(change: RecordedChange, source: EntryNow): Promise<boolean> {
    if ((source.type === 'link') !== (targetOf(change.after) !== undefined)) return false;
    if (source.type === 'file' && !this.#how.isResumed) return true;
    return (await versionNow(this.#sourceOf(change), source)) === change.after;
  }

  #sourceOf({ path, source }: RecordedChange): string | Buffer | undefined {
    if (this.#layer) return this.#layer.at(path);
    return source === undefined ? undefined : this.#how.copyAt(source);
  }

  /** Returns true. */
  async #discard(path: string): Promise<true> {
    const at = this.#workspace.at(path);
    if (at !== undefined && entryNow(at)) await this.#workspace.writing(path, () => unlinkSync(at));
    return true;
  }

  #flush(paths: readonly string[]): Promise<void> {
    const { root } = this.#how;
    return flush(paths, root, (path) => toDiskPath(join(root, path)));
  }
}

/** The name of a copy beside its place. After a crash it is found by this name. */
function besides({ path, toolId, position }: RecordedChange): string {
  const call = toolId.replaceAll(/[^\w-]/g, '_').slice(0, 64);
  return `${path.slice(0, path.lastIndexOf('/') + 1)}.countersign-${call}-${position}.tmp`;
}

/** What another program's change leads to: a folder that is not empty, or something else in the way. */
const isInTheWay = (error: unknown): boolean =>
  failedWith(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOENT', 'ELOOP');
