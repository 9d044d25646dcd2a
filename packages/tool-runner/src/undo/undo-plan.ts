import { CountersignError } from '@countersign/protocol';
import type { FileSnapshot } from '../files/file-snapshot.ts';
import type { Journal, RecordedChange } from '../journal/journal.ts';
import type { Workspace } from '../workspace.ts';
import { fileNow } from './file-now.ts';

/** What undo will do to one file. */
export interface Restoration {
  readonly path: string;
  /** As it stands there now. */
  readonly now: FileSnapshot | undefined;
  /** What it becomes: as it was before the first of the changes. */
  readonly target: RecordedChange;
  /** The changes that this takes back, the newest first. */
  readonly changes: readonly RecordedChange[];
}

/**
 * Plans to take back what some calls changed, the newest change first. Looks at everything before anything is
 * touched. Throws NOT_UNDOABLE, or UNDO_CONFLICT where a file was changed since, unless forced.
 */
export async function planUndo(
  journal: Journal,
  workspace: Workspace,
  toolIds: readonly string[],
  { force }: { readonly force: boolean },
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
    if (!force && !followsFrom(now?.version ?? null, changes))
      throw new CountersignError('UNDO_CONFLICT', { path });
    restorations.push({ path, now, target: changes.at(-1) as RecordedChange, changes });
  }
  return restorations;
}

/** Whether each change, taken back in turn, leads from what is there now to the version before the first of them. */
function followsFrom(version: string | null, changes: readonly RecordedChange[]): boolean {
  let current = version;
  for (const { before, after } of changes) {
    // A change that never came about, or that is gone again, needs nothing.
    if (current === after) current = before;
    else if (current !== before) return false;
  }
  return true;
}

/** Something else than a file stands there: undo does not touch that, forced or not. */
async function lookAt(workspace: Workspace, path: string): Promise<FileSnapshot | undefined> {
  try {
    return await fileNow(workspace, path);
  } catch (cause) {
    throw new CountersignError('UNDO_CONFLICT', { path }, { cause });
  }
}
