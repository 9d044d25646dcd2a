import { closeSync, openSync, readFileSync } from 'node:fs';
import type { RunChange } from '@countersign/protocol';
import { DIRECTORY, type FileChange, versionOf } from '../files/file-snapshot.ts';
import type { Journal } from '../journal/journal.ts';
import type { RecordedChange } from '../journal/recorded-change.ts';
import { entryNow, isFileVersion, readFlags, targetOf } from '../layers/entry-now.ts';
import { FolderWalk } from '../layers/folder-walk.ts';
import { isListed } from '../layers/landed-result.ts';
import { Turns } from '../layers/turns.ts';
import { fileDiff } from '../preview/file-diff.ts';

/** A larger file gets no diff: computing it takes long, and nobody reads it. */
const MAX_BYTES = 2 * 1024 * 1024;
/** A command may change any number of files. Only the first of them get a diff. */
const MAX_LANDED = 200;
/** No more diffs are added when they have this many characters together. */
const MAX_CHARACTERS = 2_000_000;

/**
 * How a run changed the files of one of its calls: each from before the first call of the run that was not undone to
 * after this call (docs/decisions/0025). A file with the same content as before gets the operation `none`. Files that
 * are too large for a diff are left out, and so are the last files of a call that changed very many.
 */
export async function runChanges(
  journal: Journal,
  runId: string,
  made: readonly FileChange[],
): Promise<RunChange[]> {
  const turns = new Turns();
  const changes: RunChange[] = [];
  let characters = 0;
  for (const change of made) {
    await turns.next();
    if (characters > MAX_CHARACTERS) break;
    const first = journal.firstChangeOfRun(runId, change.path);
    if (!first || change.contentAfter === undefined) continue;
    const told = changeSince(journal, first, change);
    if (!told) continue;
    characters += told.diff.length;
    changes.push(told);
  }
  return changes;
}

/** What a landed command changed, with the contents now, for `runChanges`. Leaves out files that have changed again. */
export async function landedChanges(
  journal: Journal,
  root: string,
  toolId: string,
  attempt: number,
): Promise<FileChange[]> {
  const walk = new FolderWalk(root);
  const turns = new Turns();
  try {
    const changes: FileChange[] = [];
    for (const change of (await journal.landings.changesOf(toolId, attempt)).slice(0, MAX_LANDED)) {
      await turns.next();
      const { path, operation, before, after, modeAfter } = change;
      // Names that are not UTF-8 have no place in a diff.
      if (!path.isWellFormed() || !isListed(change)) continue;
      const made = { path, operation, before, after, original: undefined };
      const bytes = after !== null && isFileVersion(after) ? contentOf(walk.at(path), after) : null;
      if (bytes === undefined) continue;
      changes.push({ ...made, contentAfter: bytes && { bytes, mode: modeAfter } });
    }
    return changes;
  } finally {
    walk.close();
  }
}

function contentOf(at: string | Buffer | undefined, version: string): Buffer | undefined {
  const now = entryNow(at);
  if (at === undefined || now?.type !== 'file' || now.size > MAX_BYTES) return undefined;
  const file = openSync(at, readFlags);
  try {
    const bytes = readFileSync(file);
    return versionOf(bytes) === version ? bytes : undefined;
  } finally {
    closeSync(file);
  }
}

function changeSince(journal: Journal, first: RecordedChange, last: FileChange): RunChange | undefined {
  const { path, after, contentAfter } = last;
  const nothing = { path, diff: '', truncated: false, added: 0, removed: 0 };
  const isModeChanged = first.modeAfter !== undefined && first.mode !== contentAfter?.mode;
  if (first.before === after && !isModeChanged) return { ...nothing, operation: 'none' };
  const operation = first.before === null ? 'created' : after === null ? 'deleted' : 'modified';
  const isWithoutDiff = (version: string | null) => version === DIRECTORY || targetOf(version) !== undefined;
  if (first.before === after || isWithoutDiff(first.before) || isWithoutDiff(after))
    return { ...nothing, operation };
  if ((contentAfter?.bytes.length ?? 0) > MAX_BYTES) return undefined;
  // The first change of the run was one of permissions, or its copy did not fit.
  if (first.before !== null && first.copy === undefined) return undefined;
  const size = first.copy === undefined ? 0 : entryNow(journal.copies.pathOf(first.copy))?.size;
  if (size === undefined || size > MAX_BYTES) return undefined;
  const before = first.copy === undefined ? null : journal.originalOf(first.copy);
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
