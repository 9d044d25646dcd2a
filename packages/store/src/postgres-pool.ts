import pg from 'pg';

/** bigint as a number: our counts and times are far below 2^53. Everything else as pg reads it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

export interface PoolOptions {
  readonly url: string;
  readonly name: string;
  readonly max: number;
  /** How long an answer is waited for; for ever unless told. */
  readonly queryTimeoutMs?: number | undefined;
}

export function connectionSettings(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    types,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    // A node that stands still in the middle of a unit must not keep others from its rows: they take over within 10 s.
    idle_in_transaction_session_timeout: 6_000,
    // Statements whose answer nobody waits for go out together, and COMMIT with them.
    pipeline: true,
  };
}

export function openPool({ url, name, max, queryTimeoutMs }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(url, name),
    max,
    idleTimeoutMillis: 60_000,
    // A database that stands still, or a machine that is gone without a word: its connection is given up.
    ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs }),
  });
  // A connection that breaks fails the query that uses it, or nobody: it must not end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
