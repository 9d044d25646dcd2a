import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { CountersignError, messageOf, timing } from '@countersign/protocol';
import type { FileChange, FileVersion } from '../files/file-snapshot.ts';
import type { ResultReport } from '../runner-api.ts';
import { type JournalHolder, lockJournal, takeoverRequester } from './journal-lock.ts';
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
  readonly report: ResultReport | undefined;
}

/** A recorded change of a file, with what undo needs. */
export interface RecordedChange extends Omit<FileChange, 'original'> {
  readonly toolId: string;
  readonly attempt: number;
  readonly position: number;
  readonly mode: number | undefined;
  /** Name of the undo copy; undefined if there was no file. */
  readonly copy: string | undefined;
  readonly isUndone: boolean;
  /** Increases with each recorded change of any call. */
  readonly order: number;
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
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #copies: UndoCopies;
  readonly #unlock: () => void;
  readonly #now: () => number;
  readonly #watchers: ((changes: readonly FileChange[]) => void)[] = [];

  private constructor(
    path: string,
    database: DatabaseSync,
    copies: UndoCopies,
    unlock: () => void,
    now: () => number,
  ) {
    this.#path = path;
    this.#database = database;
    this.#copies = copies;
    this.#unlock = unlock;
    this.#now = now;
  }

