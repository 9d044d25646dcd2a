import type { DatabaseSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';

/** Kysely over node:sqlite, for migrations. Closing it does not close the database. */
export function kyselyOverSqlite(database: DatabaseSync): Kysely<never> {
  return new Kysely({
    dialect: new SqliteDialect({
      database: {
        close: () => {},
        prepare(sql) {
          const statement = database.prepare(sql);
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => statement.all(...(parameters as never[])),
            run: (parameters) => statement.run(...(parameters as never[])),
            iterate: (parameters) => statement.iterate(...(parameters as never[])) as never,
          };
        },
      },
    }),
  });
}
