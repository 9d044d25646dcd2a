/** The thread behind `SqliteCheckpoints`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const database = new DatabaseSync((workerData as { path: string }).path, { timeout: 5_000 });
// As the server's own connection: the log is on the disk before the database is changed, and that before it is reused.
database.exec('pragma synchronous = full');

parentPort?.on('message', () => {
  try {
    database.exec('pragma wal_checkpoint(passive)');
    parentPort?.postMessage('done');
  } catch (error) {
    // A full disk, for example. What was committed stands in the log, and the next look tries again.
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number };
    parentPort?.postMessage({ message, code, errcode });
  }
});
