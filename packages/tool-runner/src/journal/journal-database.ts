import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { CountersignError, messageOf } from '@countersign/protocol';

export type Row = Readonly<Record<string, unknown>>;

/** The journal's SQLite file. A write returns after it is flushed to disk. Every method throws JOURNAL_UNAVAILABLE. */
export class JournalDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec('pragma journal_mode = wal; pragma synchronous = full;');
  }

  /** Creates tables, and columns that a table of an earlier version lacks. */
  define(tables: string, columns: Readonly<Record<string, Readonly<Record<string, string>>>>): void {
    this.#database.exec(tables);
    for (const [table, added] of Object.entries(columns)) {
      const known = new Set(
        this.rows(`select name from pragma_table_info('${table}')`).map(({ name }) => name),
      );
      for (const [name, type] of Object.entries(added))
        if (!known.has(name)) this.#database.exec(`alter table ${table} add column ${name} ${type}`);
    }
  }

  run(sql: string, values: readonly SQLInputValue[] = []): void {
    orUnavailable(() => this.#statement(sql).run(...values));
  }

  rows(sql: string, values: readonly SQLInputValue[] = []): Row[] {
    return orUnavailable(() => this.#statement(sql).all(...values));
  }

  /** Runs `work`, all of it or nothing, without a flush: the next other write flushes it too. */
  unflushed(work: () => void): void {
    this.#database.exec('pragma synchronous = normal');
    try {
      this.transaction(work);
    } finally {
      this.#database.exec('pragma synchronous = full');
    }
  }

  /** Runs `work`, all of it or nothing. */
  transaction(work: () => void): void {
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

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

export function orUnavailable<T>(work: () => T): T {
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
