import { Worker } from 'node:worker_threads';
import { SqliteRows } from './sqlite-steps.ts';
import type { Step, StepResult } from './statements.ts';

type Answer =
  | {
      readonly id: number;
      readonly columns: readonly string[];
      readonly rows: readonly (readonly unknown[])[];
    }
  | { readonly id: number; readonly problem: string };

interface Waiting {
  readonly step: Step;
  readonly resolve: (result: StepResult) => void;
  readonly reject: (error: Error) => void;
}

/** Runs long statements in a thread with its own connection, so that nobody else waits for them (PF-2). */
export class SqliteLongReads {
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #asked = 0;

  constructor(path: string) {
    this.#path = path;
  }

  run(step: Step): Promise<StepResult> {
    const worker = this.#start();
    return new Promise((resolve, reject) => {
      this.#asked += 1;
      this.#waiting.set(this.#asked, { step, resolve, reject });
      worker.ref();
      worker.postMessage({ id: this.#asked, sql: step.statement.sql, values: step.values });
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Starts the thread when it is first needed: most servers never run a long statement. */
  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const program = new URL('./sqlite-long-reads-worker.ts', import.meta.url);
    const worker = new Worker(program, { workerData: { path: this.#path } });
    worker.on('message', (answer: Answer) => this.#take(worker, answer));
    worker.once('error', (error) => this.#lost(error));
    worker.once('exit', () => this.#lost(new Error('The store is closed.')));
    this.#worker = worker;
    return worker;
  }

  #take(worker: Worker, answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) worker.unref(); // an idle thread must not keep the process alive
    if (waiting === undefined) return;
    if ('problem' in answer) {
      waiting.reject(new Error(answer.problem));
      return;
    }
    const rows = new SqliteRows(answer.columns, waiting.step.statement);
    waiting.resolve({ rows: answer.rows.map((cells) => rows.read(cells)), changes: 0 });
  }

  #lost(error: Error): void {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
