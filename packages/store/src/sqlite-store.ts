import { closeSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Bus, Reading, StoredEvent, Transaction, Unit } from '@countersign/engine';
import { Kysely, SqliteDialect } from 'kysely';
import { DatabaseReading } from './database-reading.ts';
import { DatabaseTransaction } from './database-transaction.ts';
import { migrate } from './migrations.ts';
import { type DatabaseStore, type RetentionLimits, removeExpired, type Swept } from './retention.ts';
import { busyTimeoutMs, SqliteCheckpoints } from './sqlite-checkpoints.ts';
import { SqliteLongReads } from './sqlite-long-reads.ts';
import { SqliteSteps } from './sqlite-steps.ts';
import { AnnouncementBuffer, RowCache, SqliteTransaction } from './sqlite-transaction.ts';
import { type StepResult, statementsOf } from './statements.ts';
import { steadyTime } from './steady-time.ts';
import { storageFull } from './storage-failure.ts';

export interface SqliteStoreOptions {
  /** A file, which is made when it is missing, or `:memory:`. */
  readonly path: string;
  readonly bus: Bus;
  /** Milliseconds since 1970; `steadyTime` by default, a test may have its own. */
  readonly now?: () => number;
  /** Called when a background task fails, and when the disk is full (`StorageFull`). */
  readonly onError?: (error: unknown) => void;
}

/** Opens the database in one file, brings its tables up to date and keeps other servers away from it. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const path = options.path === ':memory:' ? ':memory:' : realPath(options.path);
  const unlock = path === ':memory:' ? () => {} : lockDatabase(path);
  try {
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600)); // SQLite gives its log the same mode
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    // FULL: an acknowledged commit survives a power cut.
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma cache_size = -65536;
      pragma temp_store = memory;
      pragma wal_autocheckpoint = 0; -- SqliteCheckpoints does it, in a thread of its own
    `);
    await migrateAsOne(database);
    return new SqliteStore(database, options.bus, options.now ?? steadyTime(), unlock, options.onError);
  } catch (error) {
    unlock();
    throw storageFull(error) ?? error;
  }
}

/**
 * One server per file (DA-2). The lock is an exclusive transaction on a small file beside the database: the system
 * releases it when the process ends, however it ends, and unlike SQLite's own exclusive mode it leaves the database
 * readable for backups, `audit verify` and our own reading thread.
 */
function lockDatabase(path: string): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    const problem = `The database "${path}" is in use by another Countersign server.`;
    const remedy =
      'Stop that one first, or give this one a file of its own. To sign in to that one: countersign serve --link';
    const error = new Error(`${problem} ${remedy}`, { cause });
    throw Object.assign(error, { code: 'DATABASE_IN_USE' }); // for the program that started us
  }
  return () => {
    if (lock.isOpen) lock.close();
  };
}

/** Creates all tables or none, even if the first start is killed: Kysely uses no transaction here on SQLite. */
async function migrateAsOne(database: DatabaseSync): Promise<void> {
  database.exec('begin immediate');
  try {
    await migrate(kyselyOverSqlite(database), 'sqlite', database.location() ?? undefined);
    database.exec('commit');
  } catch (error) {
    database.close(); // rolls back
    throw error;
  }
}

/** Kysely over node:sqlite, for migrations. Closing it does not close the database. */
export function kyselyOverSqlite(database: DatabaseSync): Kysely<never> {
  return new Kysely({
    dialect: new SqliteDialect({
      database: {
        close: () => {},
        prepare(sql) {
          const statement = database.prepare(sql);
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => statement.all(...(parameters as never[])),
            run: (parameters) => statement.run(...(parameters as never[])),
            iterate: (parameters) => statement.iterate(...(parameters as never[])) as never,
          };
        },
      },
    }),
  });
}

/** Maximum number of units in one commit: more would block the event loop for too long and save little. */
const unitsAtOnce = 128;

/** The outcome of a unit, kept until the commit. */
type Outcome =
  | { readonly ok: true; readonly value: unknown; readonly events: readonly StoredEvent[] }
  | { readonly ok: false; readonly error: unknown };

const noEvents: readonly StoredEvent[] = [];

interface QueuedUnit {
  readonly unit: (tx: Transaction) => Unit<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Units that wait at the same moment share one commit, and so one flush of the disk (PF-2). A unit that throws does not
 * affect the others. If it threw before it wrote anything, nothing needs to be undone; otherwise the group is rolled back
 * and runs again with each unit in a savepoint. Savepoints are not used the first time, because they copy every page that
 * a unit touches.
 */
export class SqliteStore implements DatabaseStore {
  readonly now: () => number;
  readonly isShared = false;
  readonly #database: DatabaseSync;
  readonly #bus: Bus;
  readonly #unlock: () => void;
  readonly #statements = statementsOf.sqlite;
  readonly #steps: SqliteSteps;
  readonly #cache = new RowCache();
  readonly #announcements = new AnnouncementBuffer();
  readonly #checkpoints: SqliteCheckpoints | undefined;
  /** The error of the unit that has just failed. */
  #unitFailure: unknown;
  readonly #control: Readonly<Record<'begin' | 'commit' | 'savepoint' | 'release', StatementSync>>;
  readonly #reading: DatabaseReading;
  readonly #longReads: SqliteLongReads | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #queue: QueuedUnit[] = [];
  #closed = false;

