import {
  type Announced,
  type Announcement,
  type AuditRow,
  auditGenesis,
  type CounterRow,
  columnsOf,
  DuplicateRow,
  numberAnnounced,
  type StoredEvent,
  type TableName,
  type Tables,
  type Transaction,
  type Unit,
} from '@countersign/engine';
import { sql } from 'kysely';
import { DatabaseReading } from './database-reading.ts';
import type { Statements, Step, StepResult } from './statements.ts';

/** Maximum number of rows in one insert. Each number of rows is a prepared statement of its own. */
const rowsAtOnce = 16;

/** A unit of writing. The store runs `finish` last, which numbers, chains and writes what the unit announced. */
export class DatabaseTransaction extends DatabaseReading implements Transaction {
  #announced: Announced | undefined;

  constructor(statements: Statements) {
    super(statements, { locking: statements.dialect === 'postgres' });
  }

  *insert<K extends TableName>(table: K, row: Tables[K]): Unit<void> {
    const { changes } = (yield this.insertion(table, row)) as StepResult;
    if (changes === 0) throw new DuplicateRow(`${table} has a row with the key of ${row.id} already`);
  }

  *update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean> {
    const step = this.change(table, id, patch);
    if (step === undefined) return (yield* this.get(table, id)) !== undefined;
    return ((yield step) as StepResult).changes > 0;
  }

  *remove<K extends TableName>(table: K, id: string): Unit<boolean> {
    const statement = this.statements.prepare(`remove:row:${table}`, {}, (db, slot) =>
      db.deleteFrom(table as 'projects').where('id', '=', slot.text('id')),
    );
    return ((yield this.statements.step(statement, { id })) as StepResult).changes > 0;
  }

  protected insertion<K extends TableName>(table: K, row: Tables[K]): Step {
    const statement = this.statements.prepare(`insert:${table}`, {}, (db, slot) => {
      const columns = Object.keys(columnsOf[table]);
      const values = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
      // On PostgreSQL a failed insert would end the whole transaction, so a conflict inserts nothing instead.
      return db
        .insertInto(table as 'projects')
        .values(values as never)
        .onConflict((conflict) => conflict.doNothing());
    });
    return this.statements.step(statement, row as never);
  }

  /** Undefined if there is nothing to change. */
  protected change<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Step | undefined {
    const columns = Object.keys(patch).filter((column) => patch[column as keyof typeof patch] !== undefined);
    if (columns.length === 0) return undefined;
    const statement = this.statements.prepare(`update:${table}:${columns}`, {}, (db, slot) => {
      const values = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
      return db
        .updateTable(table as 'projects')
        .set(values as never)
        .where('id', '=', slot.text('which'));
    });
    return this.statements.step(statement, { ...patch, which: id });
  }

  renewLeases(node: string, until: number): Unit<readonly { readonly id: string; readonly epoch: number }[]> {
    return this.query('renewLeases', {}, { node, until }, (db, slot) =>
      db
        .updateTable('runs')
        .set({ lease_until: slot.integer('until') })
        .where('status', '=', sql.lit('running' as const))
        .where('lease_owner', '=', slot.text('node'))
        .returning(['id', 'epoch']),
    );
  }

  *markRunnersSeen(at: number, now: number): Unit<void> {
    yield* this.query('markRunnersSeen', {}, { at, now, connected: true }, (db, slot) =>
      db
        .updateTable('runners')
        .set({ last_seen_at: slot.integer('at') })
        .where('connected', '=', slot.column('runners', 'connected', 'connected'))
        .where((eb) =>
          eb.or([eb('last_seen_at', '<', slot.integer('at')), eb('last_seen_at', '>', slot.integer('now'))]),
        ),
    );
  }

  *capNodesSeenAt(now: number): Unit<void> {
    yield* this.query('capNodesSeenAt', {}, { now }, (db, slot) =>
      db
        .updateTable('nodes')
        .set({ seen_at: slot.integer('now') })
        .where('seen_at', '>', slot.integer('now')),
    );
  }

  *capRunLeases(until: number): Unit<void> {
    yield* this.query('capRunLeases', {}, { until }, (db, slot) =>
      db
        .updateTable('runs')
        .set({ lease_until: slot.integer('until') })
        .where('status', '=', sql.lit('running' as const))
        .where('lease_until', '>', slot.integer('until')),
    );
  }

