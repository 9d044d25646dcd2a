import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TemporaryPostgres } from '@countersign/testing';
import pg from 'pg';

type Row = Record<string, unknown>;

/** The database of one test, which the test may read and change beside the server, as an operator could. */
export interface TestDatabase {
  readonly url: string;
  /** `$1`, `$2` … are the values. */
  query(sql: string, ...values: (string | number)[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Queries SQLite with PostgreSQL's placeholders: `$1`, `$2` … are the values. */
export const queryRows = (opened: DatabaseSync, sql: string, values: (string | number)[]): Row[] =>
  opened.prepare(sql.replaceAll(/\$(\d)/g, '?$1')).all(...values) as Row[];

export function sqliteDatabase(): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-e2e-'));
  const url = join(folder, 'countersign.db');
  let opened: DatabaseSync | undefined;
  return {
    url,
    async query(sql, ...values) {
      opened ??= new DatabaseSync(url, { timeout: 10_000 });
      return queryRows(opened, sql, values);
    },
    async close() {
      opened?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function postgresDatabase(postgres: TemporaryPostgres): Promise<TestDatabase> {
  const url = await postgres.createDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    url,
    async query(sql, ...values) {
      return (await client.query(sql, values)).rows as Row[];
    },
    close: () => client.end(),
  };
}
