import { DatabaseSync } from 'node:sqlite';
import { type AuditRow, auditGenesis, auditHash, type Store } from '@countersign/engine';
import { DatabaseReading } from './database-reading.ts';
import { openPool } from './postgres-pool.ts';
import { readOnPostgres } from './postgres-store.ts';
import { SqliteSteps } from './sqlite-steps.ts';
import { statementsOf } from './statements.ts';

export type AuditSource = Pick<Store, 'read'>;

export type AuditVerdict =
  | { readonly user_id: string; readonly ok: true; readonly rows: number; readonly head: string }
  | {
      readonly user_id: string;
      readonly ok: false;
      /** The first row that is wrong or missing. */
      readonly seq: number;
      readonly problem: string;
    };

const rowsAtOnce = 500;

/** Everybody who has an audit log, in the order of their ids. */
export async function* auditedUsers(source: AuditSource): AsyncGenerator<string> {
  let user: string | undefined = '';
  for (;;) {
    const after: string = user;
    user = await source.read((tx) => (tx as DatabaseReading).nextAuditedUser(after));
    if (user === undefined) return;
    yield user;
  }
}

/**
 * Recomputes a person's chain (DA-4). Finds rows that were changed, removed, inserted or cut off at the end. Somebody who
 * can write the whole database can forge a whole chain; a witness, which is a head that a runner kept, reveals that.
 */
export async function verifyAudit(
  source: AuditSource,
  userId: string,
  witness?: string,
): Promise<AuditVerdict> {
  const broken = (seq: number, problem: string): AuditVerdict => ({
    user_id: userId,
    ok: false,
    seq,
    problem,
  });
  let seq = 0;
  let hash = auditGenesis;
  const kept = witness?.replace(/^\d+:/, ''); // runners keep `number:hash`
  let witnessed = kept === undefined || kept === auditGenesis;
  let atOnce = rowsAtOnce;
  for (;;) {
    // Start before number 1, to find inserted rows.
    const after = seq === 0 ? Number.MIN_SAFE_INTEGER : seq;
    const page = await source
      .read(function* (tx) {
        return { rows: yield* tx.audit(userId, after, atOnce), head: yield* tx.auditHead(userId) };
      })
      .catch(unreadable);
    if (page === undefined) {
      if (atOnce === 1) return broken(seq + 1, 'The row cannot be read.');
      atOnce = 1; // find out which row it is
      continue;
    }
    const { rows, head } = page;
    for (const row of rows) {
      if (row.seq <= 0) return broken(row.seq, 'The row was put in.');
      if (row.seq !== seq + 1) return broken(seq + 1, 'The row is missing.');
      if (row.previous_hash !== hash) return broken(row.seq, 'The row does not follow the one before it.');
      if (row.hash !== auditHash(row)) return broken(row.seq, 'The row was changed.');
      seq = row.seq;
      hash = row.hash;
      witnessed ||= hash === kept;
    }
    if (rows.length === atOnce) continue;
    if (head.seq > seq) return broken(seq + 1, `The end was cut off: there were ${head.seq} rows.`);
    if (head.seq < seq || head.hash !== hash) {
      return broken(head.seq + 1, 'The end is not the one that the store wrote.');
    }
    if (!witnessed) return broken(seq + 1, 'The chain does not contain the head that the witness kept.');
    return { user_id: userId, ok: true, rows: seq, head: hash };
  }
}

/** Invalid JSON in a row is a finding for the verdict; any other error is thrown. */
function unreadable(error: unknown): undefined {
  if (!(error instanceof SyntaxError)) throw error;
}

async function* auditRows(source: AuditSource, userId: string): AsyncGenerator<AuditRow> {
  let after = 0;
  for (;;) {
    const from = after;
    const rows = await source.read((tx) => tx.audit(userId, from, rowsAtOnce));
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

export type AuditFormat = 'ndjson' | 'csv';

const columns = ['user_id', 'seq', 'at', 'action', 'subject', 'data', 'previous_hash', 'hash'] as const;

/** The lines of an export, each with its line end. Times are milliseconds since 1970, as they were hashed. */
export async function* exportAudit(
  source: AuditSource,
  users: AsyncIterable<string> | Iterable<string>,
  format: AuditFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  for await (const user of users) {
    for await (const row of auditRows(source, user)) {
      yield format === 'csv' ? csvLine(row) : `${JSON.stringify(pick(row))}\n`;
    }
  }
}

const pick = (row: AuditRow): Record<string, unknown> =>
  Object.fromEntries(columns.map((column) => [column, row[column]]));

/** RFC 4180. A spreadsheet would run a cell that begins like a formula, so an apostrophe is put before it. */
const csvLine = (row: AuditRow): string =>
  `${columns
    .map((column) => {
      const text = column === 'data' ? JSON.stringify(row.data) : String(row[column]);
      const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
    })
    .join(',')}\r\n`;

export interface OpenAuditSource extends AuditSource {
  close(): Promise<void>;
}

/** Reads a database beside the server that owns it: no lock, no migration, nothing written. */
export function openAuditSource(database: string): OpenAuditSource {
  return /^postgres(ql)?:\/\//.test(database) ? overPostgres(database) : overSqlite(database);
}

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