  countGrantUse(grantId: string): Unit<void> {
    return this.runUnawaited('countGrantUse', {}, { grantId }, (db, slot) =>
      db
        .updateTable('grants')
        .set((eb) => ({ uses: eb('uses', '+', 1) }))
        .where('id', '=', slot.text('grantId')),
    );
  }

  *rewindMessages(sessionId: string, position: number, now: number): Unit<number> {
    const statement = this.statements.prepare('rewindMessages', {}, (db, slot) =>
      db
        .updateTable('messages')
        .set({ rewound_at: slot.integer('now') })
        .where('session_id', '=', slot.text('sessionId'))
        .where('position', '>=', slot.integer('position'))
        .where('rewound_at', 'is', null),
    );
    const step = this.statements.step(statement, { sessionId, position, now });
    return ((yield step) as StepResult).changes;
  }

  removeMessages(sessionId: string): Unit<void> {
    return this.runUnawaited('removeMessages', {}, { sessionId }, (db, slot) =>
      db.deleteFrom('messages').where('session_id', '=', slot.text('sessionId')),
    );
  }

  announce(userId: string, { events = [], audit = [] }: Announcement): void {
    this.#announced ??= { userId, events: [], audit: [] };
    if (this.#announced.userId !== userId) {
      throw new Error('A unit of writing announces things of one person: each has a counter, the last lock.');
    }
    this.#announced.events.push(...events);
    this.#announced.audit.push(...audit);
  }

  /** What the unit has announced; undefined if nothing. */
  get announced(): Announced | undefined {
    const announced = this.#announced;
    return announced && announced.events.length + announced.audit.length > 0 ? announced : undefined;
  }

  /** Writes what was announced, and returns the numbered events. */
  *finish(now: () => number): Unit<readonly StoredEvent[]> {
    const { announced } = this;
    if (announced === undefined) return [];
    const { userId } = announced;
    const counter = yield* this.#advanceCounter(announced);
    const before = {
      event_id: counter.event_id - announced.events.length,
      audit_seq: counter.audit_seq - announced.audit.length,
      audit_head: counter.audit_head,
    };
    const { events, audit, after } = numberAnnounced(announced, before, now());
    yield* this.append('events', events);
    if (audit.length > 0) {
      yield* this.append('audit', audit);
      yield* this.#moveHead(userId, after.audit_head);
    }
    return events;
  }

  /** Locks the person's counter: until the commit, no other unit writes events of this person (EV-2). */
  *#advanceCounter({ userId, events, audit }: Announced): Unit<CounterRow> {
    const values = { user_id: userId, events: events.length, audit: audit.length };
    const counter = yield* this.first<CounterRow>('advanceCounter', {}, values, (db, slot) =>
      db
        .insertInto('counters')
        .values({
          user_id: slot.text('user_id'),
          event_id: slot.integer('events'),
          audit_seq: slot.integer('audit'),
          audit_head: auditGenesis,
        })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet((eb) => ({
            event_id: eb('counters.event_id', '+', eb.ref('excluded.event_id')),
            audit_seq: eb('counters.audit_seq', '+', eb.ref('excluded.audit_seq')),
          })),
        )
        .returningAll(),
    );
    if (counter === undefined) throw new Error(`The counter of ${userId} could not be taken`);
    return counter;
  }

  *append(table: 'events' | 'audit', rows: readonly (StoredEvent | AuditRow)[]): Unit<void> {
    for (let start = 0; start < rows.length; start += rowsAtOnce) {
      const some = rows.length <= rowsAtOnce ? rows : rows.slice(start, start + rowsAtOnce);
      const statement = this.statements.prepare(`append:${table}:${some.length}`, {}, (db, slot) => {
        const columns = Object.keys(columnsOf[table]);
        const row = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
        return db.insertInto(table as 'events').values(some.map(() => row) as never);
      });
      yield { ...this.statements.step(statement, ...(some as never[])), unawaited: true };
    }
  }

  #moveHead(userId: string, head: string): Unit<void> {
    return this.runUnawaited('moveHead', {}, { userId, head }, (db, slot) =>
      db
        .updateTable('counters')
        .set({ audit_head: slot.text('head') })
        .where('user_id', '=', slot.text('userId')),
    );
  }
}
