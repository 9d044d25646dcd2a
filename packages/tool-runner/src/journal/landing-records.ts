import { setImmediate } from 'node:timers/promises';
import type { ToolResult } from '../executor.ts';
import type { JournalDatabase } from './journal-database.ts';
import {
  changeFrom,
  columnsOf,
  insertChange,
  type PlannedChange,
  type RecordedChange,
} from './recorded-change.ts';
import type { UndoCopies } from './undo-copies.ts';

/** A landing or an undo past its point of no return: after a crash it is completed. */
export interface PendingLanding {
  /** The call, or the undo. */
  readonly toolId: string;
  readonly attempt: number;
  /** Undefined for an undo. */
  readonly layer: { readonly id: string; readonly upper: string; readonly result: ToolResult } | undefined;
  readonly notUndoable: string | undefined;
}

/** So many changes are written or read at a time, to let other work run in between. */
const PAGE = 250;

/** The journal's records of landings and undos that begin, and the room for their undo copies. */
export class LandingRecords {
  readonly #database: JournalDatabase;
  readonly #copies: UndoCopies;
  readonly #now: () => number;
  /** Room for the undo copies of all calls. */
  readonly undoBytes: number;

  constructor(database: JournalDatabase, copies: UndoCopies, now: () => number, undoBytes: number) {
    this.#database = database;
    this.#copies = copies;
    this.#now = now;
    this.undoBytes = undoBytes;
  }

  /**
   * Records all changes and then, in one transaction, that they are going to be made: this is the point of no return. If the
   * process is killed before, the records mean nothing.
   */
  async begin(landing: PendingLanding, changes: readonly PlannedChange[], runId?: string): Promise<void> {
    const { toolId, attempt, layer, notUndoable } = landing;
    for (let start = 0; start < changes.length; start += PAGE) {
      this.#database.unflushed(() => {
        changes.slice(start, start + PAGE).forEach((change, i) => {
          this.#database.run(insertChange, [toolId, attempt, start + i, ...columnsOf(change), this.#now()]);
        });
      });
      await setImmediate();
    }
    this.#database.transaction(() => {
      if (runId !== undefined)
        this.#database.run('insert or ignore into run_calls (tool_id, run_id) values (?, ?)', [
          toolId,
          runId,
        ]);
      this.#database.run(
        'insert into landings (tool_id, attempt, layer, upper, result, not_undoable) values (?, ?, ?, ?, ?, ?)',
        [
          toolId,
          attempt,
          layer?.id ?? null,
          layer?.upper ?? null,
          layer ? JSON.stringify(layer.result) : null,
          notUndoable ?? null,
        ],
      );
    });
    this.#copies.recorded(changes.flatMap(({ copy }) => copy ?? []));
  }

  /** Landings and undos that passed their point of no return and whose outcome is not journalled. */
  pending(): PendingLanding[] {
    return this.#database.rows('select * from landings').map((row) => ({
      toolId: row.tool_id as string,
      attempt: row.attempt as number,
      layer:
        row.layer === null
          ? undefined
          : {
              id: row.layer as string,
              upper: row.upper as string,
              result: JSON.parse(row.result as string) as ToolResult,
            },
      notUndoable: (row.not_undoable as string | null) ?? undefined,
    }));
  }

  /** The changes of a call or undo, in order. */
  async changesOf(toolId: string, attempt?: number): Promise<RecordedChange[]> {
    const changes: RecordedChange[] = [];
    for (;;) {
      const rows = this.#database.rows(
        `select rowid as order_id, * from changes where tool_id = ? and (attempt, position) > (?, ?)
         order by attempt, position limit ${PAGE}`,
        [toolId, changes.at(-1)?.attempt ?? attempt ?? 0, changes.at(-1)?.position ?? -1],
      );
      for (const row of rows) changes.push(changeFrom(row));
      if (rows.length < PAGE) break;
      await setImmediate();
    }
    return attempt === undefined ? changes : changes.filter((change) => change.attempt === attempt);
  }

  /** Deletes the records of changes that were not made, with their copies. */
  drop(changes: readonly RecordedChange[]): void {
    if (changes.length === 0) return;
    this.#database.transaction(() => {
      for (const { toolId, attempt, position } of changes)
        this.#database.run('delete from changes where tool_id = ? and attempt = ? and position = ?', [
          toolId,
          attempt,
          position,
        ]);
    });
    this.#copies.remove(changes.flatMap(({ copy }) => copy ?? []));
  }

  /**
   * Marks the changes of these calls as undone, but not those of the paths in `except`. If one of the calls was itself an
   * undo, the calls that it had undone can be undone again. Harmless twice.
   */
  async markUndone(toolIds: readonly string[], except: ReadonlySet<string>): Promise<void> {
    for (const toolId of toolIds) {
      const undone = (await this.changesOf(toolId)).filter(({ path }) => !except.has(path));
      const paths = new Set(undone.map(({ path }) => path));
      const reopened = this.#database
        .rows('select value from undos, json_each(undos.tool_ids) where undo_id = ?', [toolId])
        .map(({ value }) => value as string);
      for (const id of reopened)
        await this.#mark(
          (await this.changesOf(id)).filter(({ path }) => paths.has(path)),
          null,
        );
      await this.#mark(undone, this.#now());
    }
  }

  async #mark(changes: readonly RecordedChange[], undoneAt: number | null): Promise<void> {
    for (let start = 0; start < changes.length; start += PAGE) {
      this.#database.unflushed(() => {
        for (const { order } of changes.slice(start, start + PAGE))
          this.#database.run('update changes set undone_at = ? where rowid = ?', [undoneAt, order]);
      });
      await setImmediate();
    }
  }

  /**
   * Makes room for the undo copies of a call: deletes those of the oldest calls, which then cannot be undone any more, but
   * not of calls in `except`. Returns false if there is not enough room even so; then nothing was deleted.
   */
  makeRoom(bytes: number, except: readonly string[]): boolean {
    if (bytes > this.undoBytes) return false;
    const calls = this.#database.rows(
      `select tool_id, sum(coalesce(copy_bytes, 0)) as bytes from changes group by tool_id order by min(rowid)`,
    );
    let kept = calls.reduce((sum, call) => sum + (call.bytes as number), 0);
    const isUnfinished = new Set(
      this.#database
        .rows(
          `select tool_id from attempts where report is null union select tool_id from landings
           union select value from undos, json_each(undos.tool_ids) where undos.report is null`,
        )
        .map((row) => row.tool_id as string),
    );
    const leaving: string[] = [];
    for (const { tool_id, bytes: copied } of calls as { tool_id: string; bytes: number }[]) {
      if (kept + bytes <= this.undoBytes) break;
      if (copied === 0 || except.includes(tool_id) || isUnfinished.has(tool_id)) continue;
      leaving.push(tool_id);
      kept -= copied;
    }
    if (kept + bytes > this.undoBytes) return false;
    for (const toolId of leaving) this.forget(toolId);
    return true;
  }

  /** Deletes all changes of a call and their copies. */
  forget(toolId: string, attempt?: number): void {
    const which = `tool_id = ? and attempt = coalesce(?, attempt)`;
    const values = [toolId, attempt ?? null];
    const rows = this.#database.rows(`select copy from changes where ${which} and copy is not null`, values);
    this.#database.run(`delete from changes where ${which}`, values);
    this.#copies.remove(rows.map(({ copy }) => copy as string));
  }
}
