/** The thread behind `SqliteLongReads`: takes statements, answers with rows. */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

interface Question {
  readonly id: number;
  readonly sql: string;
  readonly values: readonly (null | string | number)[];
}

const database = new DatabaseSync((workerData as { path: string }).path, { readOnly: true, timeout: 5_000 });
const prepared = new Map<string, StatementSync>();

parentPort?.on('message', ({ id, sql, values }: Question) => {
  try {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statement.setReturnArrays(true);
      prepared.set(sql, statement);
    }
    const columns = statement.columns().map(({ name }) => name);
    parentPort?.postMessage({ id, columns, rows: statement.all(...values) });
  } catch (error) {
    parentPort?.postMessage({ id, problem: error instanceof Error ? error.message : String(error) });
  }
});
