import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, timing, undoStoreBytes } from '@countersign/protocol';
import type { FileChange } from '../files/file-snapshot.ts';
import type { ResultReport } from '../runner-api.ts';
import { JournalDatabase, orUnavailable, type Row } from './journal-database.ts';
import { type JournalHolder, lockJournal, takeoverRequester } from './journal-lock.ts';
import { LandingRecords } from './landing-records.ts';
import {
  addedColumns,
  changeFrom,
  columnsOf,
  insertChange,
  type RecordedChange,
  textOf,
} from './recorded-change.ts';
import { UndoCopies } from './undo-copies.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const ATTEMPTS_KEPT_MS = 7 * DAY_MS;
const UNDO_KEPT_MS = 30 * DAY_MS;

const tables = `
  create table if not exists attempts (
    tool_id text not null, attempt integer not null, tool text not null, started_at integer not null,
    ended_at integer, report text, acknowledged_at integer, primary key (tool_id, attempt)
  ) strict;
  create index if not exists unacknowledged on attempts (acknowledged_at) where acknowledged_at is null;
  create table if not exists changes (
    tool_id text not null, attempt integer not null, position integer not null, path text not null,
    operation text not null, before text, after text, mode integer, copy text, recorded_at integer not null,
    undone_at integer, primary key (tool_id, attempt, position)
  ) strict;
  create table if not exists run_calls (tool_id text primary key, run_id text not null) strict;
  create index if not exists calls_of_run on run_calls (run_id);
  create table if not exists landings (
    tool_id text not null, attempt integer not null, layer text, upper text, result text, not_undoable text,
    primary key (tool_id, attempt)
  ) strict;
  create table if not exists undos (
    undo_id text primary key, tool_ids text not null, started_at integer not null,
    report text, acknowledged_at integer
  ) strict;
  create table if not exists decisions_here (
    approval_id text primary key, tool_id text not null, digest text not null, decided_at integer not null
  ) strict;
  create table if not exists witness (
    id integer primary key check (id = 1), seq integer not null, hash text not null, seen_at integer not null
  ) strict;
`;

/** One attempt to execute a call. If `report` is undefined, the attempt was started and has not ended. */
export interface JournalledAttempt {
  readonly toolId: string;
  readonly attempt: number;
  readonly tool: string;
  /** The layer in which its command runs or ran; undefined if there is none. */
  readonly layer: string | undefined;
  readonly report: ResultReport | undefined;
}

export interface JournalledUndo {
  readonly undoId: string;
  readonly toolIds: readonly string[];
  readonly report: ResultReport | undefined;
}

/** A decision that was made on this machine, on a card that this machine drew. */
export interface DecisionHere {
  readonly approvalId: string;
  readonly toolId: string;
  readonly digest: string;
}

/** The approval that allows an attempt. */
export interface StartedBy {
  readonly approvalId: string | null;
  /** Whether the approval must have been given on this machine. */
  readonly isDecisionNeeded: boolean;
}
const withoutLocalDecision: StartedBy = { approvalId: null, isDecisionNeeded: false };

export interface JournalOptions {
  /** The workspace's state folder. Created if missing, readable only for this person. */
  readonly folder: string;
  readonly holder: JournalHolder;
  /** The limit for all undo copies; `undoStoreBytes` by default. */
  readonly undoBytes?: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const pathIn = (folder: string): string => join(folder, 'journal.sqlite');

/** Returns the editor that is waiting to take over the workspace with this state folder (RN-10). */
export const editorWaitingFor = (stateFolder: string): string | undefined =>
  takeoverRequester(pathIn(stateFolder), Date.now());

/**
 * The log of this runner in one workspace (EX-6, RN-3): each attempt before it starts, its result, whether the server
 * acknowledged the result, and the data for undo. A method returns only after its entry is flushed to disk. If a method
 * throws JOURNAL_UNAVAILABLE, no tool call may run.
 */
export class Journal {
  /** Landings of layers, and undos that begin. */
  readonly landings: LandingRecords;
  readonly copies: UndoCopies;
  readonly #path: string;
  readonly #database: JournalDatabase;
  readonly #unlock: () => void;
  readonly #now: () => number;
  readonly #watchers: ((changes: readonly Pick<FileChange, 'path' | 'after'>[]) => void)[] = [];

