import { createHash, type Hash } from 'node:crypto';
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs';
import { DIRECTORY, identityOf } from '../files/file-snapshot.ts';
import { nameFromDisk, openFolder, toDiskPath } from '../isolation/disk-names.ts';
import { failedWith } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import type { Effect, EntryState } from './effect.ts';
import type { Layer, Layers } from './layers.ts';
import { Turns } from './turns.ts';

/** What a command did in its layer. Paths are workspace-relative, decoded by `nameFromDisk`, and in order. */
export interface LayerEffects {
  readonly effects: readonly Effect[];
  /** Effects on what was changed in the workspace since the layer was opened: they must not land. */
  readonly conflicts: readonly Effect[];
  /** Pipes, sockets and devices, and paths that are too long. They cannot land. */
  readonly leftOut: readonly string[];
  /** Number of entries in the layer. */
  readonly entries: number;
}

/** Ours end here, because the kernel takes no path of more than 4,096 bytes and a landing needs longer names. */
const MAX_PATH_BYTES = 3_800;
/** Each takes half a kilobyte of our memory. */
const MAX_EFFECTS = 1_000_000;
const PIECE_BYTES = 1024 * 1024;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Reads a folder in pieces of so many names. */
const NAMES_AT_ONCE = 512;

/** Reads the effects of a command after all its processes have ended. Leaves the layer's folders open to us. */
export const readEffects = (layers: Layers, layer: Layer, root: string): Promise<LayerEffects> =>
  new EffectReader(layers, layer, root).read();

/** Counts what a command wrote, for a layer that is dropped. Folders in which it only wrote are not counted. */
export async function countChanges({ upper }: Layer, root: string): Promise<number> {
  const turns = new Turns();
  let count = 0;
  const todo = [''];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const folder = tryOr(() => new Folder(upper, path as string), undefined);
    const below = tryOr(() => new Folder(root, path as string), undefined);
    try {
      for (const name of folder?.names() ?? []) {
        await turns.next();
        const isFolder = folder?.look(name)?.isDirectory();
        if (isFolder) todo.push(joined(path, name));
        if (!isFolder || !below?.look(name)?.isDirectory()) count += 1;
      }
    } finally {
      folder?.close();
      below?.close();
    }
  }
  return count;
}

/**
 * Counts the entries that a command has written, and their bytes, while it runs. Ends early when there is more than `most` of
 * either. A file counts with its length, holes included: that is what whoever reads it has to read.
 */
export async function measureLayer(
  { upper }: Layer,
  most: { readonly bytes: number; readonly entries: number },
): Promise<{ readonly bytes: number; readonly entries: number }> {
  const turns = new Turns();
  const linked = new Set<string>();
  let [bytes, entries] = [0, 0];
  const todo = [''];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const folder = tryOr(() => new Folder(upper, path as string), undefined);
    try {
      for (const name of folder?.names() ?? []) {
        await turns.next();
        const stats = folder?.look(name);
        if (!stats) continue;
        entries += 1;
        if (stats.isDirectory()) todo.push(joined(path, name));
        const file = `${stats.dev}:${stats.ino}`;
        if (stats.isFile() && !linked.has(file)) bytes += Number(stats.size);
        if (stats.nlink > 1n) linked.add(file);
        if (bytes > most.bytes || entries > most.entries) return { bytes, entries };
      }
    } catch (error) {
      // The command has removed the folder meanwhile.
      if (!failedWith(error, 'ENOENT')) throw error;
    } finally {
      folder?.close();
    }
  }
  return { bytes, entries };
}

class EffectReader {
  readonly #layers: Layers;
  readonly #layer: Layer;
  readonly #root: string;
  readonly #turns = new Turns();
  readonly #effects: Effect[] = [];
  readonly #conflicts = new Set<Effect>();
  readonly #leftOut: string[] = [];
  /** Versions of the layer's files with several names. */
  readonly #linked = new Map<string, string>();
  #entries = 0;

  constructor(layers: Layers, layer: Layer, root: string) {
    this.#layers = layers;
    this.#layer = layer;
    this.#root = root;
  }

