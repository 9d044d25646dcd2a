import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { identityOf } from '../files/file-snapshot.ts';
import { nameFromDisk, toDiskPath } from '../isolation/disk-names.ts';
import type { Effect, EntryState } from './effect.ts';

export interface TreeEntry extends EntryState {
  readonly mtimeNs: bigint;
  readonly inode: string;
  readonly names: number;
}

/** Every entry below a folder, by path. */
export function treeOf(
  root: string,
  path = '',
  found = new Map<string, TreeEntry>(),
): Map<string, TreeEntry> {
  for (const bytes of readdirSync(toDiskPath(`${root}/${path}`), { encoding: 'buffer' })) {
    const name = nameFromDisk(bytes);
    const entry = path === '' ? name : `${path}/${name}`;
    const at = toDiskPath(`${root}/${entry}`);
    const stats = lstatSync(at, { bigint: true });
    const type = stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'file';
    const version =
      type === 'directory'
        ? 'directory'
        : type === 'link'
          ? `link:${nameFromDisk(readlinkSync(at, { encoding: 'buffer' }))}`
          : versionOfFile(at);
    found.set(entry, {
      type,
      mode: Number(stats.mode & 0o7777n),
      size: type === 'directory' ? 0 : Number(stats.size),
      version,
      identity: identityOf(stats),
      mtimeNs: stats.mtimeNs,
      inode: `${stats.dev}:${stats.ino}`,
      names: Number(stats.nlink),
    });
    if (type === 'directory') treeOf(root, entry, found);
  }
  return found;
}

/** What a person sees of a tree: paths, types, modes, contents and which names are one file. */
export function looksOf(tree: ReadonlyMap<string, TreeEntry>): Record<string, string> {
  const firstOf = new Map<string, string>();
  return Object.fromEntries(
    [...tree]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, { mode, version, inode, names, type }]) => {
        const first = firstOf.get(inode) ?? path;
        firstOf.set(inode, first);
        const same = type === 'file' && names > 1 ? ` = ${first}` : '';
        return [path, `${type === 'link' ? '' : mode.toString(8)} ${version}${same}`];
      }),
  );
}

/** Makes a folder that looks like the workspace, to be changed as a command would have changed it. */
export function layerLike(root: string, upper: string): void {
  mkdirSync(upper, { recursive: true });
  execFileSync('cp', ['-a', `${root}/.`, upper]);
}

/** The differences from a workspace to a folder that was made by `layerLike`, as a layer's effects. */
export function effectsBetween(root: string, upper: string): Effect[] {
  const [below, above] = [treeOf(root), treeOf(upper)];
  const effects: Effect[] = [];
  const state = (entry: TreeEntry | undefined): EntryState | undefined => {
    if (!entry) return undefined;
    const { type, mode, size, version, identity } = entry;
    return { type, mode, size, version, identity };
  };
  for (const path of [...new Set([...below.keys(), ...above.keys()])].sort((a, b) => (a < b ? -1 : 1))) {
    const [before, after] = [below.get(path), above.get(path)];
    const isSame =
      before?.version === after?.version &&
      (before?.type !== 'file' ||
        (before.mtimeNs === after?.mtimeNs && (after.names === 1 || before.names > 1)));
    if (isSame && (before?.mode === after?.mode || before?.type === 'link')) continue;
    const change = !before ? 'created' : !after ? 'deleted' : isSame ? 'mode' : 'modified';
    effects.push({ path, change, before: state(before), after: state(after) });
  }
  return effects;
}

function versionOfFile(at: string | Buffer): string {
  const hash = createHash('sha256');
  const file = openSync(at, 'r');
  const piece = Buffer.allocUnsafe(1024 * 1024);
  for (let read = readSync(file, piece); read > 0; read = readSync(file, piece))
    hash.update(piece.subarray(0, read));
  closeSync(file);
  return `sha256:${hash.digest('hex')}`;
}
