import type { TableName, Tables } from '@countersign/engine';
import type { Stored } from './statements.ts';

/** Rows of one table that are kept at most; a call under way needs each of its rows some five times within a moment. */
const rowsAtMost = 512;
/** A row whose cells are longer than this together is read again rather than kept. */
const charactersAtMost = 16 * 1024;

const cachedTables: ReadonlySet<TableName> = new Set([
  'tool_executions',
  'payloads',
  'approvals',
  'projects',
] as const);

/**
 * The latest rows that were read or written, as the database has them. Only for a database that nobody else writes,
 * which SQLite's lock promises. Whatever is rolled back, or changed by a statement of its own, empties it.
 */
export class RowCache {
  readonly #tables = new Map<TableName, Map<string, Tables[TableName]>>();

  get<K extends TableName>(table: K, id: string): Tables[K] | undefined {
    return this.#tables.get(table)?.get(id) as Tables[K] | undefined;
  }

  /** `stored` are the cells as they were bound: a text that is kept in another form is not what a reader would get. */
  keep<K extends TableName>(table: K, row: Tables[K], stored: readonly Stored[]): void {
    if (!cachedTables.has(table)) return;
    const { id }: Tables[TableName] = row;
    if (!isFit(stored)) {
      this.drop(table, id);
      return;
    }
    let rows = this.#tables.get(table);
    if (rows === undefined) {
      rows = new Map();
      this.#tables.set(table, rows);
    }
    rows.set(id, row);
    if (rows.size > rowsAtMost) rows.delete(rows.keys().next().value as string);
  }

  drop(table: TableName, id: string): void {
    this.#tables.get(table)?.delete(id);
  }

  clear(): void {
    this.#tables.clear();
  }
}

/** What stands for a NUL, and for half of a character, in a text column. */
const replacements = ['␀', '\uFFFD'] as const;

function isFit(stored: readonly Stored[]): boolean {
  let characters = 0;
  for (const cell of stored) {
    if (typeof cell !== 'string') continue;
    characters += cell.length;
    if (replacements.some((replacement) => cell.includes(replacement))) return false;
  }
  return characters <= charactersAtMost;
}
