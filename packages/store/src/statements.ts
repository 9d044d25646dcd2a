import { createHash } from 'node:crypto';
import { type Column, type ColumnKind, columnsOf, type Database } from '@countersign/engine';
import {
  type Compilable,
  Kysely,
  type Dialect as KyselyDialect,
  PostgresDialect,
  SqliteDialect,
} from 'kysely';

export type Dialect = 'sqlite' | 'postgres';

/** A query compiled once and run many times: its parameters are named slots that take new values each time. */
export interface Statement {
  /** Names the prepared statement on PostgreSQL, which takes at most 63 bytes. */
  readonly name: string;
  readonly sql: string;
  readonly slots: readonly unknown[];
  /** Columns to convert after reading. Only SQLite needs it: pg converts by type. */
  readonly parsed: readonly (readonly [column: string, kind: 'boolean' | 'json'])[];
  /** It may take long in spite of indexes, so it must not run on the main thread (PF-2). */
  readonly long: boolean;
}

/** What a unit yields and the store runs. */
export interface Step {
  readonly statement: Statement;
  readonly values: readonly Stored[];
  /** The result is not used: the next step need not wait for it. */
  readonly unawaited?: boolean;
}

export interface StepResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly changes: number;
}

export type Stored = null | string | number | boolean;

/** A placeholder for a value; Kysely passes it through to `parameters`. */
class Slot {
  readonly name: string;
  readonly kind: ColumnKind;

  constructor(name: string, kind: ColumnKind) {
    this.name = name;
    this.kind = kind;
  }
}

/** Makes slots for a query. They are typed as the value, so that the query builder checks the query. */
export interface Slots {
  text(name: string): string;
  integer(name: string): number;
  /** A slot of a column's own kind. */
  column(table: keyof Database, column: string, name?: string): never;
}

const slots: Slots = {
  text: (name) => new Slot(name, 'text') as unknown as string,
  integer: (name) => new Slot(name, 'integer') as unknown as number,
  column: (table, column, name = column) => {
    const known: Column | undefined = (columnsOf[table] as Readonly<Record<string, Column>>)[column];
    if (known === undefined) throw new TypeError(`There is no column ${table}.${column}`);
    return new Slot(name, known.kind) as never;
  },
};

export interface StatementOptions {
  /** The table whose columns the rows have. */
  readonly of?: keyof Database;
  readonly long?: boolean;
}

export type BuildQuery = (db: Kysely<Database>, slot: Slots) => Compilable;

/** Compiles each query when it is first needed, and caches it by its key. */
export class Statements {
  readonly dialect: Dialect;
  readonly #builder: Kysely<Database>;
  readonly #compiled = new Map<string, Statement>();

  constructor(dialect: Dialect, kyselyDialect: KyselyDialect) {
    this.dialect = dialect;
    this.#builder = new Kysely({ dialect: kyselyDialect });
  }

  prepare(key: string, options: StatementOptions, build: BuildQuery): Statement {
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const { sql, parameters } = build(this.#builder, slots).compile();
    const name = `cs_${createHash('sha256').update(sql).digest('hex').slice(0, 40)}`;
    const parsed = this.dialect === 'sqlite' && options.of !== undefined ? parsedColumns(options.of) : [];
    const statement = { name, sql, slots: parameters, parsed, long: options.long === true };
    this.#compiled.set(key, statement);
    return statement;
  }

  /** A statement for several rows has a slot for each column of each row, in that order. */
  step(statement: Statement, ...rows: readonly Readonly<Record<string, unknown>>[]): Step {
    const { slots } = statement;
    const columns = slots.length / rows.length;
    const values = slots.map((slot, place) =>
      slot instanceof Slot
        ? toStored(rows[Math.floor(place / columns)]?.[slot.name], slot, this.dialect)
        : (slot as Stored),
    );
    return { statement, values };
  }
}

/** Kysely compiles here and never connects: the stores run the statements. */
const neverOpened = async (): Promise<never> => {
  throw new Error('Statements are compiled without a database.');
};

/** The statements of each database, shared by every store of this process. */
export const statementsOf: Readonly<Record<Dialect, Statements>> = {
  sqlite: new Statements('sqlite', new SqliteDialect({ database: neverOpened })),
  postgres: new Statements('postgres', new PostgresDialect({ pool: neverOpened })),
};

function parsedColumns(table: keyof Database): Statement['parsed'] {
  return Object.entries<Column>(columnsOf[table]).flatMap(([column, { kind }]) =>
    kind === 'json' || kind === 'boolean' ? [[column, kind] as const] : [],
  );
}

function toStored(value: unknown, slot: Slot, dialect: Dialect): Stored {
  if (value === undefined)
    throw new TypeError(`"${slot.name}" is undefined; say null where there is nothing`);
  if (value === null) return null;
  switch (slot.kind) {
    case 'json':
      return JSON.stringify(value);
    case 'boolean':
      return dialect === 'sqlite' ? Number(value) : (value as boolean);
    case 'integer':
      // SQLite would store a fraction: refuse it, as PostgreSQL does.
      if (!Number.isSafeInteger(value)) throw new TypeError(`"${slot.name}" is not an integer: ${value}`);
      return value as number;
    case 'number':
      return value as number;
    case 'text':
      return toStoredText(value as string);
  }
}

/**
 * PostgreSQL cannot store a NUL in a text, so the symbol ␀ stands for it. A lone surrogate (half a character) has no UTF-8
 * form: neither database can store it.
 */
function toStoredText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '␀') : whole;
}
