import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Unit } from '@countersign/engine';
import { fromSqlite, type Statement, type Step, type StepResult } from './statements.ts';

interface Prepared {
  readonly sqlite: StatementSync;
  readonly reader: boolean;
}

/** Runs units on SQLite, each to its end without leaving the call. Statements are prepared once. */
export class SqliteSteps {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<Statement, Prepared>();

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
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      const sqlite = this.#database.prepare(statement.sql);
      prepared = { sqlite, reader: sqlite.columns().length > 0 };
      this.#prepared.set(statement, prepared);
    }
    if (!prepared.reader) {
      const { changes } = prepared.sqlite.run(...(values as never[]));
      return { rows: [], changes: Number(changes) };
    }
    const rows = prepared.sqlite.all(...(values as never[]));
    return { rows: rows.map((row) => fromSqlite(row, statement)), changes: 0 };
  }
}
