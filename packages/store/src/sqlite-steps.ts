import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Unit } from '@countersign/engine';
import { SqliteRows } from './sqlite-rows.ts';
import type { Statement, Step, StepResult } from './statements.ts';

interface Prepared {
  readonly sqlite: StatementSync;
  /** Undefined for a statement that answers with no rows. */
  readonly rows: SqliteRows | undefined;
}

const noRows: StepResult['rows'] = [];

/** Runs units on SQLite, each to its end without leaving the call. Statements are prepared once. */
export class SqliteSteps {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<Statement, Prepared>();
  /** Counts up with each statement that changed something. */
  changes = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  drive<T>(unit: Unit<T>): T {
    let step = this.driveUntilLong(unit);
    while (!step.done) {
      const { value } = step;
      step = this.driveUntilLong(unit, () => this.#next(unit, value));
    }
    return step.value;
  }

  /** Goes on to the unit's end or to a statement that may take long, which is left to the caller. */
  driveUntilLong<T>(
    unit: Unit<T>,
    start: () => IteratorResult<unknown, T> = () => unit.next(),
  ): IteratorYieldResult<Step> | IteratorReturnResult<T> {
    let step = start();
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
