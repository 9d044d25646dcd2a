import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import pg from 'pg';
import { queryRows, type TestDatabase } from '../../lab/src/test-database.ts';
import { pause } from '../../lab/src/waiting.ts';
import { type FillableDisk, mountSmallDisk } from './small-disk.ts';

/** The database of a run, which can be taken away from the servers. */
export interface RunDatabase extends TestDatabase {
  /** Undefined where nothing can be mounted. */
  readonly disk: FillableDisk | undefined;
  /** Kills it as a power cut does, and starts it again after a while. */
  crash(downMs: number): Promise<void>;
  endConnections(): Promise<void>;
  /** Stops it where it is for a while (SIGSTOP): nobody is refused, and nobody is answered. */
  pause(ms: number): Promise<void>;
  /** Its own clock, which counts for everybody on PostgreSQL (AP-3), is set forward or back by this much. */
  jumpClock(ms: number): Promise<void>;
  /** By that clock. */
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
      // Opened for each question: who keeps a database open changes when its log is folded in.
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

/** The function by which servers ask for the time, and what it is off by: ours is found before the database's own. */
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
  pool.on('error', () => {}); // it was killed; the next question opens another connection
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
