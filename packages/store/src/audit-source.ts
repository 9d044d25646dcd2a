import { DatabaseSync } from 'node:sqlite';
import type { AuditSource } from './audit-log.ts';
import { DatabaseReading } from './database-reading.ts';
import { openPool } from './postgres-pool.ts';
import { readOnPostgres } from './postgres-store.ts';
import { SqliteSteps } from './sqlite-steps.ts';
import { statementsOf } from './statements.ts';

export interface OpenAuditSource extends AuditSource {
  close(): Promise<void>;
}

/** Reads a database beside the server that owns it: no lock, no migration, nothing written. */
export function openAuditSource(database: string): OpenAuditSource {
  return isPostgresUrl(database) ? overPostgres(database) : overSqlite(database);
}

const isPostgresUrl = (database: string): boolean => /^postgres(ql)?:\/\//.test(database);

function overSqlite(path: string): OpenAuditSource {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const reading = new DatabaseReading(statementsOf.sqlite, { locking: false });
  const steps = new SqliteSteps(database);
  return {
    async read(unit) {
      database.exec('begin');
      try {
        return steps.drive(unit(reading));
      } finally {
        database.exec('commit');
      }
    },
    async close() {
      database.close();
    },
  };
}

function overPostgres(url: string): OpenAuditSource {
  const pool = openPool({ url, name: 'countersign audit', max: 1 });
  const reading = new DatabaseReading(statementsOf.postgres, { locking: false });
  return {
    read: (unit) => readOnPostgres(pool, unit(reading)),
    close: () => pool.end(),
  };
}
