import { type Column, type ColumnKind, columnsOf, type Database } from '@countersign/engine';
import { type ExecutionStatus, executionStatuses, isFinal } from '@countersign/protocol';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Dialect } from './statements.ts';

/**
 * Brings a database up to date; does nothing if it already is. `name` is for error messages.
 *
 * Nothing has been released yet, so the first migration makes the tables as `columnsOf` lists them. After a release it
 * is frozen, and a change is a new migration.
 */
export async function migrate(db: Kysely<never>, dialect: Dialect, name = 'This database'): Promise<void> {
  const migrations = { '0001-first-tables': firstTables(dialect) };
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return requireColumns(db, name);
  const applied = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  const newer = applied.rows.map(({ name }) => name).filter((name) => !(name in migrations));
  throw newer.length > 0 ? databaseIsNewer(newer, error) : error;
}

/** The database was used by a newer version. Kysely calls it corrupted, but nothing is wrong with it. */
function databaseIsNewer(changes: readonly string[], cause: unknown): Error {
  const problem = `A newer version of Countersign has changed the tables of this database (${changes.join(', ')}).`;
  const remedy =
    'Nothing was touched. Start that version again, or restore the backup from before the upgrade.';
  return Object.assign(new Error(`${problem} ${remedy}`, { cause }), { code: 'DATABASE_IS_NEWER' });
}

