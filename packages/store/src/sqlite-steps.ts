import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Unit } from '@countersign/engine';
import type { Statement, Step, StepResult } from './statements.ts';

interface Prepared {
  readonly sqlite: StatementSync;
  /** Undefined for a statement that returns no rows. */
  readonly rows: SqliteRows | undefined;
}

const noRows: StepResult['rows'] = [];

/** Runs units on SQLite, each synchronously to its end. Statements are prepared once. */
export class SqliteSteps {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<Statement, Prepared>();
  /** The number of rows changed so far. */
  changes = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  drive<T>(unit: Unit<T>): T {
    let step = unit.next();
    while (!step.done) step = this.#next(unit, step.value as Step);
    return step.value;
  }

  /** Runs a unit from `start` to its end, or to a statement that may take long, which the caller runs. */
  driveUntilLong<T>(
    unit: Unit<T>,
    start: IteratorResult<unknown, T> = unit.next(),
  ): IteratorYieldResult<Step> | IteratorReturnResult<T> {
    let step = start;
    while (!step.done) {
      const value = step.value as Step;
      if (value.statement.long) return { done: false, value };
      step = this.#next(unit, value);
    }
    return step;
  }

  #next<T>(unit: Unit<T>, step: Step): IteratorResult<unknown, T> {
    let answer: StepResult;
    try {
      answer = this.run(step);
    } catch (error) {
      return unit.throw(error);
    }
    return unit.next(answer);
  }

  run({ statement, values }: Step): StepResult {
    const { sqlite, rows } = this.#prepared.get(statement) ?? this.#prepare(statement);
    if (rows === undefined) {
      const changes = Number(sqlite.run(...(values as never[])).changes);
      this.changes += changes;
      return { rows: noRows, changes };
    }
    const found = sqlite.all(...(values as never[])) as unknown as readonly (readonly unknown[])[];
    return { rows: found.map((cells) => rows.read(cells)), changes: 0 };
  }

  #prepare(statement: Statement): Prepared {
    const sqlite = this.#database.prepare(statement.sql);
    const columns = sqlite.columns().map(({ name }) => name);
    sqlite.setReturnArrays(true);
    const rows = columns.length === 0 ? undefined : new SqliteRows(columns, statement);
    const prepared = { sqlite, rows };
    this.#prepared.set(statement, prepared);
    return prepared;
  }
}

type Row = Record<string, unknown>;

/**
 * Makes the engine's rows from the cells of a statement. All rows are copies of one empty row, so they share one object
 * shape: the objects that SQLite's binding makes take three times as long.
 */
export class SqliteRows {
  readonly #columns: readonly string[];
  readonly #kinds: readonly ('boolean' | 'json' | undefined)[];
  readonly #empty: Row;

  constructor(columns: readonly string[], { parsed }: Pick<Statement, 'parsed'>) {
    const kinds = new Map(parsed);
    this.#columns = columns;
    this.#kinds = columns.map((column) => kinds.get(column));
    this.#empty = JSON.parse(
      JSON.stringify(Object.fromEntries(columns.map((column) => [column, null]))),
    ) as Row;
  }

  read(cells: readonly unknown[]): Row {
    const row = { ...this.#empty };
    for (let place = 0; place < cells.length; place += 1) {
      row[this.#columns[place] as string] = fromSqlite(cells[place], this.#kinds[place]);
    }
    return row;
  }
}

function fromSqlite(stored: unknown, kind: 'boolean' | 'json' | undefined): unknown {
  if (kind === undefined || stored === null) return stored;
  return kind === 'boolean' ? stored === 1 : JSON.parse(stored as string);
}