  async read(): Promise<LayerEffects> {
    const { upper } = this.#layer;
    chmodSync(upper, statSync(upper).mode | 0o700);
    const { joined: shared, lost } = await this.#readLayer();
    const questions = [...shared, ...lost].map((path) => Buffer.from(toDiskPath(path)));
    const replaced = new Set(
      (await this.#layers.findReplaced(this.#layer, questions)).map((path) => nameFromDisk(path)),
    );
    // Below a replaced folder, everything that is not in the layer is gone.
    for (const path of shared) if (replaced.has(path)) await this.#deleteOthers(path);
    // A folder that the command did not make, and that the workspace does not have any more.
    const gone = lost.filter((path) => !replaced.has(path));
    this.#effects.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
    const isGone = ({ path }: Effect): boolean =>
      gone.some((folder) => path === folder || path.startsWith(`${folder}/`));
    for (const effect of this.#effects) if (gone.length > 0 && isGone(effect)) this.#conflicts.add(effect);
    this.#keepFoldersOfConflicts();
    return {
      effects: this.#effects.filter((effect) => !this.#conflicts.has(effect)),
      conflicts: this.#effects.filter((effect) => this.#conflicts.has(effect)),
      leftOut: this.#leftOut.sort(),
      entries: this.#entries,
    };
  }

  /**
   * Reads the layer. Returns the folders about which only the kernel can say whether the command replaced them: `joined` are
   * those with more entries in the workspace, `lost` those that are not in the workspace although they may have been.
   */
  async #readLayer(): Promise<{ joined: string[]; lost: string[] }> {
    const open = { joined: [] as string[], lost: [] as string[] };
    const todo: { readonly path: string; readonly inConflict: boolean }[] = [{ path: '', inConflict: false }];
    for (let next = todo.pop(); next; next = todo.pop()) {
      const { path, inConflict } = next;
      const folder = new Folder(this.#layer.upper, path);
      const below = tryOr(() => new Folder(this.#root, path), undefined);
      try {
        const names = new Set<string>();
        for (const name of folder.names()) {
          await this.#turns.next();
          this.#entries += 1;
          names.add(name);
          const entry = joined(path, name);
          const stats = folder.look(name);
          const before = below?.look(name);
          if (!stats) continue;
          if (Buffer.byteLength(entry) > MAX_PATH_BYTES) {
            this.#leftOut.push(`${entry.slice(0, 100)}…`);
            continue;
          }
          const conflict = await this.#readEntry({
            folder,
            below,
            name,
            path: entry,
            stats,
            before,
            inConflict,
          });
          if (stats.isDirectory()) {
            if (!before && below && this.#changedSince(below.stats)) open.lost.push(entry);
            todo.push({ path: entry, inConflict: conflict });
          }
        }
        if (path !== '' && below && (await this.#hasOthers(below, names))) open.joined.push(path);
      } finally {
        folder.close();
        below?.close();
      }
    }
    return open;
  }

  /** Returns whether everything below is in conflict too. */
  async #readEntry(entry: {
    readonly folder: Folder;
    readonly below: Folder | undefined;
    readonly name: string;
    readonly path: string;
    readonly stats: BigIntStats;
    readonly before: BigIntStats | undefined;
    readonly inConflict: boolean;
  }): Promise<boolean> {
    const { folder, below, name, path, stats, before, inConflict } = entry;
    if (stats.isCharacterDevice() && stats.rdev === 0n) {
      if (before && below) await this.#delete(below, name, path, before);
      return false;
    }
    if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) {
      this.#leftOut.push(path);
      return false;
    }
    const after = await this.#stateInLayer(folder, name, path, stats);
    if (stats.isDirectory() && before?.isDirectory()) {
      if ((before.mode & 0o7777n) !== BigInt(after.mode))
        this.#add({ path, change: 'mode', before: folderState(before), after }, inConflict);
      return inConflict;
    }
    if (!before || !below) {
      this.#add({ path, change: 'created', before: undefined, after }, inConflict);
      return inConflict;
    }
    const known = await stateOf(below, name, before, this.#turns);
    const isOld = known !== undefined && !this.#changedSince(before);
    const conflict = inConflict || (!isOld && !before.isDirectory());
    const state = known ?? unreadable(before);
    // Build tools compare times, so a file that was written again with the same content counts as modified.
    const isSame = state.version === after.version && (!stats.isFile() || before.mtimeNs === stats.mtimeNs);
    if (!isSame) this.#add({ path, change: 'modified', before: state, after }, conflict);
    else if (state.mode !== after.mode) this.#add({ path, change: 'mode', before: state, after }, conflict);
    if (before.isDirectory()) await this.#deleteIn(path);
    return conflict;
  }

  /** One effect for each entry of a deleted folder. */
  async #delete(below: Folder, name: string, path: string, stats: BigIntStats): Promise<void> {
    if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) {
      this.#leftOut.push(path);
      return;
    }
    const state = await stateOf(below, name, stats, this.#turns);
    const isOld = state !== undefined && (stats.isDirectory() || !this.#changedSince(stats));
    const before = state ?? unreadable(stats);
    this.#add({ path, change: 'deleted', before, after: undefined }, !isOld);
    if (stats.isDirectory()) await this.#deleteIn(path);
  }

  async #deleteIn(start: string): Promise<void> {
    const todo = [start];
    for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
      const below = tryOr(() => new Folder(this.#root, path as string), undefined);
      if (!below) {
        this.#leftOut.push(path);
        continue;
      }
      try {
        for (const name of below.names()) {
          await this.#turns.next();
          const stats = below.look(name);
          const entry = joined(path, name);
          if (!stats) continue;
          if (!stats.isDirectory()) await this.#delete(below, name, entry, stats);
          else {
            this.#add(
              { path: entry, change: 'deleted', before: folderState(stats), after: undefined },
              false,
            );
            todo.push(entry);
          }
        }
      } finally {
        below.close();
      }
    }
  }

  async #deleteOthers(path: string): Promise<void> {
    const below = tryOr(() => new Folder(this.#root, path), undefined);
    const folder = new Folder(this.#layer.upper, path);
    try {
      for (const name of below?.names() ?? []) {
        await this.#turns.next();
        const stats = below?.look(name);
        if (below && stats && !folder.look(name)) await this.#delete(below, name, joined(path, name), stats);
      }
    } finally {
      below?.close();
      folder.close();
    }
  }

  async #hasOthers(below: Folder, names: ReadonlySet<string>): Promise<boolean> {
    for (const name of below.names()) {
      await this.#turns.next();
      if (!names.has(name)) return true;
    }
    return false;
  }

  #add(effect: Effect, inConflict: boolean): void {
    this.#effects.push(effect);
    if (this.#effects.length > MAX_EFFECTS)
      throw new Error(`it made more than ${MAX_EFFECTS} changes, so none of them landed`);
    if (inConflict) this.#conflicts.add(effect);
  }

  /** A folder that is deleted or replaced stays as long as something stays in it. */
  #keepFoldersOfConflicts(): void {
    const kept = new Set<string>();
    const keepAbove = (path: string): void => {
      for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
        kept.add(path.slice(0, at));
    };
    for (const { path, before } of this.#conflicts) if (before) keepAbove(path);
    for (const path of this.#leftOut) keepAbove(path);
    if (kept.size === 0) return;
    for (const effect of this.#effects)
      if (effect.before?.type === 'directory' && effect.after?.type !== 'directory' && kept.has(effect.path))
        this.#conflicts.add(effect);
  }

  #changedSince({ ctimeNs }: BigIntStats): boolean {
    return ctimeNs > this.#layer.openedNs;
  }

  /** The state of an entry of the layer. Restores what the command may have taken from us, to read it. */
  async #stateInLayer(folder: Folder, name: string, path: string, stats: BigIntStats): Promise<EntryState> {
    const mode = Number(stats.mode & 0o7777n);
    if (stats.isDirectory()) {
      const { closedFolders } = this.#layer;
      const closed = closedFolders.get(path);
      if (closed !== undefined) return { ...folderState(stats), mode: closed };
      if ((mode & 0o700) === 0o700) return folderState(stats);
      closedFolders.set(path, mode);
      chmodSync(folder.at(name), mode | 0o700);
      return { ...folderState(folder.look(name) ?? stats), mode };
    }
    const key = `${stats.dev}:${stats.ino}`;
    const known = stats.nlink > 1n ? this.#linked.get(key) : undefined;
    const state = (version: string): EntryState => ({ ...described(stats), version });
    if (known !== undefined) return state(known);
    const isClosed = stats.isFile() && (mode & 0o400) === 0;
    if (isClosed) chmodSync(folder.at(name), mode | 0o400);
    const read = await stateOf(folder, name, folder.look(name) ?? stats, this.#turns);
    if (isClosed) chmodSync(folder.at(name), mode);
    if (!read) throw new Error(`what the command wrote cannot be read: "${name.toWellFormed()}"`);
    if (stats.nlink > 1n && stats.isFile()) this.#linked.set(key, read.version);
    return { ...state(read.version), identity: identityOf(folder.look(name) ?? stats) };
  }
}

/** An open folder. Its entries are reached by its descriptor, so no link that is swapped in leads elsewhere (VA-1). */
export class Folder {
  readonly stats: BigIntStats;
  readonly #descriptor: number;

  /** Throws if there is no such folder. */
  constructor(base: string, path: string) {
    this.#descriptor = openFolder(base, path);
    this.stats = fstatSync(this.#descriptor, { bigint: true });
  }

  at(name: string): string | Buffer {
    return toDiskPath(`/proc/self/fd/${this.#descriptor}/${name}`);
  }

  /** Undefined if there is no such entry, or if we may not enter the folder. */
  look(name: string): BigIntStats | undefined {
    return tryOr(() => lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }), undefined);
  }

  *names(): Generator<string> {
    const folder = opendirSync(`/proc/self/fd/${this.#descriptor}`, {
      // The types do not know this value, which keeps names that are not UTF-8.
      encoding: 'buffer' as BufferEncoding,
      bufferSize: NAMES_AT_ONCE,
    });
    try {
      for (let entry = folder.readSync(); entry; entry = folder.readSync())
        yield nameFromDisk(entry.name as unknown as Buffer);
    } finally {
      folder.closeSync();
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

const joined = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

const described = (stats: BigIntStats): Omit<EntryState, 'version'> => ({
  type: stats.isDirectory() ? 'directory' : stats.isFile() ? 'file' : 'link',
  mode: Number(stats.mode & 0o7777n),
  size: stats.isDirectory() ? 0 : Number(stats.size),
  identity: identityOf(stats),
});

const folderState = (stats: BigIntStats): EntryState => ({ ...described(stats), version: DIRECTORY });

/** An entry of the workspace that we may not read, or that changes all the time. It is always in conflict. */
const unreadable = (stats: BigIntStats): EntryState => ({ ...described(stats), version: 'unreadable' });

/** Undefined if the entry is a pipe, socket or device, may not be read, or changes while it is read. */
async function stateOf(
  folder: Folder,
  name: string,
  stats: BigIntStats,
  turns: Turns,
): Promise<EntryState | undefined> {
  if (stats.isDirectory()) return folderState(stats);
  if (stats.isSymbolicLink()) {
    const target = tryOr(() => readlinkSync(folder.at(name), { encoding: 'buffer' }), undefined);
    return target && { ...described(stats), version: `link:${nameFromDisk(target)}` };
  }
  if (!stats.isFile()) return undefined;
  let file: number;
  try {
    file = openSync(folder.at(name), readFlags);
  } catch (error) {
    if (failedWith(error, 'EACCES', 'EPERM', 'ENOENT', 'ELOOP', 'ENXIO')) return undefined;
    throw error;
  }
  try {
    const isSame = (): boolean => identityOf(fstatSync(file, { bigint: true })) === identityOf(stats);
    if (!isSame()) return undefined;
    const hash = await hashOf(file, Number(stats.size), turns);
    return isSame() ? { ...described(stats), version: `sha256:${hash.digest('hex')}` } : undefined;
  } finally {
    closeSync(file);
  }
}

const shared = Buffer.allocUnsafe(PIECE_BYTES);

async function hashOf(file: number, size: number, turns: Turns): Promise<Hash> {
  const hash = createHash('sha256');
  for (let at = 0; at < size; ) {
    // No other code runs between reading into the shared buffer and hashing it.
    const length = readSync(file, shared, 0, Math.min(PIECE_BYTES, size - at), at);
    if (length === 0) break;
    hash.update(shared.subarray(0, length));
    at += length;
    await turns.next();
  }
  return hash;
}
