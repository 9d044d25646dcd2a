import {
  type Announced,
  type AuditRow,
  auditGenesis,
  type CounterRow,
  DuplicateRow,
  type JsonObject,
  numberAnnounced,
  type ShownPayload,
  type StoredEvent,
  type TableName,
  type Tables,
  type Unit,
} from '@countersign/engine';
import { DatabaseTransaction } from './database-transaction.ts';
import type { Statements, StepResult, Stored } from './statements.ts';

/** A unit of writing on SQLite. Rows that are read by id come from the cache if they are there. */
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
    // Cached rows are small enough to be shown.
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

  override *remove<K extends TableName>(table: K, id: string): Unit<boolean> {
    this.#cache.drop(table, id);
    return yield* super.remove(table, id);
  }
}

/** Without undefined values, which leave a column unchanged. */
function given<T extends object>(patch: T): T {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as T;
}

/** Maximum number of cached rows of a table. A call reads each of its rows about five times within a short time. */
const rowsAtMost = 512;
/** A larger row is not cached. */
const charactersAtMost = 16 * 1024;

const cachedTables: ReadonlySet<TableName> = new Set([
  'tool_executions',
  'payloads',
  'approvals',
  'projects',
] as const);

/**
 * The rows that were read or written last. Only for a database that no other process writes, which the lock file makes
 * sure of. A rollback, or a statement that changes rows by other means, empties it.
 */
export class RowCache {
  readonly #tables = new Map<TableName, Map<string, Tables[TableName]>>();

  get<K extends TableName>(table: K, id: string): Tables[K] | undefined {
    return this.#tables.get(table)?.get(id) as Tables[K] | undefined;
  }

  /** `stored` are the bound cells. A row whose text was changed for storing is not cached: readers must get that text. */
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

/** The characters that replace a NUL and a lone surrogate in a text column. */
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

/** For at most this many people the counters are cached between commits. */
const MAX_PEOPLE = 10_000;

/**
 * Numbers what the units of one commit announce, and writes all of it at the end: the rows of many units in one
 * statement, and each person's counter once. It caches the counters, because no other process writes this database.
 */
export class AnnouncementBuffer {
  readonly #counters = new Map<string, CounterRow>();
  #moved = new Set<string>();
  #events: StoredEvent[] = [];
  #audit: AuditRow[] = [];

  /** After a unit has succeeded: numbers its events and returns them. */
  *enter(tx: DatabaseTransaction, announced: Announced, at: number): Unit<readonly StoredEvent[]> {
    const { userId } = announced;
    const before = this.#counters.get(userId) ?? (yield* readCounter(tx, userId));
    const { events, audit, after } = numberAnnounced(announced, before, at);
    this.#counters.set(userId, { user_id: userId, ...after });
    this.#moved.add(userId);
    for (const event of events) this.#events.push(event);
    for (const row of audit) this.#audit.push(row);
    return events;
  }

  *flush(tx: DatabaseTransaction): Unit<void> {
    if (this.#moved.size === 0) return;
    yield* tx.append('events', this.#events);
    yield* tx.append('audit', this.#audit);
    for (const userId of this.#moved) yield* writeCounter(tx, this.#counters.get(userId) as CounterRow);
    this.#moved = new Set();
    this.#events = [];
    this.#audit = [];
    if (this.#counters.size > MAX_PEOPLE) this.#counters.clear();
  }

  /** After a rollback: drops all entries and the cached counters. */
  forget(): void {
    this.#counters.clear();
    this.#moved = new Set();
    this.#events = [];
    this.#audit = [];
  }
}

function* readCounter(tx: DatabaseTransaction, userId: string): Unit<CounterRow> {
  const counter = yield* tx.first<CounterRow>('counter', { of: 'counters' }, { userId }, (db, slot) =>
    db.selectFrom('counters').selectAll().where('user_id', '=', slot.text('userId')),
  );
  return counter ?? { user_id: userId, event_id: 0, audit_seq: 0, audit_head: auditGenesis };
}

const writeCounter = (tx: DatabaseTransaction, counter: CounterRow): Unit<void> =>
  tx.runUnawaited('writeCounter', {}, { ...counter }, (db, slot) =>
    db
      .insertInto('counters')
      .values({
        user_id: slot.text('user_id'),
        event_id: slot.integer('event_id'),
        audit_seq: slot.integer('audit_seq'),
        audit_head: slot.text('audit_head'),
      })
      .onConflict((conflict) =>
        conflict.column('user_id').doUpdateSet((eb) => ({
          event_id: eb.ref('excluded.event_id'),
          audit_seq: eb.ref('excluded.audit_seq'),
          audit_head: eb.ref('excluded.audit_head'),
        })),
      ),
  );
