import type { Bus, Reading, StoredEvent, Transaction, Unit } from '@countersign/engine';
import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import { DatabaseReading } from './database-reading.ts';
import { DatabaseTransaction } from './database-transaction.ts';
import { EventOrder } from './event-order.ts';
import { migrate } from './migrations.ts';
import {
  hasOutdatedPlan,
  isConflict,
  isConnectionLoss,
  OutcomeUnknown,
  wasNotCommitted,
} from './postgres-failure.ts';
import { openPool } from './postgres-pool.ts';
import { PostgresTime } from './postgres-time.ts';
import { type DatabaseStore, type RetentionLimits, removeExpired, type Swept } from './retention.ts';
import { type Step, type StepResult, statementsOf } from './statements.ts';
import { storageFull } from './storage-failure.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly bus: Bus;
  /** The database's clock by default; a test may have its own. */
  readonly now?: () => number;
  /** Longest wait for a query's result. */
  readonly queryTimeoutMs?: number;
  /** Called when the storage is full (`StorageFull`). */
  readonly onError?: (error: unknown) => void;
}

/** Opens the database behind a URL and brings its tables up to date. Several servers may use it. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { url, bus, queryTimeoutMs = 20_000 } = options;
  await bringUpToDate(url);
  const writing = openPool({ url, name: 'countersign', max: 10, queryTimeoutMs });
  const reading = openPool({ url, name: 'countersign reading', max: 5, queryTimeoutMs });
  try {
    const time = await PostgresTime.start(reading);
    const { now = time.now, onError = () => {} } = options;
    return new PostgresStore({ writing, reading, bus, time, now, queryTimeoutMs, onError });
  } catch (error) {
    await Promise.allSettled([writing.end(), reading.end()]);
    throw error;
  }
}

/** Migrates without a query timeout, because tables may be large. */
async function bringUpToDate(url: string): Promise<void> {
  const pool = openPool({ url, name: 'countersign migrations', max: 1 });
  try {
    await migrate(new Kysely<never>({ dialect: new PostgresDialect({ pool }) }), 'postgres');
  } finally {
    await pool.end();
  }
}

interface PostgresStoreParts {
  readonly writing: pg.Pool;
  readonly reading: pg.Pool;
  readonly bus: Bus;
  readonly time: PostgresTime;
  readonly now: () => number;
  readonly queryTimeoutMs: number;
  readonly onError: (error: unknown) => void;
}

const nothing: StepResult = { rows: [], changes: 0 };
const attempts = 6;
/** How often a unit is retried on a connection with an outdated plan: more often than a pool has connections. */
const maxOutdatedPlans = 100;

/** Each unit is one transaction; several run at once. A unit of writing locks the rows that it reads by id. */
export class PostgresStore implements DatabaseStore {
  readonly now: () => number;
  readonly isShared = true;
  readonly #parts: PostgresStoreParts;
  readonly #statements = statementsOf.postgres;
  readonly #reading: DatabaseReading;
  readonly #order = new EventOrder();
  #closing: Promise<void> | undefined;
  #underWay = 0;

  constructor(parts: PostgresStoreParts) {
    this.#parts = parts;
    this.now = parts.now;
    this.#reading = new DatabaseReading(this.#statements, { locking: false });
  }

  get backlog(): number {
    return this.#underWay;
  }

