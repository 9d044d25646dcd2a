import { closeSync, constants, lstatSync, type Stats } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import {
  joinPath,
  openExactly,
  pathBytes,
  type RawPath,
  rawPath,
  shownName,
  statFlags,
} from '../files/exact-path.ts';
import { isBelowRepository } from '../files/repository-above.ts';
import { runRipgrep } from '../files/ripgrep.ts';
import { FoundNames } from '../files/ripgrep-records.ts';
import { EndedAfterChanges, ExecutionCancelled } from '../runner-errors.ts';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';

/** Part of a command's result. A type, because no interface is assignable to JSON. Empty fields are left out. */
export type CommandChanges = {
  changed_files?: { path: string; operation: 'created' | 'modified' | 'deleted' }[];
  /** Why `changed_files` may be incomplete. */
  changed_files_incomplete?: string;
};

/** Calls `run` and returns which files changed meanwhile. If `run` throws after changes, throws EndedAfterChanges. */
export async function withChanges<T>(
  workspace: Workspace,
  mayWrite: boolean,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<{ readonly value: T; readonly changes: CommandChanges }> {
  if (!mayWrite) return { value: await run(), changes: {} };
  const changesSince = await watchChanges(workspace, signal);
  let value: T;
  try {
    value = await run();
  } catch (error) {
    const changes = await changesSince();
    if (!(error instanceof CountersignError) || !changes.changed_files) throw error;
    throw new EndedAfterChanges(error, {
      ...(error instanceof EndedAfterChanges && error.changes),
      ...changes,
    });
  }
  return { value, changes: await changesSince() };
}

export interface ComparisonBounds {
  readonly files?: number;
  /** Time limit for the scan before the command, and again for the scan after it. */
  readonly milliseconds?: number;
  /** Tolerated difference between our clock and that of a network disk. */
  readonly clockSlackMs?: number;
}

/**
 * Scans the files of a workspace before a command, and returns a function that finds what changed since (TL-2). Call that
 * function after all processes of the command have ended.
 *
 * Compares inode, size and times of the files that git does not ignore: a build may write thousands of ignored files,
 * which nobody edits. Outside a repository, only installed packages are ignored. ripgrep lists the names, because it
 * reads ignore files; directories are opened without following links (VA-1). Links, `.git` and sensitive files (VA-2) are
 * never listed. Each scan is limited to 20,000 files and one second; the result says if a limit was reached. Changes by a
 * person or another call at the same time are listed too, because they cannot be told apart.
 */
export async function watchChanges(
  workspace: Workspace,
  signal: AbortSignal,
  { files = 20_000, milliseconds = 1_000, clockSlackMs = 2_000 }: ComparisonBounds = {},
): Promise<() => Promise<CommandChanges>> {
  const startedAt = Date.now();
  const names: RawPath[] = [];
  const first = new FileScan(workspace, milliseconds);
  let problem = await first.list(signal, (path) => names.push(path) <= files);
  if (names.length > files) problem = `the workspace has more than ${files} files; others were not compared`;
  const before = new Map<RawPath, string>();
  await first.stat(names, (path, found) => {
    if (found) before.set(path, identityOf(found));
  });
  if (signal.aborted) throw new ExecutionCancelled();
  problem ??= first.problem;

  return async () => {
    const second = new FileScan(workspace, milliseconds);
    const changes: Change[] = [];
    await second.stat([...before.keys()], (path, found) => {
      if (!found) changes.push({ path, operation: 'deleted' });
      else if (identityOf(found) !== before.get(path)) changes.push({ path, operation: 'modified' });
    });
    // Look for new files only if the first scan was complete: otherwise an unknown name may be an old file.
    if (problem === undefined) {
      const unknown: RawPath[] = [];
      problem = await second.list(undefined, (path) => {
        if (!before.has(path)) unknown.push(path);
        return unknown.length <= files;
      });
      await second.stat(unknown, (path, found) => {
        // A file with an older ctime existed before the command: only git's ignore rules have changed.
        if (found && found.ctimeMs > startedAt - clockSlackMs) changes.push({ path, operation: 'created' });
      });
    }
    return listed(changes, workspace.limits.entries, problem ?? second.problem);
  };
}

interface Change {
  readonly path: RawPath;
  readonly operation: 'created' | 'modified' | 'deleted';
}

/** Time after which the scan yields to the event loop. */
const turnMs = 15;
/** Folders of installed packages, whose many files only a package manager changes. */
const packageFolders = ['node_modules', 'site-packages'];

type Stamp = Pick<Stats, 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>;

const identityOf = ({ ino, size, mtimeMs, ctimeMs }: Stamp): string => `${ino}:${size}:${mtimeMs}:${ctimeMs}`;

/** One scan of the workspace, with a time limit. */
class FileScan {
  readonly #workspace: Workspace;
  readonly #deadline: number;
  /** Why the scan is incomplete. */
  problem: string | undefined;

  constructor(workspace: Workspace, milliseconds: number) {
    this.#workspace = workspace;
    this.#deadline = performance.now() + milliseconds;
  }

  /** Calls `take` with each name until it returns false. Returns the reason if names may be missing. */
  async list(signal: AbortSignal | undefined, take: (path: RawPath) => boolean): Promise<string | undefined> {
    const { root, limits, ripgrep } = this.#workspace;
    const names = new FoundNames();
    const time = AbortSignal.timeout(Math.max(0, Math.ceil(this.#deadline - performance.now())));
    const query = {
      content: undefined,
      names: [],
      without: packageFolders,
      hidden: true,
      ignoredFromAbove: isBelowRepository(root),
      gitFolder: false,
      maxFileBytes: limits.fileBytes,
      maxMatchesPerFile: 1,
      maxLineCharacters: 1,
    };
    const takeAll = (piece: Buffer): boolean => {
      for (const path of names.push(piece)) if (!take(path)) return false;
      return true;
    };
    try {
      await runRipgrep(root, query, signal ? AbortSignal.any([signal, time]) : time, takeAll, ripgrep);
      return undefined;
    } catch (error) {
      if (signal?.aborted) throw error;
      return time.aborted ? outOfTime : `the files could not be listed: ${(error as Error).message}`;
    }
  }

  /** Calls `take` with the file at each of these paths; undefined if there is no file. */
  async stat(
    paths: readonly RawPath[],
    take: (path: RawPath, found: Stamp | undefined) => void,
  ): Promise<void> {
    let turnStartedAt = performance.now();
    for (const [directory, names] of byDirectory(paths)) {
      const now = performance.now();
      if (now > this.#deadline) {
        this.problem = outOfTime;
        return;
      }
      if (now - turnStartedAt > turnMs) {
        await setImmediate();
        turnStartedAt = performance.now();
      }
      this.#statDirectory(directory, names, take);
    }
  }

  #statDirectory(
    directory: RawPath,
    names: readonly RawPath[],
    take: (path: RawPath, found: Stamp | undefined) => void,
  ): void {
    const root = rawPath(this.#workspace.root);
    const descriptor = openExactly(root, directory, statFlags | constants.O_DIRECTORY);
    const path = `${root}/${directory}`;
    const isGone = descriptor === undefined && statOrClosed(path) !== 'closed';
    const fsPath = process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : path;
    try {
      for (const name of names) {
        const found = isGone
          ? undefined
          : descriptor === undefined
            ? 'closed'
            : statOrClosed(`${fsPath}/${name}`);
        if (found === 'closed') this.problem = notPermitted;
        else take(joinPath(directory, name), found?.isFile() ? found : undefined);
      }
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }
}

/** Returns `closed` if we lack permission: a command can remove permissions. */
const statOrClosed = (path: RawPath): Stats | 'closed' | undefined =>
  tryOr(() => lstatSync(pathBytes(path), { throwIfNoEntry: false }), 'closed');

const notPermitted = 'some folders may not be looked into; their files were not compared';
const outOfTime = 'comparing the workspace took too long; not every file was compared';

function byDirectory(paths: readonly RawPath[]): Map<RawPath, RawPath[]> {
  const directories = new Map<RawPath, RawPath[]>();
  for (const path of paths) {
    const slash = path.lastIndexOf('/');
    const directory = slash < 0 ? '' : path.slice(0, slash);
    const names = directories.get(directory);
    if (names) names.push(path.slice(slash + 1));
    else directories.set(directory, [path.slice(slash + 1)]);
  }
  return directories;
}

function listed(changes: readonly Change[], most: number, problem: string | undefined): CommandChanges {
  const shown = changes
    .map(({ path, operation }) => ({ path: shownName(path), operation }))
    .filter(({ path }) => sensitivePlaces.find(path) === undefined)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const incomplete =
    shown.length > most ? `${shown.length} files changed; ${most} of them are listed` : problem;
  return {
    ...(shown.length > 0 && { changed_files: shown.slice(0, most) }),
    ...(incomplete !== undefined && { changed_files_incomplete: incomplete }),
  };
}
