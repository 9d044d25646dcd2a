import type { Statement } from './statements.ts';

type Row = Record<string, unknown>;

/**
 * Makes rows as the engine knows them from the bare cells of a statement. All are copies of one empty row, and so of
 * one shape: the objects that SQLite's binding makes are tables of their own, and take three times as long.
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

/** A value from what SQLite keeps of it. */
function fromSqlite(stored: unknown, kind: 'boolean' | 'json' | undefined): unknown {
  if (kind === undefined || stored === null) return stored;
  return kind === 'boolean' ? stored === 1 : JSON.parse(stored as string);
}
