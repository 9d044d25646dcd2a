/** The thread behind `SqliteCheckpoints`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const database = new DatabaseSync((workerData as { path: string }).path, { timeout: 5_000 });
// Like the server's own connection: flush the log before the database changes, and the database before the log is reused.
database.exec('pragma synchronous = full');

parentPort?.on('message', () => {
  try {
    database.exec('pragma wal_checkpoint(passive)');
    parentPort?.postMessage('done');
  } catch (error) {
    // A full disk, for example. Commits are safe in the log, and the next check tries again.
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number };
    parentPort?.postMessage({ message, code, errcode });
  }
});