  private constructor(
    path: string,
    database: JournalDatabase,
    unlock: () => void,
    { folder, now = Date.now, undoBytes = undoStoreBytes }: JournalOptions,
  ) {
    this.#path = path;
    this.#database = database;
    this.copies = new UndoCopies(join(folder, 'undo'));
    this.landings = new LandingRecords(database, this.copies, now, undoBytes);
    this.#unlock = unlock;
    this.#now = now;
  }

  /** Throws JOURNAL_UNAVAILABLE. If another runner holds the journal, the message names it (RN-10). */
  static open(options: JournalOptions): Journal {
    return orUnavailable(() => {
      const { folder, holder } = options;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
      const path = pathIn(folder);
      const unlock = lockJournal(path, holder);
      try {
        const database = new JournalDatabase(path);
        for (const file of [path, `${path}.lock`]) chmodSync(file, 0o600);
        database.define(tables, { changes: addedColumns, attempts: { layer: 'text' } });
        const journal = new Journal(path, database, unlock, options);
        journal.prune();
        return journal;
      } catch (error) {
        unlock();
        throw error;
      }
    });
  }

  /** The editor that is waiting to take over this workspace (RN-10). */
  get wantedBy(): string | undefined {
    return takeoverRequester(this.#path, Date.now());
  }

  /**
   * Records the start of an attempt. Call it before the attempt has any effect. Deletes the local decision, so that a
   * decision starts only one attempt. Throws APPROVAL_STALE if a local decision is needed and missing.
   */
  start(toolId: string, attempt: number, tool: string, by: StartedBy = withoutLocalDecision): void {
    this.#database.transaction(() => {
      const { approvalId, isDecisionNeeded } = by;
      const isDecided = approvalId !== null && this.decidedHere(approvalId, toolId) !== undefined;
      if (isDecisionNeeded && !isDecided)
        throw new CountersignError('APPROVAL_STALE', { problem: 'the decision made here is used up' });
      if (isDecided) this.#database.run('delete from decisions_here where approval_id = ?', [approvalId]);
      this.#database.run('insert into attempts (tool_id, attempt, tool, started_at) values (?, ?, ?, ?)', [
        toolId,
        attempt,
        tool,
        this.#now(),
      ]);
    });
  }

  /** Calls `watcher` with changes after they are recorded and before the files are touched. */
  watchChanges(watcher: (changes: readonly Pick<FileChange, 'path' | 'after'>[]) => void): void {
    this.#watchers.push(watcher);
  }

  /** Stores undo copies, then the versions before and after. Call it before touching a file. */
  recordChanges(toolId: string, attempt: number, changes: readonly FileChange[], runId?: string): void {
    const [counted] = this.#database.rows(
      'select count(*) as known from changes where tool_id = ? and attempt = ?',
      [toolId, attempt],
    );
    const bytes = changes.reduce((sum, { original }) => sum + (original?.bytes.length ?? 0), 0);
    this.landings.makeRoom(bytes, [toolId]);
    this.#database.transaction(() => {
      if (runId !== undefined)
        this.#database.run('insert or ignore into run_calls (tool_id, run_id) values (?, ?)', [
          toolId,
          runId,
        ]);
      changes.forEach(({ original, ...change }, i) => {
        const copy = original && randomUUID();
        if (original && copy !== undefined) this.copies.keep(copy, original.bytes);
        const planned = {
          ...change,
          mode: original?.mode,
          modeAfter: undefined,
          isModeOnly: false,
          mtimeNs: undefined,
          mtimeNsAfter: undefined,
          identity: undefined,
          copy,
          copyBytes: original?.bytes.length ?? 0,
          source: undefined,
        };
        const position = (counted?.known as number) + i;
        this.#database.run(insertChange, [toolId, attempt, position, ...columnsOf(planned), this.#now()]);
      });
    });
    this.announceChanges(changes);
  }

  /** Tells the watchers of changes that are recorded and not made yet. */
  announceChanges(changes: readonly Pick<FileChange, 'path' | 'after'>[]): void {
    for (const watcher of this.#watchers) watcher(changes);
  }

  /** Records whether the command of an attempt runs in a layer. Call it before the command starts. */
  recordLayer(toolId: string, attempt: number, layer: string | undefined): void {
    this.#database.run('update attempts set layer = ? where tool_id = ? and attempt = ?', [
      layer ?? null,
      toolId,
      attempt,
    ]);
  }

  /** Stores the result. Deletes the recorded changes if the report shows that no file was changed. */
  end(toolId: string, attempt: number, report: ResultReport): void {
    this.#database.transaction(() => {
      this.#database.run('update attempts set report = ?, ended_at = ? where tool_id = ? and attempt = ?', [
        JSON.stringify(report),
        this.#now(),
        toolId,
        attempt,
      ]);
      const landing = [toolId, attempt];
      const [landed] = this.#database.rows(
        'select 1 from landings where tool_id = ? and attempt = ?',
        landing,
      );
      if (landed) this.#database.run('delete from landings where tool_id = ? and attempt = ?', landing);
      else if (changedNothing(report)) this.landings.forget(toolId, attempt);
    });
  }

  attempt(toolId: string, attempt: number): JournalledAttempt | undefined {
    const [row] = this.#database.rows('select * from attempts where tool_id = ? and attempt = ?', [
      toolId,
      attempt,
    ]);
    return row && attemptFrom(row);
  }

  newestAttempt(toolId: string): number | undefined {
    const [row] = this.#database.rows('select max(attempt) as newest from attempts where tool_id = ?', [
      toolId,
    ]);
    return (row?.newest as number | null) ?? undefined;
  }

  /** Returns attempts that an earlier process started and did not end. */
  unfinished(): JournalledAttempt[] {
    return this.#database
      .rows('select * from attempts where report is null order by started_at')
      .map(attemptFrom);
  }

  unacknowledged(): (JournalledAttempt & { readonly report: ResultReport })[] {
    const rows = this.#database.rows(
      'select * from attempts where acknowledged_at is null and report is not null order by started_at',
    );
    return rows.map(attemptFrom) as (JournalledAttempt & { readonly report: ResultReport })[];
  }

  /** Marks a result as acknowledged. If the mark is lost, the result is sent again, which is harmless. */
  acknowledge(toolId: string, attempt: number): void {
    this.#database.run('update attempts set acknowledged_at = ? where tool_id = ? and attempt = ?', [
      this.#now(),
      toolId,
      attempt,
    ]);
  }

  /** Returns the changes of a call in the order in which they were made. */
  changesOf(toolId: string): RecordedChange[] {
    return this.#database
      .rows('select rowid as order_id, * from changes where tool_id = ? order by attempt, position', [toolId])
      .map(changeFrom);
  }

  /** The newest call in this workspace that changed files and was not undone. Undos do not count. */
  lastToUndo(): string | undefined {
    const [row] = this.#database.rows(
      `select tool_id from changes where undone_at is null and tool_id not in (select undo_id from undos)
       and not exists (select 1 from attempts a where a.tool_id = changes.tool_id and a.report is null)
       order by rowid desc limit 1`,
    );
    return row?.tool_id as string | undefined;
  }

  /** The first change that a run made to a path and that was not undone. */
  firstChangeOfRun(runId: string, path: string): RecordedChange | undefined {
    const [row] = this.#database.rows(
      `select changes.rowid as order_id, changes.* from run_calls join changes using (tool_id)
       where run_id = ? and path = ? and undone_at is null order by changes.rowid limit 1`,
      [runId, textOf(path)],
    );
    return row && changeFrom(row);
  }

  originalOf(copy: string): Buffer {
    return orUnavailable(() => this.copies.read(copy));
  }

  startUndo(undoId: string, toolIds: readonly string[]): void {
    this.#database.run('insert into undos (undo_id, tool_ids, started_at) values (?, ?, ?)', [
      undoId,
      JSON.stringify(toolIds),
      this.#now(),
    ]);
  }

  /** Stores the outcome. The changes are marked as undone before (`LandingRecords.markUndone`). */
  endUndo(undoId: string, report: ResultReport): void {
    this.#database.transaction(() => {
      this.#database.run('update undos set report = ? where undo_id = ?', [JSON.stringify(report), undoId]);
      this.#database.run('delete from landings where tool_id = ?', [undoId]);
    });
  }

  undo(undoId: string): JournalledUndo | undefined {
    const [row] = this.#database.rows('select * from undos where undo_id = ?', [undoId]);
    return row && undoFrom(row);
  }

  unfinishedUndos(): JournalledUndo[] {
    return this.#database.rows('select * from undos where report is null order by started_at').map(undoFrom);
  }

  unacknowledgedUndos(): (JournalledUndo & { readonly report: ResultReport })[] {
    const rows = this.#database.rows(
      'select * from undos where acknowledged_at is null and report is not null',
    );
    return rows.map(undoFrom) as (JournalledUndo & { readonly report: ResultReport })[];
  }

  acknowledgeUndo(undoId: string): void {
    this.#database.run('update undos set acknowledged_at = ? where undo_id = ?', [this.#now(), undoId]);
  }

  /** Stores a decision that was made on this machine, with the digest of the displayed card (RN-2). */
  recordDecision({ approvalId, toolId, digest }: DecisionHere): void {
    this.#database.run(
      'insert or replace into decisions_here (approval_id, tool_id, digest, decided_at) values (?, ?, ?, ?)',
      [approvalId, toolId, digest, this.#now()],
    );
  }

  /** Call this if an approval that was given here was rejected later or ended without a decision. */
  forgetDecision(approvalId: string): void {
    this.#database.run('delete from decisions_here where approval_id = ?', [approvalId]);
  }

  /**
   * Returns the digest that was approved here for this call, unless the decision expired or was used (EX-6). Setting the
   * clock back does not make a decision valid for longer.
   */
  decidedHere(approvalId: string, toolId: string): string | undefined {
    const goodFor = timing.approvalGoodForSeconds * 1000;
    const [row] = this.#database.rows(
      'select digest from decisions_here where approval_id = ? and tool_id = ? and abs(? - decided_at) <= ?',
      [approvalId, toolId, this.#now(), goodFor],
    );
    return row?.digest as string | undefined;
  }

  /**
   * Stores the newest head of the person's audit chain, `seq:hash` (DA-4). Returns false if the server's head is older
   * than the stored one, or has the same number and another hash: then the server's records were cut or rewritten.
   */
  witness(head: string): boolean {
    const [, seq = '', hash = ''] = /^(\d+):(.+)$/.exec(head) ?? [];
    if (hash === '') return false;
    const [seen] = this.#database.rows('select seq, hash from witness where id = 1');
    const number = Number(seq);
    if (seen && (number < Number(seen.seq) || (number === Number(seen.seq) && hash !== seen.hash)))
      return false;
    if (seen?.hash !== hash) {
      this.#database.run('insert or replace into witness (id, seq, hash, seen_at) values (1, ?, ?, ?)', [
        number,
        hash,
        this.#now(),
      ]);
    }
    return true;
  }

  /** The newest head of the audit chain, as `seq:hash`. */
  get auditHead(): string | undefined {
    const [row] = this.#database.rows('select seq, hash from witness where id = 1');
    return row && `${row.seq}:${row.hash}`;
  }

  /** Deletes entries acknowledged more than 7 days ago; data for undo is kept for 30 days. */
  prune(): void {
    const now = this.#now();
    this.#database.transaction(() => {
      this.#database.run('delete from attempts where acknowledged_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#database.run('delete from undos where acknowledged_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#database.run('delete from decisions_here where decided_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#database.run(
        `delete from changes where recorded_at < ? and not exists
         (select 1 from attempts a where a.tool_id = changes.tool_id and a.report is null)`,
        [now - UNDO_KEPT_MS],
      );
      this.#database.run('delete from run_calls where tool_id not in (select tool_id from changes)', []);
    });
    const named = this.#database.rows('select copy from changes where copy is not null');
    orUnavailable(() => this.copies.keepOnly(new Set(named.map(({ copy }) => copy as string))));
  }

  close(): void {
    this.#database.close();
    this.#unlock();
  }
}

/** A file tool that fails leaves its files unchanged, except with these two codes. */
const changedNothing = ({ status, error }: ResultReport): boolean =>
  status !== 'completed' && error?.code !== 'RUNNER_LOST' && error?.code !== 'EXECUTION_FAILED';

const reportFrom = (text: unknown): ResultReport | undefined =>
  text === null ? undefined : (JSON.parse(text as string) as ResultReport);

const attemptFrom = (row: Row): JournalledAttempt => ({
  toolId: row.tool_id as string,
  attempt: row.attempt as number,
  tool: row.tool as string,
  layer: (row.layer as string | null) ?? undefined,
  report: reportFrom(row.report),
});

const undoFrom = (row: Row): JournalledUndo => ({
  undoId: row.undo_id as string,
  toolIds: JSON.parse(row.tool_ids as string) as string[],
  report: reportFrom(row.report),
});
