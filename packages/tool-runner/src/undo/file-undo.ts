import { describeError } from '@countersign/protocol';
import type { Journal, RecordedChange } from '../journal/journal.ts';
import { errorValueOf } from '../result-outbox.ts';
import type { ResultReport } from '../runner-api.ts';
import type { Workspace } from '../workspace.ts';
import { fileNow } from './file-now.ts';
import { restoreFile } from './restore-file.ts';
import { planUndo, type UndoOptions } from './undo-plan.ts';

/** Restores files that file tools changed. Undos run one after another and are journalled before they begin (RN-3). */
export class FileUndo {
  readonly #journal: Journal;
  readonly #workspace: Workspace;
  #last: Promise<unknown> = Promise.resolve();

  constructor(journal: Journal, workspace: Workspace) {
    this.#journal = journal;
    this.#workspace = workspace;
  }

  /**
   * Undoes several calls as one, the newest change first. If `undoId` is already in the journal, returns its report. The
   * journal records the undo's own changes under `undoId`: pass it in `toolIds` to revert the undo.
   */
  undo(undoId: string, toolIds: readonly string[], options: UndoOptions): Promise<ResultReport> {
    const report = this.#last.then(() => this.#undo(undoId, toolIds, options));
    this.#last = report.catch(() => {});
    return report;
  }

  /** Resolves when all undos have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }

  /** Ends undos that an earlier runner left unfinished: completed if all files are restored, otherwise failed. */
  async recover(): Promise<void> {
    for (const { undoId, toolIds } of this.#journal.unfinishedUndos()) {
      const open = toolIds.flatMap((id) => this.#journal.changesOf(id)).filter(({ isUndone }) => !isUndone);
      const undone: RecordedChange[] = [];
      for (const changes of Map.groupBy(open, ({ path }) => path).values()) {
        if (await this.#isRestored(changes)) undone.push(...changes);
      }
      const left = open.length - undone.length;
      const problem = `the runner was stopped in the middle, and ${left} changes are left. Undo it again`;
      const report: ResultReport =
        left === 0
          ? { ...reportHead(undoId), status: 'completed', result: { success: true } }
          : {
              ...reportHead(undoId),
              status: 'failed',
              error: describeError('EXECUTION_FAILED', { problem }),
            };
      this.#journal.endUndo(undoId, report, undone);
    }
  }

  async #undo(undoId: string, toolIds: readonly string[], options: UndoOptions): Promise<ResultReport> {
    const known = this.#journal.undo(undoId)?.report;
    if (known) return known;
    const undone: RecordedChange[] = [];
    let report: ResultReport;
    try {
      this.#journal.startUndo(undoId, toolIds);
      const changed_files: { path: string; operation: string }[] = [];
      for (const restoration of await planUndo(this.#journal, this.#workspace, toolIds, options)) {
        const operation = await restoreFile(this.#workspace, this.#journal, restoration, undoId);
        if (operation) changed_files.push({ path: restoration.path, operation });
        undone.push(...restoration.changes);
      }
      report = { ...reportHead(undoId), status: 'completed', result: { success: true, changed_files } };
    } catch (error) {
      report = { ...reportHead(undoId), status: 'failed', error: errorValueOf(error) };
    }
    try {
      this.#journal.endUndo(undoId, report, undone);
    } catch {
      // Return the report anyway: the files are restored, and repeating the undo changes nothing.
    }
    return report;
  }

  /** Whether a path is as it was before its first change. */
  async #isRestored([first]: readonly RecordedChange[]): Promise<boolean> {
    if (!first) return true;
    try {
      return ((await fileNow(this.#workspace, first.path))?.version ?? null) === first.before;
    } catch {
      return false; // something else is at the path
    }
  }
}

const reportHead = (undoId: string) => ({ undo_id: undoId, attempt: 1, execution_time_ms: 0 });
