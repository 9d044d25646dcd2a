import { closeSync, constants, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { summarised, visibleName } from '../preview/look.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { ToolModule } from '../tool-module.ts';
import { tellProgress } from '../work-progress.ts';
import { openExactly, pathBytes, type RawPath, rawPath, shownName } from './exact-path.ts';
import { describeEntry, type FileEntry, listingOf } from './file-entry.ts';
import { VisibleEntries } from './visible-entries.ts';
import { inDirectory } from './workspace-directory.ts';

export interface Listing {
  /** The directory that was asked for: where it is below the root, and what to give to `fs` for it. */
  readonly directory: { readonly path: string; readonly reach: string };
  /** Links resolved. */
  readonly root: string;
  readonly recursive: boolean;
  readonly visible: VisibleEntries;
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Kept up to date while it works. */
  readonly count?: { visited: number; found: number };
  /** How long it works before others have their turn, in milliseconds. */
  readonly turnMs?: number;
}

export interface Listed {
  readonly files: FileEntry[];
  /** There is at least one more. */
  readonly truncated: boolean;
  /** How many names were read from the disk for it. */
  readonly visited: number;
}

const READ_AT_ONCE = 64;

/** Sorted by path when all fit; otherwise the first that the disk gave. */
export const listDirectory: ToolModule<'list_directory'> = {
  look: summarised(({ path }) => `Lists "${visibleName(path)}".`),
  execute({ params }, { signal, onProgress: report }, { workspace: { root, limits } }) {
    const { path, recursive, pattern } = params;
    const visible = new VisibleEntries(pattern);
    const count = { visited: 0, found: 0 };
    const describe = () => ({ message: `${count.visited} entries looked at, ${count.found} found` });
    return inDirectory(root, path, (directory) =>
      tellProgress({ report, describe }, async () =>
        listingOf(
          await listEntries({ directory, root, recursive, visible, limit: limits.entries, signal, count }),
        ),
      ),
    );
  },
};

/**
 * What is visible in a directory, and below it when `recursive`, in the order the disk gives: a directory first, then
 * those in it. It stops as soon as it knows that there are more than `limit`, however large the tree is. Links are
 * listed as links and never followed; a directory that may not be read, or went away meanwhile, counts as empty.
 */
export async function listEntries(listing: Listing): Promise<Listed> {
  const { directory, recursive, visible, limit, signal, turnMs = 15 } = listing;
  const { count = { visited: 0, found: 0 } } = listing;
  const root = rawPath(listing.root);
  const todo: Level[] = [{ raw: rawPath(directory.path), path: directory.path, below: '' }];
  const files: FileEntry[] = [];
  let turnStartedAt = performance.now();
  for (let level = todo.pop(); level !== undefined; level = todo.pop()) {
    const opened: Opened | undefined =
      level.below === '' ? { reach: rawPath(directory.reach) } : openLevel(root, level.raw);
    if (!opened) continue;
    const inner: Level[] = [];
    try {
      for (const entry of entriesOf(opened.reach)) {
        count.visited++;
        if (count.visited % READ_AT_ONCE === 0 && performance.now() - turnStartedAt > turnMs) {
          await setImmediate();
          if (signal.aborted) throw new ExecutionCancelled();
          turnStartedAt = performance.now();
        }
        const found = within(level, entry.name);
        if (recursive && entry.isDirectory() && visible.enters(found.below, found.path)) inner.push(found);
        if (!visible.shows(found.below, found.path)) continue;
        const stats = look(`${opened.reach}/${entry.name}`);
        if (!stats) continue;
        if (files.length === limit) return { files, truncated: true, visited: count.visited };
        files.push(describeEntry(found.path, stats));
        count.found++;
      }
    } finally {
      if (opened.descriptor !== undefined) closeSync(opened.descriptor);
    }
    while (inner.length > 0) todo.push(inner.pop() as Level);
  }
  return { files, truncated: false, visited: count.visited };
}

/** A directory on the way. */
interface Level {
  readonly raw: RawPath;
  /** From the root, as it is shown. */
  readonly path: string;
  /** From the directory that was asked for, as it is shown. */
  readonly below: string;
}

function within({ raw, path, below }: Level, name: RawPath): Level {
  const shown = shownName(name);
  return { raw: joined(raw, name), path: joined(path, shown), below: joined(below, shown) };
}

const joined = (directory: string, name: string): string =>
  directory === '' ? name : `${directory}/${name}`;

/** A directory below the one that was asked for; `reach` is what to give to `fs` for it. */
interface Opened {
  readonly reach: RawPath;
  readonly descriptor?: number;
}

function openLevel(root: RawPath, raw: RawPath): Opened | undefined {
  const descriptor = openExactly(root, raw, constants.O_RDONLY | constants.O_DIRECTORY);
  if (descriptor === undefined) return undefined;
  return {
    reach: process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : `${root}/${raw}`,
    descriptor,
  };
}

/** The entries of a directory, a few at a time; it is open only while it is read. */
function* entriesOf(reach: RawPath): Generator<Dirent> {
  const directory = opendirSync(pathBytes(reach) as string, {
    encoding: 'latin1', // one character for each byte of a name
    bufferSize: READ_AT_ONCE,
  });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry;
  } finally {
    directory.closeSync();
  }
}

function look(path: RawPath): Stats | undefined {
  try {
    return lstatSync(pathBytes(path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
