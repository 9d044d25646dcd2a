import type { RunChange } from '@countersign/protocol';
import { DIRECTORY, type FileChange } from '../files/file-snapshot.ts';
import type { Journal } from '../journal/journal.ts';
import type { RecordedChange } from '../journal/recorded-change.ts';
import { fileDiff } from '../preview/file-diff.ts';

/** A larger file gets no diff: computing it takes long, and nobody reads it. */
const MAX_BYTES = 2 * 1024 * 1024;

/**
 * How a run changed the files of one of its calls: each from before the first call of the run that was not undone to
 * after this call (docs/decisions/0025). A file with the same content as before gets the operation `none`. Files that
 * are too large for a diff are left out.
 */
export function runChanges(journal: Journal, runId: string, made: readonly FileChange[]): RunChange[] {
  return made.flatMap((change) => {
    const first = journal.firstChangeOfRun(runId, change.path);
    if (!first || change.contentAfter === undefined) return [];
    return changeSince(journal, first, change) ?? [];
  });
}

function changeSince(journal: Journal, first: RecordedChange, last: FileChange): RunChange | undefined {
  const { path, after, contentAfter } = last;
  const nothing = { path, diff: '', truncated: false, added: 0, removed: 0 };
  if (first.before === after) return { ...nothing, operation: 'none' };
  const operation = first.before === null ? 'created' : after === null ? 'deleted' : 'modified';
  if (first.before === DIRECTORY || after === DIRECTORY) return { ...nothing, operation };
  if ((contentAfter?.bytes.length ?? 0) > MAX_BYTES) return undefined;
  const before = first.copy === undefined ? null : journal.originalOf(first.copy);
  if (before && before.length > MAX_BYTES) return undefined;
  const { diff, truncated } = fileDiff({
    path,
    operation,
    before,
    after: contentAfter?.bytes ?? null,
    modeBefore: first.mode,
    modeAfter: before ? contentAfter?.mode : undefined,
  });
  return { path, operation, diff, truncated, ...countLines(diff) };
}

/** Counts the changed lines of a unified diff. */
function countLines(diff: string): { added: number; removed: number } {
  const hunks = diff.slice(Math.max(0, diff.search(/^@@/m)));
  return { added: hunks.match(/^\+/gm)?.length ?? 0, removed: hunks.match(/^-/gm)?.length ?? 0 };
}
