import { DatabaseSync } from 'node:sqlite';

export const historyOwner = 'ada';

/** The columns of a call as SQL expressions of its index `n` in the history. Most calls complete. */
const columns: Readonly<Record<string, string>> = {
  id: "printf('%012x-7000-8000-%012x', n, n)",
  user_id: `case when n % 10 = 9 then 'grace' else '${historyOwner}' end`,
  project_id: "'project-' || (n % 3)",
  session_id: "'session-' || (n % 40)",
  tool_call_id: "'call_' || n",
  requested_by: "'token-' || (n % 2)",
  tool_name:
    "case when n % 7 = 0 then 'write_file' when n % 7 < 5 then 'read_file' else 'execute_command' end",
  tool_params: `'{"path":"src/some/file-' || (n % 1000) || '.ts"}'`,
  params_digest: "'sha256:' || hex(randomblob(32))",
  status: "case when n % 50 = 3 then 'failed' when n % 50 = 4 then 'rejected' else 'completed' end",
  risk_level: "case when n % 60 = 0 then 'HIGH' when n % 7 = 0 then 'MEDIUM' else 'LOW' end",
  reasons: "'[]'",
  network: '0',
  requires_approval: '0',
  attempt: '1',
  cancel_requested: '0',
  undoable: '0',
  execution_time_ms: 'n % 300 + 0.5',
  created_at: 'n',
  completed_at: 'n + 5',
};

/** Fills the table of calls directly in one transaction, and creates indexes afterwards, which is faster. */
export function seedHistory(path: string, rows: number): void {
  const database = new DatabaseSync(path);
  const indexes = database
    .prepare(
      "select name, sql from sqlite_master where tbl_name = 'tool_executions' and type = 'index' and sql is not null",
    )
    .all() as { name: string; sql: string }[];
  database.exec('pragma synchronous = off; begin');
  for (const { name } of indexes) database.exec(`drop index ${name}`);
  database.exec(`
    with recursive places(n) as (select 1 union all select n + 1 from places where n < ${rows})
    insert into tool_executions (${Object.keys(columns)}) select ${Object.values(columns)} from places`);
  for (const { sql } of indexes) database.exec(sql);
  database.exec('commit; pragma wal_checkpoint(truncate)');
  database.close();
}
