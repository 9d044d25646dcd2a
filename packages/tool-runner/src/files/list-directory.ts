import { closeSync, constants, type Dirent, lstatSync, opendirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { summarised, visibleName } from '../preview/look.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { ToolModule } from '../tool-module.ts';
import { tryOr } from '../try-or.ts';
import { reportProgress } from '../work-progress.ts';
import { joinPath, openExactly, pathBytes, type RawPath, rawPath, shownName } from './exact-path.ts';
import { describeEntry, type FileEntry, listingOf } from './file-entry.ts';
import { VisibleEntries } from './visible-entries.ts';
import { inDirectory, type OpenedPath } from './workspace-directory.ts';

export interface ListingOptions {
  readonly directory: OpenedPath;
  /** Absolute, links resolved. */
  readonly root: string;
  readonly recursive: boolean;
  readonly visible: VisibleEntries;
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Updated while the listing runs. */
  readonly count?: { visited: number; found: number };
  /** Time in milliseconds after which the listing yields to the event loop. */
  readonly turnMs?: number;
}

export interface ListedEntries {
  readonly files: FileEntry[];
  /** True if there are more than `limit` entries. */
  readonly truncated: boolean;
  /** Number of names that were read from the disk. */
  readonly visited: number;
}

const READ_AT_ONCE = 64;

/** The result is sorted by path. If it is truncated, it has the first entries in the disk's order. */
export const listDirectory: ToolModule<'list_directory'> = {
  look: summarised(({ path }) => `Lists "${visibleName(path)}".`),
  execute({ params }, { signal, onProgress: report }, { workspace: { root, limits } }) {
    const { path, recursive, pattern } = params;
    const visible = new VisibleEntries(pattern);
    const count = { visited: 0, found: 0 };
    const describe = () => ({ message: `${count.visited} entries looked at, ${count.found} found` });
    return inDirectory(root, path, (directory) =>
      reportProgress({ report, describe }, async () =>
        listingOf(
          await listEntries({ directory, root, recursive, visible, limit: limits.entries, signal, count }),
        ),
      ),
    );
  },
};

/**
 * Returns the visible entries of a directory in the disk's order; with `recursive`, each directory comes before its
 * entries. Stops at the first entry after `limit`. Links are listed as links and never followed. A directory that is gone
 * or may not be read counts as empty.
 */
export async function listEntries(listing: ListingOptions): Promise<ListedEntries> {
  const { directory, recursive, visible, limit, signal, turnMs = 15 } = listing;
  const { count = { visited: 0, found: 0 } } = listing;
  const root = rawPath(listing.root);
  const todo: ListedPath[] = [{ raw: rawPath(directory.path), path: directory.path, below: '' }];
  const files: FileEntry[] = [];
  let turnStartedAt = performance.now();
  for (let current = todo.pop(); current !== undefined; current = todo.pop()) {
    const opened: Opened | undefined =
      current.below === '' ? { fsPath: rawPath(directory.fsPath) } : openListed(root, current.raw);
    if (!opened) continue;
    const subdirectories: ListedPath[] = [];
    try {
      for (const entry of entriesOf(opened.fsPath)) {
        count.visited++;
        if (count.visited % READ_AT_ONCE === 0 && performance.now() - turnStartedAt > turnMs) {
          await setImmediate();
          if (signal.aborted) throw new ExecutionCancelled();
          turnStartedAt = performance.now();
        }
        const found = entryPath(current, entry.name);
        if (recursive && entry.isDirectory() && visible.mayEnter(found.below, found.path))
          subdirectories.push(found);
        if (!visible.shows(found.below, found.path)) continue;
        const path = pathBytes(`${opened.fsPath}/${entry.name}`);
        const stats = tryOr(() => lstatSync(path), undefined);
        if (!stats) continue;
        if (files.length === limit) return { files, truncated: true, visited: count.visited };
        files.push(describeEntry(found.path, stats));
        count.found++;
      }
    } finally {
      if (opened.descriptor !== undefined) closeSync(opened.descriptor);
    }
    while (subdirectories.length > 0) todo.push(subdirectories.pop() as ListedPath);
  }
  return { files, truncated: false, visited: count.visited };
}

/** An entry's path in three forms. */
interface ListedPath {
  /** From the root. */
  readonly raw: RawPath;
  /** From the root, for people and models. */
  readonly path: string;
  /** From the listed directory, for people and models. */
  readonly below: string;
}

function entryPath({ raw, path, below }: ListedPath, name: RawPath): ListedPath {
  const shown = shownName(name);
  return { raw: joinPath(raw, name), path: joinPath(path, shown), below: joinPath(below, shown) };
}

/** A directory to read, by its path for `fs`. If we opened it, `descriptor` must be closed. */
interface Opened {
  readonly fsPath: RawPath;
  readonly descriptor?: number;
}

function openListed(root: RawPath, raw: RawPath): Opened | undefined {
  const descriptor = openExactly(root, raw, constants.O_RDONLY | constants.O_DIRECTORY);
  if (descriptor === undefined) return undefined;
  return {
    fsPath: process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : `${root}/${raw}`,
    descriptor,
  };
}

/** Yields the entries of a directory, and closes it afterwards. */
function* entriesOf(fsPath: RawPath): Generator<Dirent> {
  const directory = opendirSync(pathBytes(fsPath) as string, {
    encoding: 'latin1', // makes each name a RawPath
    bufferSize: READ_AT_ONCE,
  });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry;
  } finally {
    directory.closeSync();
  }
}