  /** Throws JOURNAL_UNAVAILABLE. If another runner holds the journal, the message names it (RN-10). */
  static open({ folder, holder, now = Date.now }: JournalOptions): Journal {
    return orUnavailable(() => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
      const path = pathIn(folder);
      const unlock = lockJournal(path, holder);
      try {
        const database = new DatabaseSync(path);
        for (const file of [path, `${path}.lock`]) chmodSync(file, 0o600);
        database.exec('pragma journal_mode = wal; pragma synchronous = full;');
        database.exec(tables);
        const journal = new Journal(path, database, new UndoCopies(join(folder, 'undo')), unlock, now);
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
    this.#inTransaction(() => {
      const { approvalId, isDecisionNeeded } = by;
      const isDecided = approvalId !== null && this.decidedHere(approvalId, toolId) !== undefined;
      if (isDecisionNeeded && !isDecided)
        throw new CountersignError('APPROVAL_STALE', { problem: 'the decision made here is used up' });
      if (isDecided) this.#run('delete from decisions_here where approval_id = ?', [approvalId]);
      this.#run('insert into attempts (tool_id, attempt, tool, started_at) values (?, ?, ?, ?)', [
        toolId,
        attempt,
        tool,
        this.#now(),
      ]);
    });
  }

  /** Calls `watcher` with changes after they are recorded and before the files are touched. */
  watchChanges(watcher: (changes: readonly FileChange[]) => void): void {
    this.#watchers.push(watcher);
  }

  /** Stores undo copies, then the versions before and after. Call it before touching a file. */
  recordChanges(toolId: string, attempt: number, changes: readonly FileChange[], runId?: string): void {
    const known = this.changesOf(toolId).filter((change) => change.attempt === attempt).length;
    this.#inTransaction(() => {
      if (runId !== undefined)
        this.#run('insert or ignore into run_calls (tool_id, run_id) values (?, ?)', [toolId, runId]);
      changes.forEach(({ path, operation, before, after, original }, i) => {
        const position = known + i;
        const copy = original && randomUUID();
        if (original && copy !== undefined) this.#copies.keep(copy, original.bytes);
        this.#run(
          `insert into changes (tool_id, attempt, position, path, operation, before, after, mode, copy, recorded_at)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          [
            toolId,
            attempt,
            position,
            path,
            operation,
            before,
            after,
            original?.mode ?? null,
            copy ?? null,
            this.#now(),
          ],
        );
      });
    });
    for (const watcher of this.#watchers) watcher(changes);
  }

  /** Stores the result. Deletes the recorded changes if the report shows that no file was changed. */
  end(toolId: string, attempt: number, report: ResultReport): void {
    this.#inTransaction(() => {
      this.#run('update attempts set report = ?, ended_at = ? where tool_id = ? and attempt = ?', [
        JSON.stringify(report),
        this.#now(),
        toolId,
        attempt,
      ]);
      if (changedNothing(report))
        this.#run('delete from changes where tool_id = ? and attempt = ?', [toolId, attempt]);
    });
  }

  attempt(toolId: string, attempt: number): JournalledAttempt | undefined {
    const [row] = this.#rows('select * from attempts where tool_id = ? and attempt = ?', [toolId, attempt]);
    return row && attemptFrom(row);
  }

  newestAttempt(toolId: string): number | undefined {
    const [row] = this.#rows('select max(attempt) as newest from attempts where tool_id = ?', [toolId]);
    return (row?.newest as number | null) ?? undefined;
  }

  /** Returns attempts that an earlier process started and did not end. */
  unfinished(): JournalledAttempt[] {
    return this.#rows('select * from attempts where report is null order by started_at').map(attemptFrom);
  }

  unacknowledged(): (JournalledAttempt & { readonly report: ResultReport })[] {
    const rows = this.#rows(
      'select * from attempts where acknowledged_at is null and report is not null order by started_at',
    );
    return rows.map(attemptFrom) as (JournalledAttempt & { readonly report: ResultReport })[];
  }

  /** Marks a result as acknowledged. If the mark is lost, the result is sent again, which is harmless. */
  acknowledge(toolId: string, attempt: number): void {
    this.#write('update attempts set acknowledged_at = ? where tool_id = ? and attempt = ?', [
      this.#now(),
      toolId,
      attempt,
    ]);
  }

  /** Returns the changes of a call in the order in which they were made. */
  changesOf(toolId: string): RecordedChange[] {
    return this.#rows(
      'select rowid as order_id, * from changes where tool_id = ? order by attempt, position',
      [toolId],
    ).map(changeFrom);
  }

  /** The first change that a run made to a path and that was not undone. */
  firstChangeOfRun(runId: string, path: string): RecordedChange | undefined {
    const [row] = this.#rows(
      `select changes.rowid as order_id, changes.* from run_calls join changes using (tool_id)
       where run_id = ? and path = ? and undone_at is null order by changes.rowid limit 1`,
      [runId, path],
    );
    return row && changeFrom(row);
  }

  originalOf(copy: string): Buffer {
    return orUnavailable(() => this.#copies.read(copy));
  }

  startUndo(undoId: string, toolIds: readonly string[]): void {
    this.#write('insert into undos (undo_id, tool_ids, started_at) values (?, ?, ?)', [
      undoId,
      JSON.stringify(toolIds),
      this.#now(),
    ]);
  }

  /** Stores the outcome and marks the changes as undone in one transaction, so that nothing is undone twice. */
  endUndo(undoId: string, report: ResultReport, undone: readonly RecordedChange[]): void {
    this.#inTransaction(() => {
      this.#run('update undos set report = ? where undo_id = ?', [JSON.stringify(report), undoId]);
      for (const { toolId, attempt, position, path } of undone) {
        this.#run('update changes set undone_at = ? where tool_id = ? and attempt = ? and position = ?', [
          this.#now(),
          toolId,
          attempt,
          position,
        ]);
        // If `toolId` was itself an undo, the calls that it had undone can be undone again.
        this.#run(
          `update changes set undone_at = null where path = ? and tool_id in
           (select value from undos, json_each(undos.tool_ids) where undo_id = ?)`,
          [path, toolId],
        );
      }
    });
  }

  undo(undoId: string): JournalledUndo | undefined {
    const [row] = this.#rows('select * from undos where undo_id = ?', [undoId]);
    return row && undoFrom(row);
  }

  unfinishedUndos(): JournalledUndo[] {
    return this.#rows('select * from undos where report is null order by started_at').map(undoFrom);
  }

  unacknowledgedUndos(): (JournalledUndo & { readonly report: ResultReport })[] {
    const rows = this.#rows('select * from undos where acknowledged_at is null and report is not null');
    return rows.map(undoFrom) as (JournalledUndo & { readonly report: ResultReport })[];
  }

  acknowledgeUndo(undoId: string): void {
    this.#write('update undos set acknowledged_at = ? where undo_id = ?', [this.#now(), undoId]);
  }

  /** Stores a decision that was made on this machine, with the digest of the displayed card (RN-2). */
  recordDecision({ approvalId, toolId, digest }: DecisionHere): void {
    this.#write(
      'insert or replace into decisions_here (approval_id, tool_id, digest, decided_at) values (?, ?, ?, ?)',
      [approvalId, toolId, digest, this.#now()],
    );
  }

  /** Call this if an approval that was given here was rejected later or ended without a decision. */
  forgetDecision(approvalId: string): void {
    this.#write('delete from decisions_here where approval_id = ?', [approvalId]);
  }

  /**
   * Returns the digest that was approved here for this call, unless the decision expired or was used (EX-6). Setting the
   * clock back does not make a decision valid for longer.
   */
  decidedHere(approvalId: string, toolId: string): string | undefined {
    const goodFor = timing.approvalGoodForSeconds * 1000;
    const [row] = this.#rows(
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
    const [seen] = this.#rows('select seq, hash from witness where id = 1');
    const number = Number(seq);
    if (seen && (number < Number(seen.seq) || (number === Number(seen.seq) && hash !== seen.hash)))
      return false;
    if (seen?.hash !== hash) {
      this.#write('insert or replace into witness (id, seq, hash, seen_at) values (1, ?, ?, ?)', [
        number,
        hash,
        this.#now(),
      ]);
    }
    return true;
  }

  /** The newest head of the audit chain, as `seq:hash`. */
  get auditHead(): string | undefined {
    const [row] = this.#rows('select seq, hash from witness where id = 1');
    return row && `${row.seq}:${row.hash}`;
  }

  /** Deletes entries acknowledged more than 7 days ago; data for undo is kept for 30 days. */
  prune(): void {
    const now = this.#now();
    this.#inTransaction(() => {
      this.#run('delete from attempts where acknowledged_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#run('delete from undos where acknowledged_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#run('delete from decisions_here where decided_at < ?', [now - ATTEMPTS_KEPT_MS]);
      this.#run(
        `delete from changes where recorded_at < ? and not exists
         (select 1 from attempts a where a.tool_id = changes.tool_id and a.report is null)`,
        [now - UNDO_KEPT_MS],
      );
      this.#run('delete from run_calls where tool_id not in (select tool_id from changes)', []);
    });
    const named = this.#rows('select copy from changes where copy is not null');
    orUnavailable(() => this.#copies.keepOnly(new Set(named.map(({ copy }) => copy as string))));
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
    this.#unlock();
  }

  #write(sql: string, values: SQLInputValue[]): void {
    orUnavailable(() => this.#run(sql, values));
  }

  #run(sql: string, values: SQLInputValue[]): void {
    this.#database.prepare(sql).run(...values);
  }

  #rows(sql: string, values: SQLInputValue[] = []): Record<string, unknown>[] {
    return orUnavailable(() => this.#database.prepare(sql).all(...values));
  }

  #inTransaction(work: () => void): void {
    orUnavailable(() => {
      this.#database.exec('begin immediate');
      try {
        work();
        this.#database.exec('commit');
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('rollback');
        throw error;
      }
    });
  }
}

function orUnavailable<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    const said = messageOf(cause);
    const problem = isDiskProblem(cause)
      ? `${said}; free space on the disk of Countersign's state folder`
      : said;
    throw new CountersignError('JOURNAL_UNAVAILABLE', { problem }, { cause });
  }
}

/** SQLite reports a full disk as SQLITE_FULL (13), and a quota or file size limit as SQLITE_IOERR (10). */
function isDiskProblem(cause: unknown): boolean {
  const { code, errcode = 0 } = (cause ?? {}) as { code?: unknown; errcode?: number };
  if (code === 'ENOSPC' || code === 'EDQUOT') return true;
  return code === 'ERR_SQLITE_ERROR' && (errcode === 13 || (errcode & 0xff) === 10);
}

/** A file tool that fails leaves its files unchanged, except with these two codes. */
const changedNothing = ({ status, error }: ResultReport): boolean =>
  status !== 'completed' && error?.code !== 'RUNNER_LOST' && error?.code !== 'EXECUTION_FAILED';

const reportFrom = (text: unknown): ResultReport | undefined =>
  text === null ? undefined : (JSON.parse(text as string) as ResultReport);

const attemptFrom = (row: Record<string, unknown>): JournalledAttempt => ({
  toolId: row.tool_id as string,
  attempt: row.attempt as number,
  tool: row.tool as string,
  report: reportFrom(row.report),
});

const undoFrom = (row: Record<string, unknown>): JournalledUndo => ({
  undoId: row.undo_id as string,
  toolIds: JSON.parse(row.tool_ids as string) as string[],
  report: reportFrom(row.report),
});

const changeFrom = (row: Record<string, unknown>): RecordedChange => ({
  toolId: row.tool_id as string,
  attempt: row.attempt as number,
  position: row.position as number,
  path: row.path as string,
  operation: row.operation as FileChange['operation'],
  before: row.before as FileVersion,
  after: row.after as FileVersion,
  mode: (row.mode as number | null) ?? undefined,
  copy: (row.copy as string | null) ?? undefined,
  isUndone: row.undone_at !== null,
  order: row.order_id as number,
});