  async write<T>(unit: (tx: Transaction) => Unit<T>): Promise<T> {
    this.#underWay += 1;
    try {
      const { value, events } = await withRetries(() => this.#tryWriting(unit), this.#parts.queryTimeoutMs);
      this.#publish(events);
      return value;
    } catch (error) {
      const full = storageFull(error);
      if (full) this.#parts.onError(full);
      throw full ?? error;
    } finally {
      this.#underWay -= 1;
    }
  }

  read<T>(unit: (tx: Reading) => Unit<T>): Promise<T> {
    const once = () => readOnPostgres(this.#open().reading, unit(this.#reading));
    return withRetries(once, this.#parts.queryTimeoutMs);
  }

  sweep(limits: RetentionLimits): Promise<Swept> {
    return removeExpired(this, limits);
  }

  close(): Promise<void> {
    const { time, writing, reading } = this.#parts;
    time.stop();
    this.#closing ??= Promise.all([writing.end(), reading.end()]).then(() => {});
    return this.#closing;
  }

  async #tryWriting<T>(
    unit: (tx: Transaction) => Unit<T>,
  ): Promise<{ readonly value: T; readonly events: readonly StoredEvent[] }> {
    const client = await this.#open().writing.connect();
    const transaction = new PostgresTransaction(client);
    try {
      transaction.send('begin');
      const tx = new DatabaseTransaction(this.#statements);
      const value = await transaction.drive(unit(tx));
      const events = await transaction.drive(tx.finish(this.now));
      await transaction.commit();
      client.release();
      return { value, events };
    } catch (error) {
      await releaseAfterFailure(client, error);
      throw error;
    }
  }

  #open(): PostgresStoreParts {
    if (this.#closing !== undefined) throw new Error('The store is closed.');
    return this.#parts;
  }

  #publish(events: readonly StoredEvent[]): void {
    const hint = this.#order.hintFor(events);
    if (hint !== undefined) this.#parts.bus.publish(hint);
    if (hint?.events === undefined && events.length > 0) this.#parts.bus.publish({ kind: 'written', events });
  }
}

/** Runs a reading unit on a consistent snapshot of the database. */
export async function readOnPostgres<T>(pool: pg.Pool, unit: Unit<T>): Promise<T> {
  const client = await pool.connect();
  const transaction = new PostgresTransaction(client);
  try {
    transaction.send('begin isolation level repeatable read read only');
    const value = await transaction.drive(unit);
    // The result does not depend on this commit, so do not wait for it.
    void transaction.commit().then(
      () => client.release(),
      () => client.release(true),
    );
    return value;
  } catch (error) {
    await releaseAfterFailure(client, error);
    throw error;
  }
}

class PostgresTransaction {
  readonly #client: pg.PoolClient;
  /** Statements that were sent; `commit` checks their results. */
  readonly #unanswered: Promise<unknown>[] = [];

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** Sends a statement whose result only matters if it fails. */
  send(query: string | pg.QueryConfig): void {
    const answer = this.#client.query(query);
    answer.catch(() => {}); // `commit` throws it
    this.#unanswered.push(answer);
  }

  async drive<T>(unit: Unit<T>): Promise<T> {
    let step = unit.next();
    while (!step.done) {
      const { statement, values, unawaited } = step.value as Step;
      const query = { name: statement.name, text: statement.sql, values: values as unknown[] };
      if (unawaited === true) {
        this.send(query);
        step = unit.next(nothing);
        continue;
      }
      let answer: pg.QueryResult;
      try {
        answer = await this.#client.query(query);
      } catch (error) {
        step = unit.throw(error);
        continue;
      }
      step = unit.next({ rows: answer.rows, changes: answer.rowCount ?? 0 });
    }
    return step.value;
  }

  async commit(): Promise<void> {
    const answers = [...this.#unanswered, this.#client.query('commit')];
    const settled = await Promise.allSettled(answers);
    const failure = settled.find((answer) => answer.status === 'rejected')?.reason;
    if (failure !== undefined) {
      const commitFailure = (settled.at(-1) as PromiseRejectedResult).reason;
      if (!isConnectionLoss(failure) || wasNotCommitted(failure) || wasNotCommitted(commitFailure))
        throw failure;
      // The commit may have arrived although no answer came, so do not run the unit again.
      throw new OutcomeUnknown('The connection broke during the commit; look before repeating.', {
        cause: failure,
      });
    }
    const commit = settled.at(-1) as PromiseFulfilledResult<pg.QueryResult>;
    // After a failed statement, COMMIT rolls back and reports no error.
    if (commit.value.command !== 'COMMIT') throw new Error('The database rolled the unit back.');
  }
}

/** Returns a connection to the pool after a failure, or closes it if it is unusable. */
async function releaseAfterFailure(client: pg.PoolClient, error: unknown): Promise<void> {
  if (isConnectionLoss(error) || hasOutdatedPlan(error) || error instanceof OutcomeUnknown)
    return client.release(true);
  try {
    await client.query('rollback');
    client.release();
  } catch {
    client.release(true);
  }
}

/** Runs work, and repeats it after temporary failures that committed nothing, while its caller still waits. */
async function withRetries<T>(work: () => Promise<T>, queryTimeoutMs: number): Promise<T> {
  const startedAt = performance.now();
  let outdated = 0;
  for (let attempt = 1; ; ) {
    try {
      return await work();
    } catch (error) {
      // The connection is closed; the next one may have an old plan as well.
      if (hasOutdatedPlan(error) && ++outdated <= maxOutdatedPlans) continue;
      // Give up on a stalled database. But if the unit was certainly not committed, our own process had stalled: retry.
      const isLate = performance.now() - startedAt >= queryTimeoutMs / 2;
      const isOver = isLate && isConnectionLoss(error) && !wasNotCommitted(error);
      if (isOver || attempt === attempts || !(isConflict(error) || isConnectionLoss(error))) throw error;
      await pause(attempt, isConflict(error) ? 5 : 40);
      attempt += 1;
    }
  }
}

/** Waits longer each time, with jitter so that two conflicting units do not meet again. */
const pause = (attempt: number, ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms * 2 ** (attempt - 1) * (0.5 + Math.random()));
  });
