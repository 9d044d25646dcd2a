import { closeSync, openSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Commits between two looks at the log. */
const commitsBetweenLooks = 32;
/** The log is carried over into the database, in a thread, once it has this many pages. */
const longLog = 2_000;
/** While there is always something to write, the log never starts anew by itself: then everybody waits a moment. */
const tooLongLog = 16_000;
/** Where the log's index keeps the number of pages in it (sqlite.org/walformat.html, "mxFrame"). */
const pagesOffset = 16;

/** Carries the write-ahead log over into the database without anybody waiting for it (PF-2). */
export class SqliteCheckpoints {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #pages = new Uint32Array(1);
  #index: number | undefined;
  #commits = 0;
  #worker: Worker | undefined;
  #busy = false;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
  }

  /** After each commit. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits % commitsBetweenLooks !== 0) return;
    const pages = this.#pagesInLog();
    if (pages > tooLongLog) this.#database.exec('pragma wal_checkpoint(truncate)');
    else if (pages > longLog && !this.#busy) this.#ask();
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    if (this.#index !== undefined) closeSync(this.#index);
    this.#index = undefined;
  }

  /** The file's own size tells nothing: a log that starts anew is written over the old one. */
  #pagesInLog(): number {
    this.#index ??= openSync(`${this.#path}-shm`, 'r');
    readSync(this.#index, this.#pages, 0, 4, pagesOffset);
    return this.#pages[0] as number;
  }

  #ask(): void {
    this.#worker ??= this.#start();
    this.#busy = true;
    this.#worker.postMessage('checkpoint');
  }

  #start(): Worker {
    const program = new URL('./sqlite-checkpoints-worker.ts', import.meta.url);
    const worker = new Worker(program, { workerData: { path: this.#path } });
    worker.unref();
    worker.on('message', () => {
      this.#busy = false;
    });
    // Without its thread the log grows until it is too long, and is carried over here.
    worker.once('error', () => {
      this.#worker = undefined;
      this.#busy = false;
    });
    return worker;
  }
}
