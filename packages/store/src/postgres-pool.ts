import pg from 'pg';

/** Reads bigint as a number: our counts and times are far below 2^53. */
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
  /** Longest wait for a query's result; undefined: no limit. */
  readonly queryTimeoutMs?: number | undefined;
}

export function connectionSettings(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    types,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    // A node that stalls in the middle of a unit must not lock its rows for long: others take over within 10 s.
    idle_in_transaction_session_timeout: 6_000,
    // Unawaited statements are sent together with the COMMIT.
    pipeline: true,
  };
}

export function openPool({ url, name, max, queryTimeoutMs }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(url, name),
    max,
    idleTimeoutMillis: 60_000,
    // Give up the connection if the database stalls or its machine is gone.
    ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs }),
  });
  // An error of an idle connection must not crash the process; a query in progress gets the error itself.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
