import type { ChangedFile, RestoredFile } from '@countersign/protocol';
import type { Caller } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow, FileChangeSummary, RunRow } from '../rows.ts';
import { getAll, type Reading, type Unit } from '../store.ts';
import { type UndoDeps, undoCalls } from './undo-requests.ts';

/** Limit for all diffs of one response: one diff may have half a million characters, and a run may change any number of files. */
const MAX_DIFF_CHARACTERS = 8_000_000;

/**
 * The files that a run changed, in the order of their first change. The newest call that was not undone has the diff of
 * the whole run, because each report has the difference since the run began. A file with the same content as before the
 * run is left out. A diff for which there is no room is left out and marked as truncated.
 */
export function* readRunChanges(tx: Reading, runId: string): Unit<readonly ChangedFile[]> {
  const changes = yield* tx.fileChangesOf({ runId });
  const calls = yield* callsOf(tx, changes);
  const files: ChangedFile[] = [];
  let room = MAX_DIFF_CHARACTERS;
  for (const [path, all] of Map.groupBy(changes, (change) => change.path)) {
    const standing = all.filter(({ tool_id }) => calls.get(tool_id)?.undone_at === null);
    const last = standing.at(-1) ?? (all.at(-1) as FileChangeSummary);
    const operation = last.run_operation ?? netOperation(all);
    if (operation === 'none') continue;
    const diff = room < 0 ? null : ((yield* tx.get('file_changes', last.id))?.diff ?? null);
    room -= diff?.length ?? 0;
    const isLeftOut = room < 0;
    files.push({
      path,
      operation,
      added: last.added,
      removed: last.removed,
      diff: isLeftOut ? null : diff,
      truncated: last.truncated || isLeftOut,
      tool_ids: [...new Set(all.map(({ tool_id }) => tool_id))],
      undoable: standing.some(({ tool_id }) => calls.get(tool_id)?.undoable),
      undone: standing.length === 0,
    });
  }
  return files;
}

/** The operation that several changes of a file amount to, if the runner did not report it. */
function netOperation(changes: readonly FileChangeSummary[]): ChangedFile['operation'] | 'none' {
  const [first, last] = [changes[0]?.operation, changes.at(-1)?.operation];
  if (first === 'created') return last === 'deleted' ? 'none' : 'created';
  return last === 'deleted' ? 'deleted' : 'modified';
}

/**
 * Undoes what file tools changed in a run, or only the changes of one file. For one file, undoes the calls that changed
 * it. If such a call also changed another file (a move has two), later changes of that other file are undone too.
 */
export async function undoRun(
  deps: UndoDeps,
  caller: Caller,
  run: RunRow,
  { path, force }: { readonly path?: string | undefined; readonly force: boolean },
): Promise<readonly RestoredFile[]> {
  const { changes, calls } = await deps.store.read(function* (tx) {
    if ((yield* tx.get('runs', run.id))?.status === 'running') throw new Refusal('RUN_ACTIVE');
    const changes = yield* tx.fileChangesOf({ runId: run.id });
    return { changes, calls: yield* callsOf(tx, changes) };
  });
  const wanted = path === undefined ? new Set(calls.keys()) : callsToUndo(path, changes, calls);
  if (wanted.size === 0) throw new Refusal('NOT_UNDOABLE', { problem: 'it changed no file' });
  const newestFirst = [...calls.values()].reverse().filter(({ id }) => wanted.has(id));
  const undone = await undoCalls(deps, caller, newestFirst, { force });
  return restoredFiles(changes, undone);
}

/**
 * The calls to undo for one file: every call that changed it, and every later call that changed another file of one of
 * those calls. Earlier changes of the other files stay.
 */
function callsToUndo(
  path: string,
  changes: readonly FileChangeSummary[],
  calls: ReadonlyMap<string, ExecutionRow>,
): ReadonlySet<string> {
  const paths = new Set([path]);
  const wanted = new Set<string>();
  for (const [id, made] of Map.groupBy(changes, ({ tool_id }) => tool_id)) {
    if (!made.some((change) => paths.has(change.path))) continue;
    wanted.add(id);
    // A call that is already undone needs no later call to be undone.
    if (calls.get(id)?.undone_at === null) for (const change of made) paths.add(change.path);
  }
  return wanted;
}

/** The calls behind these changes, in the same order. */
function* callsOf(
  tx: Reading,
  changes: readonly FileChangeSummary[],
): Unit<ReadonlyMap<string, ExecutionRow>> {
  const ids = [...new Set(changes.map(({ tool_id }) => tool_id))];
  const rows = yield* getAll(tx, 'tool_executions', ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The files that undoing these calls restores, each with the operation that restores it. */
export function restoredFiles(
  changes: readonly FileChangeSummary[],
  calls: readonly Pick<ExecutionRow, 'id'>[],
): readonly RestoredFile[] {
  const undone = new Set(calls.map(({ id }) => id));
  const taken = changes.filter(({ tool_id }) => undone.has(tool_id));
  return [...Map.groupBy(taken, ({ path }) => path)].flatMap(([path, all]): RestoredFile[] => {
    const first = all[0]?.operation;
    const last = all.at(-1)?.operation;
    if (first === 'created' && last === 'deleted') return []; // there is no file now, and there was none
    const operation =
      first === 'created'
        ? ('deleted' as const)
        : last === 'deleted'
          ? ('created' as const)
          : ('modified' as const);
    return [{ path, operation, tool_ids: [...new Set(all.map(({ tool_id }) => tool_id))].reverse() }];
  });
}
