import type { Database, Store, Transaction, Unit } from '@countersign/engine';
import { type Compilable, type Kysely, type RawBuilder, sql } from 'kysely';
import type { DatabaseTransaction } from './database-transaction.ts';
import { isOpen } from './migrations.ts';
import type { Dialect, Slots, StepResult } from './statements.ts';

export interface RetentionLimits {
  readonly now: number;
  /** Older parameters, results and previews are removed, unless their call is still open (DA-3). */
  readonly payloadsMs?: number;
  /** Rows that one unit removes; other units wait for it for some milliseconds. */
  readonly rowsAtOnce?: number;
  /** Units of one sweep; the rest waits for the next one. */
  readonly unitsAtMost?: number;
}

export interface Swept {
  readonly events: number;
  readonly payloads: number;
  readonly results: number;
  readonly previews: number;
  /** Diffs of what runs changed. */
  readonly diffs: number;
  /** Rows of server processes that ended long ago. */
  readonly nodes: number;
  /** Runner bindings of expired tokens (AP-9). */
  readonly bindings: number;
}

/** What both databases offer besides the engine's store. */
export interface DatabaseStore extends Store {
  /** Removes expired rows, in small units between others (EV-2, DA-3). */
  sweep(limits: RetentionLimits): Promise<Swept>;
}

const day = 24 * 60 * 60 * 1_000;

/** Removes expired rows. The records of calls and the audit log stay. */
export async function removeExpired(store: Store, limits: RetentionLimits): Promise<Swept> {
  const { now, payloadsMs = 30 * day, rowsAtOnce = 200, unitsAtMost = 100 } = limits;
  const swept = { events: 0, payloads: 0, results: 0, previews: 0, diffs: 0, nodes: 0, bindings: 0 };
  let units = 0;
  for (const [what, before] of [
    ['events', now - 7 * day], // clients that were away for longer start from a snapshot (EV-2)
    ['payloads', now - payloadsMs],
    ['results', now - payloadsMs],
    ['previews', now - payloadsMs],
    ['diffs', now - payloadsMs],
    ['nodes', now - day],
    ['bindings', now - day],
  ] as const) {
    let removed = rowsAtOnce;
    while (removed === rowsAtOnce && units < unitsAtMost) {
      removed = await store.write((tx) => remove(tx, what, before, rowsAtOnce));
      swept[what] += removed;
      units += 1;
    }
  }
  return swept;
}

function* remove(tx: Transaction, what: keyof Swept, before: number, limit: number): Unit<number> {
  // Only our own stores call this, and their transactions have more methods than the engine's interface.
  const { statements } = tx as DatabaseTransaction;
  const { dialect } = statements;
  const statement = statements.prepare(`remove:${what}`, {}, (db, slot) => removals[what](db, slot, dialect));
  const { changes } = (yield statements.step(statement, { before, limit })) as StepResult;
  return changes;
}

type Removal = (db: Kysely<Database>, slot: Slots, dialect: Dialect) => Compilable;

/** Larger than any event id or row id. */
const endOfTime = sql.lit(Number.MAX_SAFE_INTEGER);

/**
 * Whether a row comes before the first one to keep. On SQLite row ids grow with time, so this ends a scan from the oldest
 * row; PostgreSQL has an index by age.
 */
const isBeforeKept = (
  table: 'payloads' | 'results' | 'approvals' | 'file_changes',
  slot: Slots,
  dialect: Dialect,
): RawBuilder<boolean> =>
  dialect === 'postgres'
    ? sql`true`
    : sql`old.rowid < coalesce((select rowid from ${sql.table(table)} where created_at >= ${slot.integer('before')}
        order by rowid limit 1), ${endOfTime})`;

const byAge = (dialect: Dialect): RawBuilder<unknown> =>
  dialect === 'postgres' ? sql`old.created_at` : sql`old.rowid`;

/** Parameters or results of calls that have ended. */
function contentsOfEnded(table: 'payloads' | 'results'): Removal {
  return (db, slot, dialect) =>
    db.deleteFrom(table).where('id', 'in', (eb) =>
      eb
        .selectFrom(`${table} as old` as 'payloads as old')
        .select('old.id')
        .where('old.created_at', '<', slot.integer('before'))
        .where(isBeforeKept(table, slot, dialect))
        .where((inner) =>
          inner.not(
            inner.exists(
              inner
                .selectFrom('tool_executions')
                .select(sql.lit(1).as('one'))
                .whereRef('tool_executions.id', '=', 'old.id')
                .where(isOpen),
            ),
          ),
        )
        .orderBy(byAge(dialect))
        .limit(slot.integer('limit')),
    );
}

const removals: Readonly<Record<keyof Swept, Removal>> = {
  // A person's events are ordered by time: remove from the oldest up to the first one to keep.
  events: (db, slot) =>
    db.deleteFrom('events').where((eb) =>
      eb(
        eb.refTuple('user_id', 'id'),
        'in',
        eb
          .selectFrom('counters')
          .innerJoin('events as old', 'old.user_id', 'counters.user_id')
          .select(['old.user_id', 'old.id'])
          .where('old.created_at', '<', slot.integer('before'))
          .where((inner) =>
            inner(
              'old.id',
              '<',
              sql<number>`coalesce((select kept.id from events as kept where kept.user_id = counters.user_id
                  and kept.created_at >= ${slot.integer('before')} order by kept.id limit 1), ${endOfTime})`,
            ),
          )
          .limit(slot.integer('limit'))
          .$asTuple('user_id', 'id'),
      ),
    ),
  payloads: contentsOfEnded('payloads'),
  results: contentsOfEnded('results'),
  previews: (db, slot, dialect) =>
    db
      .updateTable('approvals')
      .set({ preview: null, preview_size: 0 })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('approvals as old')
          .select('old.id')
          .where('old.created_at', '<', slot.integer('before'))
          .where(isBeforeKept('approvals', slot, dialect))
          .where('old.preview', 'is not', null)
          .where('old.status', '<>', sql.lit('pending' as const))
          .orderBy(byAge(dialect))
          .limit(slot.integer('limit')),
      ),
  diffs: (db, slot, dialect) =>
    db
      .updateTable('file_changes')
      .set({ diff: null })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('file_changes as old')
          .select('old.id')
          .where('old.created_at', '<', slot.integer('before'))
          .where(isBeforeKept('file_changes', slot, dialect))
          .where('old.diff', 'is not', null)
          .orderBy(byAge(dialect))
          .limit(slot.integer('limit')),
      ),
  bindings: (db, slot) =>
    db
      .deleteFrom('runner_bindings')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('runner_bindings as old')
          .select('old.id')
          .where('old.expires_at', '<', slot.integer('before'))
          .limit(slot.integer('limit')),
      ),
  nodes: (db, slot) =>
    db
      .deleteFrom('nodes')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('nodes as old')
          .select('old.id')
          .where('old.seen_at', '<', slot.integer('before'))
          .where('old.started_at', '<', slot.integer('before'))
          .limit(slot.integer('limit')),
      ),
};
