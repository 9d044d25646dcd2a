import {
  type Announced,
  type AuditRow,
  auditGenesis,
  type CounterRow,
  numberAnnounced,
  type StoredEvent,
  type Unit,
} from '@countersign/engine';
import type { DatabaseTransaction } from './database-transaction.ts';

/** People whose counters are remembered between commits. */
const peopleAtMost = 10_000;

/**
 * Numbers what the units of one commit announce, and writes all of it at the end: the rows of many units in one
 * statement, and each person's counter once. It remembers the counters, since nobody else writes this database.
 */
export class SqliteLedger {
  readonly #counters = new Map<string, CounterRow>();
  #moved = new Set<string>();
  #events: StoredEvent[] = [];
  #audit: AuditRow[] = [];

  /** After a unit has succeeded; answers with its events, numbered. */
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

  /** Writes what was entered. */
  *flush(tx: DatabaseTransaction): Unit<void> {
    if (this.#moved.size === 0) return;
    yield* tx.append('events', this.#events);
    yield* tx.append('audit', this.#audit);
    for (const userId of this.#moved) yield* writeCounter(tx, this.#counters.get(userId) as CounterRow);
    this.#moved = new Set();
    this.#events = [];
    this.#audit = [];
    if (this.#counters.size > peopleAtMost) this.#counters.clear();
  }

  /** After a rollback: what was entered never happened, and the counters are those of the database. */
  forget(): void {
    this.#counters.clear();
    this.#moved = new Set();
    this.#events = [];
    this.#audit = [];
  }
}

function* readCounter(tx: DatabaseTransaction, userId: string): Unit<CounterRow> {
  const statement = tx.statements.prepare('counter', { of: 'counters' }, (db, slot) =>
    db.selectFrom('counters').selectAll().where('user_id', '=', slot.text('userId')),
  );
  const [counter] = yield* tx.rows<CounterRow>(statement, { userId });
  return counter ?? { user_id: userId, event_id: 0, audit_seq: 0, audit_head: auditGenesis };
}

function* writeCounter(tx: DatabaseTransaction, counter: CounterRow): Unit<void> {
  const statement = tx.statements.prepare('writeCounter', {}, (db, slot) =>
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
  yield* tx.blindly(statement, { ...counter });
}