/** Throws if columns are missing, as in a database from before the first release. Otherwise every request would fail. */
async function requireColumns(db: Kysely<never>, name: string): Promise<void> {
  const tables = await db.introspection.getTables();
  const there = new Set(
    tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`)),
  );
  const missing = Object.entries(columnsOf)
    .flatMap(([table, columns]) => Object.keys(columns).map((column) => `${table}.${column}`))
    .filter((column) => !there.has(column));
  if (missing.length === 0) return;
  const problem = `${name} was made by a development version of Countersign and lacks ${missing.length} columns (${missing[0]}, for example).`;
  const remedy = 'Nothing was touched. Move it away, or name another: one that is new is made at the start.';
  throw Object.assign(new Error(`${problem} ${remedy}`), { code: 'DATABASE_IS_OLDER' });
}

/** Queries write this list out as the index does; otherwise the database does not use the index. */
export const openStatuses: readonly ExecutionStatus[] = executionStatuses.filter(
  (status) => !isFinal(status),
);
const quoted = (values: readonly string[]) => sql.raw(values.map((value) => `'${value}'`).join(', '));
export const isOpen: RawBuilder<boolean> = sql`status in (${quoted(openStatuses)})`;
/**
 * The states of calls that ended without completing. Their index finds them without scanning the many completed calls.
 */
export const uncommonStatuses = executionStatuses.filter(
  (status) => isFinal(status) && status !== 'completed',
);
export const isUncommon: RawBuilder<boolean> = sql`status in (${quoted(uncommonStatuses)})`;
export const isRisky: RawBuilder<boolean> = sql`risk_level in ('MEDIUM', 'HIGH')`;

const primaryKeys: Readonly<Partial<Record<keyof Database, readonly string[]>>> = {
  events: ['user_id', 'id'],
  audit: ['user_id', 'seq'],
  counters: ['user_id'],
};

const pending = sql<boolean>`status = 'pending'`;
const running = sql<boolean>`status = 'running'`;

interface Index {
  readonly name: string;
  readonly table: keyof Database;
  readonly columns: readonly string[];
  readonly unique?: boolean;
  readonly where?: RawBuilder<boolean>;
  /** Only this database gets the index. SQLite finds old rows by row id instead. */
  readonly only?: Dialect;
}

/** An index for every query, so that a page of history costs the same at 10,000 rows and at 1,000,000. */
const indexes: readonly Index[] = [
  { name: 'projects_of_user', table: 'projects', columns: ['user_id', 'created_at', 'id'] },
  {
    name: 'sessions_of_project',
    table: 'sessions',
    columns: ['user_id', 'project_id', 'last_message_at', 'created_at', 'id'],
    where: sql`(opened_by is null or last_message_at is not null)`,
  },
  {
    name: 'sessions_of_token',
    table: 'sessions',
    columns: ['opened_by', 'user_id', 'project_id', 'created_at', 'id'],
    where: sql`opened_by is not null`,
  },
  { name: 'messages_of_session', table: 'messages', columns: ['session_id', 'position'], unique: true },
  { name: 'queue_of_session', table: 'queued_messages', columns: ['session_id', 'position'], unique: true },
  { name: 'runs_by_lease', table: 'runs', columns: ['lease_until'], where: running },
  { name: 'runs_of_session', table: 'runs', columns: ['session_id'], where: running },
  {
    name: 'executions_of_call',
    table: 'tool_executions',
    columns: ['run_id', 'step', 'call_index'],
    unique: true,
    where: sql`run_id is not null`,
  },
  {
    name: 'executions_open',
    table: 'tool_executions',
    columns: ['runner_id', 'user_id', 'status'],
    where: isOpen,
  },
  {
    name: 'executions_due',
    table: 'tool_executions',
    columns: ['due_at'],
    where: sql`due_at is not null and ${isOpen}`,
  },
  {
    name: 'executions_rejected',
    table: 'tool_executions',
    columns: ['params_digest', 'user_id'],
    where: sql`status = 'rejected'`,
  },
  history('history', []),
  history('history_of_project', ['project_id']),
  history('history_of_session', ['session_id']),
  history('history_of_tool', ['tool_name']),
  history('history_by_status', ['status'], isUncommon),
  history('history_by_risk', ['risk_level'], isRisky),
  { name: 'approvals_pending_of_user', table: 'approvals', columns: ['user_id'], where: pending },
  { name: 'approvals_pending_of_session', table: 'approvals', columns: ['session_id'], where: pending },
  { name: 'approvals_by_deadline', table: 'approvals', columns: ['deadline_at', 'id'], where: pending },
  { name: 'changes_of_session', table: 'file_changes', columns: ['session_id', 'created_at', 'id'] },
  { name: 'changes_of_run', table: 'file_changes', columns: ['run_id', 'created_at', 'id'] },
  {
    name: 'changes_by_age',
    table: 'file_changes',
    columns: ['created_at'],
    where: sql`diff is not null`,
    only: 'postgres',
  },
  { name: 'payloads_by_age', table: 'payloads', columns: ['created_at'], only: 'postgres' },
  { name: 'results_by_age', table: 'results', columns: ['created_at'], only: 'postgres' },
  {
    name: 'approvals_by_age',
    table: 'approvals',
    columns: ['created_at'],
    where: sql`preview is not null`,
    only: 'postgres',
  },
  { name: 'grants_of_project', table: 'grants', columns: ['user_id', 'project_id'] },
  { name: 'runners_of_user', table: 'runners', columns: ['user_id'] },
  { name: 'runners_by_sign_of_life', table: 'runners', columns: ['connected', 'last_seen_at'] },
  { name: 'tokens_of_user', table: 'tokens', columns: ['user_id'] },
  { name: 'bindings_by_end', table: 'runner_bindings', columns: ['expires_at'] },
];

function history(name: string, filter: readonly string[], where?: RawBuilder<boolean>): Index {
  const columns = ['user_id', ...filter, 'created_at', 'id'];
  return { name, table: 'tool_executions', columns, ...(where === undefined ? {} : { where }) };
}

function firstTables(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<never>) {
      for (const [table, columns] of Object.entries(columnsOf)) {
        const key = primaryKeys[table as keyof Database] ?? ['id'];
        let creation = db.schema.createTable(table).addPrimaryKeyConstraint(`${table}_key`, key as never[]);
        for (const [name, column] of Object.entries<Column>(columns)) {
          creation = creation.addColumn(name, columnType(column, dialect), (definition) =>
            column.nullable ? definition : definition.notNull(),
          );
        }
        if (dialect === 'sqlite') {
          // Store tables that are read by key ranges in the order of their key.
          creation = creation.modifyEnd(table in primaryKeys ? sql`strict, without rowid` : sql`strict`);
        }
        await creation.execute();
      }
      for (const { name, table, columns, unique, where, only } of indexes) {
        if (only !== undefined && only !== dialect) continue;
        let creation = db.schema
          .createIndex(name)
          .on(table)
          .columns(columns as string[]);
        if (unique === true) creation = creation.unique();
        if (where !== undefined) creation = creation.where(where);
        await creation.execute();
      }
      for (const statement of appendOnly(dialect)) await sql.raw(statement).execute(db);
    },
  };
}

function columnType({ kind }: Column, dialect: Dialect): RawBuilder<unknown> {
  const types: Readonly<Record<ColumnKind, string>> =
    dialect === 'sqlite'
      ? { text: 'text', integer: 'integer', number: 'real', boolean: 'integer', json: 'text' }
      : // Compare texts byte by byte, as SQLite does, so that paging by id works the same on both.
        {
          text: 'text collate "C"',
          integer: 'bigint',
          number: 'double precision',
          boolean: 'boolean',
          json: 'json',
        };
  return sql.raw(types[kind]);
}

/** Makes the audit log append-only (DA-4). The owner of the database can drop this; the hash chain reveals changes. */
function appendOnly(dialect: Dialect): readonly string[] {
  if (dialect === 'sqlite') {
    return ['update', 'delete'].map(
      (action) =>
        `create trigger audit_no_${action} before ${action} on audit begin select raise(abort, 'the audit log is append-only'); end`,
    );
  }
  return [
    `create function audit_append_only() returns trigger language plpgsql as $$
     begin raise exception 'the audit log is append-only'; end $$`,
    `create trigger audit_append_only before update or delete or truncate on audit
     for each statement execute function audit_append_only()`,
  ];
}
