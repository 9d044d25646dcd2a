import { CountersignError } from '@countersign/protocol';
import type { Journal } from '../journal/journal.ts';
import type { PendingLanding } from '../journal/landing-records.ts';
import type { RecordedChange } from '../journal/recorded-change.ts';
import { applyChanges } from '../layers/apply-changes.ts';
import { discardOriginals, type KeptOriginals, keepOriginals } from '../layers/keep-originals.ts';
import { errorValueOf } from '../result-outbox.ts';
import type { ResultReport } from '../runner-api.ts';
import type { Workspace } from '../workspace.ts';
import { conflict, planUndo, type UndoOptions } from './undo-plan.ts';

/**
 * Restores what file tools and landed commands changed. Undos run one after another. An undo is journalled with all its
 * changes before it touches a file, and completed after a crash (RN-3, RN-12).
 */
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

  /** Completes undos that an earlier runner began. What it had not begun failed, and may be asked for again. */
  async recover(): Promise<void> {
    const begun = new Map(this.#journal.landings.pending().map((pending) => [pending.toolId, pending]));
    for (const { undoId, toolIds } of this.#journal.unfinishedUndos()) {
      const pending = begun.get(undoId);
      if (!pending) this.#journal.landings.forget(undoId);
      const report = await this.#reportOf(undoId, async () => {
        if (!pending) throw new CountersignError('EXECUTION_FAILED', { problem: notBegun });
        return this.#complete(pending, toolIds, true);
      });
      this.#journal.endUndo(undoId, report);
    }
  }

  async #undo(undoId: string, toolIds: readonly string[], options: UndoOptions): Promise<ResultReport> {
    const known = this.#journal.undo(undoId)?.report;
    if (known) return known;
    const report = await this.#reportOf(undoId, async () => {
      this.#journal.startUndo(undoId, toolIds);
      const pending = await this.#begin(undoId, toolIds, options);
      return this.#complete(pending, toolIds, false);
    });
    try {
      this.#journal.endUndo(undoId, report);
    } catch {
      // Return the report anyway: the files are restored, and repeating the undo changes nothing.
    }
    return report;
  }

  /** Plans the undo, keeps what it replaces, and journals all of it. If it throws, no file was touched. */
  async #begin(undoId: string, toolIds: readonly string[], options: UndoOptions): Promise<PendingLanding> {
    const { root } = this.#workspace;
    let kept: KeptOriginals | undefined;
    try {
      const plan = await planUndo(this.#journal, this.#workspace, toolIds, options);
      kept = await keepOriginals(this.#journal, root, plan.changes, [undoId, ...toolIds]);
      if (kept.conflicts.length > 0) throw conflict(kept.conflicts.map(({ path }) => path));
      if (!kept.isKept && plan.isForced) throw new CountersignError('NOT_UNDOABLE', { problem: tooLarge });
      const notUndoable = kept.isKept ? undefined : tooLarge;
      const pending = { toolId: undoId, attempt: 1, layer: undefined, notUndoable };
      await this.#journal.landings.begin(pending, kept.changes);
      return pending;
    } catch (error) {
      this.#journal.landings.forget(undoId);
      discardOriginals(this.#journal, kept);
      throw error;
    }
  }

  /** Returns the files that were restored. Throws UNDO_CONFLICT if some were changed after the plan was made. */
  async #complete({ toolId }: PendingLanding, toolIds: readonly string[], isResumed: boolean) {
    const { landings, copies } = this.#journal;
    const changes = await landings.changesOf(toolId);
    this.#journal.announceChanges(changes);
    const { conflicts, problem } = await applyChanges(changes, {
      root: this.#workspace.root,
      copyAt: (name) => copies.pathOf(name),
      makesFolders: true,
      isResumed,
    });
    landings.drop([...conflicts]);
    const left = [...conflicts].map(({ path }) => path);
    await landings.markUndone(toolIds, new Set(left));
    if (problem !== undefined) throw new CountersignError('EXECUTION_FAILED', { problem });
    if (left.length > 0) throw conflict(left);
    return changes;
  }

  async #reportOf(undoId: string, work: () => Promise<readonly RecordedChange[]>): Promise<ResultReport> {
    const head = { undo_id: undoId, attempt: 1, execution_time_ms: 0 };
    try {
      const restored = (await work()).slice(0, this.#workspace.limits.entries);
      const changed_files = restored.map(({ path, operation }) => ({ path: path.toWellFormed(), operation }));
      return { ...head, status: 'completed', result: { success: true, changed_files } };
    } catch (error) {
      return { ...head, status: 'failed', error: errorValueOf(error) };
    }
  }
}

const notBegun = 'the runner was stopped before it put anything back. Undo it again';
const tooLarge = 'what it would replace is too large to be kept';
