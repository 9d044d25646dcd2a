import {
  DuplicateRow,
  type JsonObject,
  type ShownPayload,
  type TableName,
  type Tables,
  type Unit,
} from '@countersign/engine';
import { DatabaseTransaction } from './database-transaction.ts';
import type { RowCache } from './row-cache.ts';
import type { Statements, StepResult } from './statements.ts';

/** A unit of writing on SQLite: rows by their id come from the cache where it has them. */
export class SqliteTransaction extends DatabaseTransaction {
  readonly #cache: RowCache;

  constructor(statements: Statements, cache: RowCache) {
    super(statements);
    this.#cache = cache;
  }

  override *get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined> {
    return this.#cache.get(table, id) ?? (yield* super.get(table, id));
  }

  override *shownPayload(toolId: string): Unit<ShownPayload> {
    // A row that is remembered is small.
    return this.#cache.get('payloads', toolId) ?? (yield* super.shownPayload(toolId));
  }

  override *editedParams(toolId: string): Unit<JsonObject | null> {
    const known = this.#cache.get('payloads', toolId);
    if (!known) return yield* super.editedParams(toolId);
    return known.requested_params === null ? null : known.params;
  }

  override *insert<K extends TableName>(table: K, row: Tables[K]): Unit<void> {
    const step = this.insertion(table, row);
    const { changes } = (yield step) as StepResult;
    if (changes === 0) throw new DuplicateRow(`${table} has a row with the key of ${row.id} already`);
    this.#cache.keep(table, row, step.values);
  }

  override *update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean> {
    const step = this.change(table, id, patch);
    if (step === undefined) return (yield* this.get(table, id)) !== undefined;
    const { changes } = (yield step) as StepResult;
    const known = this.#cache.get(table, id);
    if (known !== undefined) this.#cache.keep(table, { ...known, ...given(patch) }, step.values);
    return changes > 0;
  }
}

/** Without what was not said: `undefined` leaves a column as it is. */
function given<T extends object>(patch: T): T {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as T;
}
