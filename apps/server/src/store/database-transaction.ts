import {
  type Announcement,
  type AuditRow,
  auditGenesis,
  auditHash,
  DuplicateRow,
  type StoredEvent,
  type TableName,
  type Tables,
  type Transaction,
  type Unit,
} from '@countersign/engine';
import { type CounterRow, columnsOf } from './columns.ts';
import { DatabaseReading } from './database-reading.ts';
import type { Statements, StepResult } from './statements.ts';

/** Rows that one statement inserts at most: each number of rows is a statement of its own. */
const rowsAtOnce = 16;

/** A unit of writing. What it announces is numbered, chained and written by `finish`, which the store runs last. */
export class DatabaseTransaction extends DatabaseReading implements Transaction {
  #userId: string | undefined;
  readonly #events: NonNullable<Announcement['events']>[number][] = [];
  readonly #audit: NonNullable<Announcement['audit']>[number][] = [];

  constructor(statements: Statements) {
    super(statements, { locking: statements.dialect === 'postgres' });
  }

  *insert<K extends TableName>(table: K, row: Tables[K]): Unit<void> {
    const statement = this.statements.prepare(`insert:${table}`, {}, (db, slot) => {
      const columns = Object.keys(columnsOf[table]);
      const values = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
      // A refused insert would end the whole transaction on PostgreSQL; one that does nothing can be answered.
      return db
        .insertInto(table as 'projects')
        .values(values as never)
        .onConflict((conflict) => conflict.doNothing());
    });
    const { changes } = (yield this.statements.step(statement, row as never)) as StepResult;
    if (changes === 0) throw new DuplicateRow(`${table} has a row with the key of ${row.id} already`);
  }

  *update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean> {
    const columns = Object.keys(patch).filter((column) => patch[column as keyof typeof patch] !== undefined);
    if (columns.length === 0) return (yield* this.get(table, id)) !== undefined;
    const statement = this.statements.prepare(`update:${table}:${columns}`, {}, (db, slot) => {
      const values = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
      return db
        .updateTable(table as 'projects')
        .set(values as never)
        .where('id', '=', slot.text('which'));
    });
    const { changes } = (yield this.statements.step(statement, { ...patch, which: id })) as StepResult;
    return changes > 0;
  }

  *countGrantUse(grantId: string): Unit<void> {
    const statement = this.statements.prepare('countGrantUse', {}, (db, slot) =>
      db
        .updateTable('grants')
        .set((eb) => ({ uses: eb('uses', '+', 1) }))
        .where('id', '=', slot.text('grantId')),
    );
    yield* this.blindly(statement, { grantId });
  }

  announce(userId: string, { events = [], audit = [] }: Announcement): void {
    if (this.#userId !== undefined && this.#userId !== userId) {
      throw new Error('A unit of writing announces things of one person: each has a counter, the last lock.');
    }
    this.#userId = userId;
    this.#events.push(...events);
    this.#audit.push(...audit);
  }

  /** Writes what was announced; answers with the events, numbered. */
  *finish(now: () => number): Unit<readonly StoredEvent[]> {
    const userId = this.#userId;
    if (userId === undefined || this.#events.length + this.#audit.length === 0) return [];
    const counter = yield* this.#advanceCounter(userId);
    const at = now();

    const firstEvent = counter.event_id - this.#events.length + 1;
    const events = this.#events.map(({ projectId, event }, place) => ({
      user_id: userId,
      id: firstEvent + place,
      project_id: projectId,
      event,
      created_at: at,
    }));
    yield* this.#append('events', events);

    if (this.#audit.length > 0) {
      const rows = chain(this.#audit, userId, at, counter);
      yield* this.#append('audit', rows);
      yield* this.#moveHead(userId, rows.at(-1)?.hash ?? auditGenesis);
    }
    return events;
  }

  /** Takes the person's counter: from here to the commit nobody else writes events of theirs (EV-2). */
  *#advanceCounter(user_id: string): Unit<CounterRow> {
    const statement = this.statements.prepare('advanceCounter', {}, (db, slot) =>
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
    const values = { user_id, events: this.#events.length, audit: this.#audit.length };
    const [counter] = yield* this.rows<CounterRow>(statement, values);
    if (counter === undefined) throw new Error(`The counter of ${user_id} could not be taken`);
    return counter;
  }

  *#append(table: 'events' | 'audit', rows: readonly (StoredEvent | AuditRow)[]): Unit<void> {
    for (let start = 0; start < rows.length; start += rowsAtOnce) {
      const some = rows.length <= rowsAtOnce ? rows : rows.slice(start, start + rowsAtOnce);
      const statement = this.statements.prepare(`append:${table}:${some.length}`, {}, (db, slot) => {
        const columns = Object.keys(columnsOf[table]);
        const row = Object.fromEntries(columns.map((column) => [column, slot.column(table, column)]));
        return db.insertInto(table as 'events').values(some.map(() => row) as never);
      });
      yield { ...this.statements.stepOfRows(statement, some as never), blind: true };
    }
  }

  *#moveHead(userId: string, head: string): Unit<void> {
    const statement = this.statements.prepare('moveHead', {}, (db, slot) =>
      db
        .updateTable('counters')
        .set({ audit_head: slot.text('head') })
        .where('user_id', '=', slot.text('userId')),
    );
    yield* this.blindly(statement, { userId, head });
  }
}

function chain(
  entries: NonNullable<Announcement['audit']>,
  userId: string,
  at: number,
  counter: CounterRow,
): readonly AuditRow[] {
  let previous_hash = counter.audit_head;
  let seq = counter.audit_seq - entries.length;
  return entries.map(({ action, subject, data }) => {
    seq += 1;
    const content = { user_id: userId, seq, at, action, subject, data, previous_hash };
    const row = { ...content, hash: auditHash(content) };
    previous_hash = row.hash;
    return row;
  });
}
