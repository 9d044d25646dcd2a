import { readdirSync } from 'node:fs';
import { CountersignError } from '@countersign/protocol';
import { DIRECTORY, type FileSnapshot } from '../files/file-snapshot.ts';
import { openDirectory } from '../files/workspace-directory.ts';
import type { Journal, RecordedChange } from '../journal/journal.ts';
import type { Workspace } from '../workspace.ts';
import { type DirectoryNow, fileNow, isDirectory } from './file-now.ts';

/** What undo will do to one file. */
export interface Restoration {
  readonly path: string;
  /** The file as it is now. */
  readonly now: FileSnapshot | DirectoryNow | undefined;
  /** The file becomes as it was before this change, the first of them. */
  readonly target: RecordedChange;
  /** The changes that this takes back, the newest first. */
  readonly changes: readonly RecordedChange[];
}

export interface UndoOptions {
  /** Undo also where a file was changed since; a copy of that change is kept. */
  readonly force: boolean;
  /** Why force was asked for and is not allowed; told to the caller where a file was changed since. */
  readonly whyNotForced?: string;
}

/**
 * Plans to take back what some calls changed, the newest change first. Looks at everything before anything is
 * touched. Throws NOT_UNDOABLE, or UNDO_CONFLICT where a file was changed since, unless forced. A directory that is
 * not empty stays, forced or not.
 */
export async function planUndo(
  journal: Journal,
  workspace: Workspace,
  toolIds: readonly string[],
  { force, whyNotForced }: UndoOptions,
): Promise<Restoration[]> {
  const recorded = toolIds.flatMap((toolId) => journal.changesOf(toolId));
  if (recorded.length === 0)
    throw new CountersignError('NOT_UNDOABLE', { problem: 'no copy is kept of what was there before' });
  const open = recorded.filter(({ isUndone }) => !isUndone).sort((a, b) => b.order - a.order);
  if (open.length === 0) throw new CountersignError('NOT_UNDOABLE', { problem: 'it was undone already' });
  const byPath = Map.groupBy(open, ({ path }) => path);
  const restorations: Restoration[] = [];
  for (const [path, changes] of byPath) {
    const now = await lookAt(workspace, path);
    const target = changes.at(-1) as RecordedChange;
    const isAsLeft = followsFrom(now?.version ?? null, changes);
    if (!isAsLeft && !force) throw conflict(path, whyNotForced);
    if (!isAsLeft && (isDirectory(now) || target.before === DIRECTORY)) throw conflict(path);
    restorations.push({ path, now, target, changes });
  }
  const removed = new Set(restorations.filter(isRemoval).map(({ path }) => path));
  for (const { path, now } of restorations.filter(isRemoval)) {
    if (isDirectory(now) && !holdsOnly(workspace, path, removed)) throw conflict(path);
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

const conflict = (path: string, whyNotForced?: string): CountersignError =>
  whyNotForced === undefined
    ? new CountersignError('UNDO_CONFLICT', { path })
    : new CountersignError('DENIED_BY_POLICY', {
        owner: "machine's",
        why: `"${path}" was changed after the call, and ${whyNotForced}`,
      });

/** Whether each change, taken back in turn, leads from what is there now to the version before the first of them. */
function followsFrom(version: string | null, changes: readonly RecordedChange[]): boolean {
  let current = version;
  for (const { before, after } of changes) {
    // A change that was never made, or was already reverted, needs nothing.
    if (current === after) current = before;
    else if (current !== before) return false;
  }
  return true;
}

/** The path is neither a file nor a directory: undo does not touch it, forced or not. */
async function lookAt(workspace: Workspace, path: string): Promise<Restoration['now']> {
  try {
    return await fileNow(workspace, path);
  } catch (cause) {
    throw new CountersignError('UNDO_CONFLICT', { path }, { cause });
  }
}
