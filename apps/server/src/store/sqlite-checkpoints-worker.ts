/** The thread behind `SqliteCheckpoints`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const database = new DatabaseSync((workerData as { path: string }).path, { timeout: 5_000 });
// As the server's own connection: the log is on the disk before the database is changed, and that before it is reused.
database.exec('pragma synchronous = full');

parentPort?.on('message', () => {
  database.exec('pragma wal_checkpoint(passive)');
  parentPort?.postMessage('done');
});
