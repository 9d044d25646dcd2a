import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import pg from 'pg';
import { queryRows, type TestDatabase } from '../../lab/src/test-database.ts';
import { pause } from '../../lab/src/waiting.ts';
import { type FillableDisk, mountSmallDisk } from './small-disk.ts';

/** The database of a run, which can be taken from the servers. */
export interface RunDatabase extends TestDatabase {
  /** Undefined where we may not mount a disk. */
  readonly disk: FillableDisk | undefined;
  /** Kills it like a power cut, and starts it again after `downMs`. */
  crash(downMs: number): Promise<void>;
  endConnections(): Promise<void>;
  /** Stops it for a while (SIGSTOP): connections are neither refused nor answered. */
  pause(ms: number): Promise<void>;
  /** Sets its own clock, which all servers use on PostgreSQL (AP-3), forward or back. */
  jumpClock(ms: number): Promise<void>;
  /** The time by that clock. */
  now(): Promise<number>;
}

export async function openRunDatabase(kind: 'sqlite' | 'postgres', folder: string): Promise<RunDatabase> {
  const place = join(folder, 'database');
  mkdirSync(place, { recursive: true, mode: 0o755 });
  return kind === 'sqlite' ? sqlite(place) : postgres(place);
}

function sqlite(place: string): RunDatabase {
  const disk = mountSmallDisk(place, 256);
  const url = join(place, 'countersign.db');
  return {
    url,
    disk,
    async query(sql, ...values) {
      // Opened for each query: a connection that stays open changes when SQLite checkpoints.
      const opened = new DatabaseSync(url, { timeout: 10_000 });
      try {
        return queryRows(opened, sql, values);
      } finally {
        opened.close();
      }
    },
    crash: async () => {},
    endConnections: async () => {},
    pause: async () => {},
    jumpClock: async () => {},
    now: async () => Date.now(),
    async close() {
      disk?.close();
    },
  };
}

/** Shadows the function by which servers ask for the time, with an offset that the test sets. */
const movableClock = `
  create table faults_clock (ms float8 not null);
  insert into faults_clock values (0);
  create function public.clock_timestamp() returns timestamptz language sql volatile as $$
    select pg_catalog.clock_timestamp() + (select ms from public.faults_clock) * interval '1 millisecond' $$`;

async function postgres(place: string): Promise<RunDatabase> {
  const disk = mountSmallDisk(place, 768);
  const server = await temporaryPostgres({ folder: place }).catch((error: unknown) => {
    disk?.close();
    throw error;
  });
  const url = await server.createDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 5_000 });
  pool.on('error', () => {}); // the server was killed; the next query reconnects
  await pool.query(movableClock);
  const [{ name }] = (await pool.query('select current_database() as name')).rows as [{ name: string }];
  await pool.query(`alter database ${name} set search_path = public, pg_catalog`);
  const timeOf = 'select (extract(epoch from public.clock_timestamp()) * 1000)::bigint as now';
  let goOn = () => {};
  return {
    url,
    disk,
    query: async (sql, ...values) => (await pool.query(sql, values)).rows as Record<string, unknown>[],
    crash: (downMs) => crash(server, downMs),
    async endConnections() {
      await pool.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
      );
    },
    async pause(ms) {
      goOn = server.pause();
      await pause(ms);
      goOn();
    },
    async jumpClock(ms) {
      await pool.query('update faults_clock set ms = ms + $1', [ms]);
    },
    now: async () => Number((await pool.query(timeOf)).rows[0].now),
    async close() {
      goOn();
      await pool.end();
      await server.stop();
      disk?.close();
    },
  };
}

async function crash(server: TemporaryPostgres, downMs: number): Promise<void> {
  await server.kill();
  await pause(downMs);
  await server.start();
}
