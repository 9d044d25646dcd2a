import { closeSync, openSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { storageFull } from './storage-failure.ts';

/** How long a statement waits for a lock of another connection. */
export const busyTimeoutMs = 5_000;

/** Commits between two checks of the log's size. */
const commitsBetweenLooks = 16;
/** The log is checkpointed once it has this many pages. */
const longLog = 1_000;
/** Where the log's index keeps the number of pages in it (sqlite.org/walformat.html, "mxFrame"). */
const pagesOffset = 16;

/**
 * Checkpoints the write-ahead log in a thread, so that nobody waits for it (PF-2). Then the main thread copies the few
 * pages that were added meanwhile and restarts the log at its beginning. Overwriting the log takes half as long to
 * flush as growing it, because the file system has no metadata to write.
 */
export class SqliteCheckpoints {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #onError: (error: unknown) => void;
  readonly #pages = new Uint32Array(1);
  #index: number | undefined;
  #commits = 0;
  #worker: Worker | undefined;
  #busy = false;

  constructor(database: DatabaseSync, path: string, onError: (error: unknown) => void) {
    this.#database = database;
    this.#path = path;
    this.#onError = onError;
  }

  /** Call after each commit. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits % commitsBetweenLooks !== 0) return;
    if (!this.#busy && this.#pagesInLog() > longLog) this.#requestCheckpoint();
  }

  /** Ends the thread. Call before the database is closed. */
  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Call after the database is closed: closing a file drops all locks that this process has on it. */
  close(): void {
    if (this.#index !== undefined) closeSync(this.#index);
    this.#index = undefined;
  }

  /** Reads the log's index. The file size does not help: a restarted log overwrites the old one. */
  #pagesInLog(): number {
    this.#index ??= openSync(`${this.#path}-shm`, 'r');
    readSync(this.#index, this.#pages, 0, 4, pagesOffset);
    return this.#pages[0] as number;
  }

  #requestCheckpoint(): void {
    this.#worker ??= this.#startWorker();
    this.#busy = true;
    this.#worker.postMessage('checkpoint');
  }

  #startWorker(): Worker {
    const program = new URL('./sqlite-checkpoints-worker.ts', import.meta.url);
    const worker = new Worker(program, { workerData: { path: this.#path } });
    worker.unref();
    worker.on('message', (answer: 'done' | { readonly message: string }) => {
      if (answer === 'done') this.#restartLog();
      else this.#failed(Object.assign(new Error(answer.message), answer));
    });
    // If the thread fails, the main thread copies the whole log.
    worker.once('error', (error) => {
      this.#onError(error);
      this.#worker = undefined;
      this.#restartLog();
    });
    return worker;
  }

  /** The log keeps growing; the next check tries again. */
  #failed(error: unknown): void {
    this.#busy = false;
    this.#onError(storageFull(error) ?? error);
  }

  /** Restarts the log. Does nothing while a reader uses an older state; the next check tries again. */
  #restartLog(): void {
    this.#busy = false;
    if (!this.#database.isOpen) return;
    try {
      this.#database.exec('pragma busy_timeout = 0; pragma wal_checkpoint(restart)');
    } catch (error) {
      this.#onError(storageFull(error) ?? error); // commits are safe in the log, which keeps growing
    } finally {
      this.#database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }
}
