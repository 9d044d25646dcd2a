import { StorageFull } from '@countersign/engine';

/**
 * Write failures of SQLite, by extended code (https://sqlite.org/rescode.html). A full disk is not always SQLITE_FULL: a
 * quota, a limit on file sizes, or a log index that cannot grow is an I/O error.
 */
const sqliteCodes: ReadonlyMap<number, string> = new Map([
  [13, 'SQLITE_FULL'],
  [778, 'SQLITE_IOERR_WRITE'],
  [1034, 'SQLITE_IOERR_FSYNC'],
  [1290, 'SQLITE_IOERR_DIR_FSYNC'],
  [1546, 'SQLITE_IOERR_TRUNCATE'],
  [4618, 'SQLITE_IOERR_SHMOPEN'],
  [4874, 'SQLITE_IOERR_SHMSIZE'],
  [5386, 'SQLITE_IOERR_SHMMAP'],
]);

/** Write failures of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const postgresCodes: ReadonlyMap<string, string> = new Map([
  ['53100', 'disk_full'],
  ['53000', 'insufficient_resources'],
  ['53200', 'out_of_memory'],
  ['53400', 'configuration_limit_exceeded'],
  ['58030', 'io_error'],
  // Hosted databases become read-only when their disk is full.
  ['25006', 'read_only_sql_transaction'],
]);

/** Returns the failure as `StorageFull` if the storage has no room or refuses writes; undefined for any other failure. */
export function storageFull(error: unknown): StorageFull | undefined {
  if (error instanceof StorageFull) return error;
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  const sqlite = code === 'ERR_SQLITE_ERROR' ? sqliteCodes.get(errcode as number) : undefined;
  const postgres = postgresCodes.get(String(code));
  const isOfFile = code === 'ENOSPC' || code === 'EDQUOT';
  if (sqlite === undefined && postgres === undefined && !isOfFile) return undefined;
  const problem = `${(error as Error).message} (${sqlite ?? postgres ?? code})`;
  const remedy =
    postgres === undefined
      ? 'Free space on the disk of the database file'
      : 'Free space, or what else it lacks, on the machine of the PostgreSQL server';
  return new StorageFull({ problem, remedy }, { cause: error });
}
