import { DatabaseSync } from 'node:sqlite';

/**
 * One server per file (DA-2). The lock is an exclusive transaction on a small file beside the database: the system
 * releases it when the process ends, however it ends, and unlike SQLite's own exclusive mode it leaves the database
 * readable for backups, `audit verify` and our own reading thread.
 */
export function lockDatabase(path: string): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    const problem = `The database "${path}" is in use by another Countersign server.`;
    const remedy =
      'Stop that one first, or give this one a file of its own. To sign in to that one: countersign serve --link';
    const error = new Error(`${problem} ${remedy}`, { cause });
    throw Object.assign(error, { code: 'DATABASE_IN_USE' }); // whoever started us may want to know
  }
  return () => {
    if (lock.isOpen) lock.close();
  };
}
