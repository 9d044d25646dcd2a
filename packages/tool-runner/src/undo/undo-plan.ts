import { readdirSync } from 'node:fs';
import { CountersignError } from '@countersign/protocol';
import { DIRECTORY, type FileSnapshot } from '../files/file-snapshot.ts';
import { openDirectory } from '../files/workspace-directory.ts';
import type { Journal, RecordedChange } from '../journal/journal.ts';
import type { Workspace } from '../workspace.ts';
import { type DirectoryNow, fileNow, isDirectory } from './file-now.ts';

/** The plan to restore one file. */
export interface Restoration {
  readonly path: string;
  /** The current state of the file. */
  readonly now: FileSnapshot | DirectoryNow | undefined;
  /** The oldest of the changes. Undo restores the state before it. */
  readonly target: RecordedChange;
  /** The changes that undo reverts, the newest first. */
  readonly changes: readonly RecordedChange[];
}

export interface UndoOptions {
  /** Undo even if a file was changed after the call. A copy of the later content is kept. */
  readonly force: boolean;
  /** Why a requested force is not allowed. Part of the error if a file was changed after the call. */
  readonly whyNotForced?: string;
  /** True: calls that are all undone already leave nothing to do, so that a lost report can be repeated. */
  readonly skipUndone?: boolean;
}

/**
 * Plans to undo some calls, the newest change first, without touching any file. Throws NOT_UNDOABLE, or UNDO_CONFLICT with
 * all files that were changed after the calls, unless forced. A directory that is not empty is a conflict even if forced.
 */
export async function planUndo(
  journal: Journal,
  workspace: Workspace,
  toolIds: readonly string[],
  { force, whyNotForced, skipUndone = false }: UndoOptions,
): Promise<Restoration[]> {
  const recorded = toolIds.map((toolId) => journal.changesOf(toolId));
  if (recorded.some((changes) => changes.length === 0))
    throw new CountersignError('NOT_UNDOABLE', { problem: 'no copy is kept of what was there before' });
  const open = recorded
    .flat()
    .filter(({ isUndone }) => !isUndone)
    .sort((a, b) => b.order - a.order);
  if (open.length === 0 && !skipUndone)
    throw new CountersignError('NOT_UNDOABLE', { problem: 'it was undone already' });
  const byPath = Map.groupBy(open, ({ path }) => path);
  const restorations: Restoration[] = [];
  const changedSince: string[] = [];
  for (const [path, changes] of byPath) {
    const now = await stateNow(workspace, path);
    const target = changes.at(-1) as RecordedChange;
    const isAsLeft = revertsCleanly(now?.version ?? null, changes);
    if (!isAsLeft && !force) changedSince.push(path);
    else if (!isAsLeft && (isDirectory(now) || target.before === DIRECTORY)) throw conflict([path]);
    restorations.push({ path, now, target, changes });
  }
  if (changedSince.length > 0) throw conflict(changedSince, whyNotForced);
  const removed = new Set(restorations.filter(isRemoval).map(({ path }) => path));
  for (const { path, now } of restorations.filter(isRemoval)) {
    if (isDirectory(now) && !holdsOnly(workspace, path, removed)) throw conflict([path]);
  }
  return restorations;
}

const isRemoval = ({ target }: Restoration): boolean => target.before === null;

function holdsOnly({ root }: Workspace, path: string, expected: ReadonlySet<string>): boolean {
  const directory = openDirectory(root, path);
  try {
    return readdirSync(directory.at('.')).every((name) => expected.has(`${path}/${name}`));
  } finally {
    directory.close();
  }
}

/** A refusal names at most this many files. */
const NAMED = 20;

function conflict(paths: readonly string[], whyNotForced?: string): CountersignError {
  const named = paths.slice(0, NAMED).map((path) => `"${path}"`);
  const path = [...named, ...(paths.length > NAMED ? [`… (${paths.length})`] : [])].join(', ');
  return whyNotForced === undefined
    ? new CountersignError('UNDO_CONFLICT', { path })
    : new CountersignError('DENIED_BY_POLICY', {
        owner: "machine's",
        why: `${path} was changed after the call, and ${whyNotForced}`,
      });
}

/** Whether reverting the changes one by one, the newest first, leads from this version to the one before all of them. */
function revertsCleanly(version: string | null, changes: readonly RecordedChange[]): boolean {
  let current = version;
  for (const { before, after } of changes) {
    // A change that was never made, or was already reverted, needs nothing.
    if (current === after) current = before;
    else if (current !== before) return false;
  }
  return true;
}

/** Throws UNDO_CONFLICT if the path is neither a file nor a directory, even if forced. */
async function stateNow(workspace: Workspace, path: string): Promise<Restoration['now']> {
  try {
    return await fileNow(workspace, path);
  } catch (cause) {
    throw new CountersignError('UNDO_CONFLICT', { path: `"${path}"` }, { cause });
  }
}