  constructor(
    database: DatabaseSync,
    bus: Bus,
    now: () => number,
    unlock: () => void,
    onError: (error: unknown) => void = () => {},
  ) {
    this.now = now;
    this.#database = database;
    this.#bus = bus;
    this.#unlock = unlock;
    this.#onError = onError;
    this.#steps = new SqliteSteps(database);
    this.#reading = new DatabaseReading(this.#statements, { locking: false });
    // A second connection cannot open a database in memory.
    const path = database.location();
    this.#longReads = path === null ? undefined : new SqliteLongReads(path);
    this.#checkpoints = path === null ? undefined : new SqliteCheckpoints(database, path, onError);
    this.#control = {
      begin: database.prepare('begin immediate'),
      commit: database.prepare('commit'),
      savepoint: database.prepare('savepoint unit'),
      release: database.prepare('release unit'),
    };
  }

  get backlog(): number {
    return this.#queue.length;
  }

  write<T>(unit: (tx: Transaction) => Unit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(closed());
      // Serve the readable sockets first, so that their units go into the same commit.
      if (this.#queue.length === 0) setImmediate(() => this.#commitQueued());
      this.#queue.push({ unit, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  async read<T>(unit: (tx: Reading) => Unit<T>): Promise<T> {
    if (this.#closed) throw closed();
    // Consistent, because commits are synchronous. Only a long statement sees a later state.
    const reading = unit(this.#reading);
    let step = this.#steps.driveUntilLong(reading);
    while (!step.done) {
      let answer: StepResult;
      try {
        answer = await (this.#longReads ?? this.#steps).run(step.value);
      } catch (error) {
        step = this.#steps.driveUntilLong(reading, reading.throw(error));
        continue;
      }
      step = this.#steps.driveUntilLong(reading, reading.next(answer));
    }
    return step.value;
  }

  async sweep(limits: RetentionLimits): Promise<Swept> {
    try {
      return await removeExpired(this, limits);
    } finally {
      this.#cache.clear();
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#commitQueued();
    await this.#longReads?.close();
    await this.#checkpoints?.stop();
    this.#database.close();
    this.#checkpoints?.close();
    this.#unlock();
  }

  #commitQueued(): void {
    const group = this.#queue.splice(0, unitsAtOnce);
    if (group.length === 0) return;
    if (this.#queue.length > 0) setImmediate(() => this.#commitQueued());
    let outcomes: readonly Outcome[];
    try {
      outcomes = this.#commit(group, (unit) => this.#run(unit)) ?? this.#commitApart(group);
    } catch (error) {
      // The disk is full or failed: nothing of this group was written.
      const reason = this.#reasonOf(error);
      for (const { reject } of group) reject(reason);
      return;
    }
    for (const [place, outcome] of outcomes.entries()) {
      if (outcome.ok) group[place]?.resolve(outcome.value);
      else group[place]?.reject(this.#reasonOf(outcome.error));
    }
    for (const outcome of outcomes) if (outcome.ok) this.#publish(outcome.events);
    this.#checkpoints?.committed();
  }

  /**
   * Runs the units of a group and commits them together. Returns undefined if one threw after it had written: then the
   * group was rolled back, and must run again with each unit in a savepoint.
   */
  #commit(group: readonly QueuedUnit[], run: (unit: QueuedUnit['unit']) => Outcome | undefined) {
    const outcomes: Outcome[] = [];
    try {
      this.#control.begin.run();
      for (const { unit } of group) {
        const outcome = run(unit);
        if (outcome === undefined) {
          this.#rollBack();
          return undefined;
        }
        outcomes.push(outcome);
      }
      this.#steps.drive(this.#announcements.flush(new DatabaseTransaction(this.#statements)));
      this.#control.commit.run();
      return outcomes;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Runs each unit in a savepoint, so that one that throws does not affect the others. */
  #commitApart(group: readonly QueuedUnit[]): readonly Outcome[] {
    const outcomes = this.#commit(group, (unit) => {
      this.#control.savepoint.run();
      const outcome = this.#run(unit);
      // After some failures (a full disk) SQLite rolls back the whole transaction: then the whole group fails.
      if (outcome === undefined && !this.#database.isTransaction) throw this.#unitFailure;
      if (outcome !== undefined) {
        this.#control.release.run();
        return outcome;
      }
      this.#database.exec('rollback to unit; release unit');
      this.#cache.clear();
      return { ok: false, error: this.#unitFailure };
    });
    return outcomes as readonly Outcome[];
  }

  /** Undefined if the unit threw (`#unitFailure`) after it had written something. */
  #run(unit: QueuedUnit['unit']): Outcome | undefined {
    const tx = new SqliteTransaction(this.#statements, this.#cache);
    const changesBefore = this.#steps.changes;
    try {
      const value = this.#steps.drive(unit(tx));
      const { announced } = tx;
      const events = announced
        ? this.#steps.drive(this.#announcements.enter(tx, announced, this.now()))
        : noEvents;
      return { ok: true, value, events };
    } catch (error) {
      if (this.#steps.changes === changesBefore && this.#database.isTransaction) return { ok: false, error };
      this.#unitFailure = error;
      return undefined;
    }
  }

  /** The error to report. Also reports a full disk to `onError`, because it concerns more than this unit. */
  #reasonOf(error: unknown): unknown {
    const full = storageFull(error);
    if (full) this.#onError(full);
    return full ?? error;
  }

  #rollBack(): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
    this.#cache.clear();
    this.#announcements.forget();
  }

  #publish(events: readonly StoredEvent[]): void {
    const newest = events.at(-1);
    if (newest === undefined) return;
    this.#bus.publish({ kind: 'events', userId: newest.user_id, newest: newest.id, events });
  }
}

const closed = (): Error => new Error('The store is closed.');

/** Resolves links, so that a link to the database cannot bypass the lock. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return join(realpathSync(dirname(path)), basename(path));
  }
}
