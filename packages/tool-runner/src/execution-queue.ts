import { ConcurrencyLimitError, ExecutionCancelled } from './runner-errors.ts';

/** Runs a limited number of calls at once; the others wait in order (EX-4). */
export class ExecutionQueue {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #waiting: { readonly id: string; readonly start: () => void }[] = [];
  #running = 0;

  constructor({ limit, maxWaiting }: { readonly limit: number; readonly maxWaiting: number }) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  get running(): number {
    return this.#running;
  }

  /** Ids of the waiting calls, next first. */
  get waiting(): readonly string[] {
    return this.#waiting.map(({ id }) => id);
  }

  /**
   * Runs the task when its turn comes. Throws ConcurrencyLimitError when too many wait, and ExecutionCancelled when
   * the signal is aborted before the task has begun; after that, the task itself checks the signal.
   */
  async run<T>(id: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    await this.#turn(id, signal);
    try {
      return await task();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.start();
    }
  }

  #turn(id: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) throw new ExecutionCancelled();
      if (this.#running < this.#limit && this.#waiting.length === 0) {
        this.#running += 1;
        return resolve();
      }
      if (this.#waiting.length >= this.#maxWaiting) throw new ConcurrencyLimitError(this.#maxWaiting);
      const cancel = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(new ExecutionCancelled());
      };
      const start = () => {
        signal.removeEventListener('abort', cancel);
        this.#running += 1;
        resolve();
      };
      const waiting = { id, start };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', cancel, { once: true });
    });
  }
}
