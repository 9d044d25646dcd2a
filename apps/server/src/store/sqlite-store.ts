import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Bus, Reading, StoredEvent, Transaction, Unit } from '@countersign/engine';
import type { Database } from './columns.ts';
import { DatabaseReading } from './database-reading.ts';
import type { DatabaseStore } from './database-store.ts';
import { DatabaseTransaction } from './database-transaction.ts';
import { migrate } from './migrations.ts';
import { type RetentionLimits, removeExpired, type Swept } from './retention.ts';
import { kyselyOverSqlite } from './sqlite-kysely.ts';
import { lockDatabase } from './sqlite-lock.ts';
import { SqliteLongReads } from './sqlite-long-reads.ts';
import { SqliteSteps } from './sqlite-steps.ts';
import { Statements, type StepResult } from './statements.ts';
import { steadyTime } from './steady-time.ts';

export interface SqliteStoreOptions {
  /** A file, which is made when it is missing, or `:memory:`. */
  readonly path: string;
  readonly bus: Bus;
  /** Milliseconds since 1970. The system's, made steady, unless a test has its own. */
  readonly now?: () => number;
}

/** Opens the database in one file, brings its tables up to date and keeps other servers away from it. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const path = options.path === ':memory:' ? ':memory:' : realPath(options.path);
  const unlock = path === ':memory:' ? () => {} : lockDatabase(path);
  try {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    // FULL: what was acknowledged survives a power cut.
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma cache_size = -65536;
      pragma temp_store = memory;
      pragma wal_autocheckpoint = 4000;
    `);
    const kysely = kyselyOverSqlite<never>(database);
    await migrate(kysely, 'sqlite');
    return new SqliteStore(database, options.bus, options.now ?? steadyTime(), unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Units of one commit: more would keep the loop from everything else for too long, and save no flush worth having. */
const unitsAtOnce = 128;

interface QueuedUnit {
  readonly unit: (tx: Transaction) => Unit<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Units that wait at the same moment share one commit, and so one flush of the disk; each stands in a savepoint of its
 * own, so that one that throws takes nothing of the others with it (PF-2).
 */
export class SqliteStore implements DatabaseStore {
  readonly now: () => number;
  readonly #database: DatabaseSync;
  readonly #bus: Bus;
  readonly #unlock: () => void;
  readonly #statements: Statements;
  readonly #steps: SqliteSteps;
  readonly #control: Readonly<Record<'begin' | 'commit' | 'savepoint' | 'release', StatementSync>>;
  readonly #reading: DatabaseReading;
  readonly #longReads: SqliteLongReads | undefined;
  readonly #queue: QueuedUnit[] = [];
  #closed = false;

  constructor(database: DatabaseSync, bus: Bus, now: () => number, unlock: () => void) {
    this.now = now;
    this.#database = database;
    this.#bus = bus;
    this.#unlock = unlock;
    this.#statements = new Statements('sqlite', kyselyOverSqlite<Database>(database));
    this.#steps = new SqliteSteps(database);
    this.#reading = new DatabaseReading(this.#statements, { locking: false });
    // A database in memory belongs to its connection.
    const path = database.location();
    this.#longReads = path === null ? undefined : new SqliteLongReads(path);
    this.#control = {
      begin: database.prepare('begin immediate'),
      commit: database.prepare('commit'),
      savepoint: database.prepare('savepoint unit'),
      release: database.prepare('release unit'),
    };
  }

  write<T>(unit: (tx: Transaction) => Unit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(closed());
      // After the sockets that are readable now have been served: what they ask for goes into the same commit.
      if (this.#queue.length === 0) setImmediate(() => this.#commitQueued());
      this.#queue.push({ unit, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  async read<T>(unit: (tx: Reading) => Unit<T>): Promise<T> {
    if (this.#closed) throw closed();
    // Nothing is written while this runs, since a commit never leaves its call: the state is consistent. Only a
    // statement that may take long sees the state of its own moment.
    const reading = unit(this.#reading);
    let step = this.#steps.driveUntilLong(reading);
    while (!step.done) {
      let answer: StepResult;
      try {
        answer = await (this.#longReads ?? this.#steps).run(step.value);
      } catch (error) {
        step = this.#steps.driveUntilLong(reading, () => reading.throw(error));
        continue;
      }
      step = this.#steps.driveUntilLong(reading, () => reading.next(answer));
    }
    return step.value;
  }

  sweep(limits: RetentionLimits): Promise<Swept> {
    return removeExpired(this, limits);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#commitQueued();
    await this.#longReads?.close();
    this.#database.close();
    this.#unlock();
  }

  #commitQueued(): void {
    const group = this.#queue.splice(0, unitsAtOnce);
    if (group.length === 0) return;
    if (this.#queue.length > 0) setImmediate(() => this.#commitQueued());
    const done: { queued: QueuedUnit; value: unknown; events: readonly StoredEvent[] }[] = [];
    try {
      this.#control.begin.run();
      for (const queued of group) {
        const outcome = this.#runInSavepoint(queued.unit);
        if (outcome.ok) done.push({ queued, value: outcome.value, events: outcome.events });
        else queued.reject(outcome.error);
      }
      this.#control.commit.run();
    } catch (error) {
      // The disk is full or failed: nothing of this group is written, and nobody is told otherwise.
      if (this.#database.isTransaction) this.#database.exec('rollback');
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { queued, value } of done) queued.resolve(value);
    for (const { events } of done) this.#publish(events);
  }

  #runInSavepoint(
    unit: QueuedUnit['unit'],
  ):
    | { readonly ok: true; readonly value: unknown; readonly events: readonly StoredEvent[] }
    | { readonly ok: false; readonly error: unknown } {
    this.#control.savepoint.run();
    try {
      const tx = new DatabaseTransaction(this.#statements);
      const value = this.#steps.drive(unit(tx));
      const events = this.#steps.drive(tx.finish(this.now));
      this.#control.release.run();
      return { ok: true, value, events };
    } catch (error) {
      // Some failures (a full disk) make SQLite give up the whole transaction: then the group fails with it.
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('rollback to unit; release unit');
      return { ok: false, error };
    }
  }

  #publish(events: readonly StoredEvent[]): void {
    const newest = events.at(-1);
    if (newest === undefined) return;
    this.#bus.publish({ kind: 'events', userId: newest.user_id, newest: newest.id, events });
  }
}

const closed = (): Error => new Error('The store is closed.');

/** One name for one file, however it is spelled: otherwise a link would get around the lock. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return join(realpathSync(dirname(path)), basename(path));
  }
}
