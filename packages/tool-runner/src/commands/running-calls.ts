/** The calls of an executor that have not ended, so that they can all be cancelled when it is disposed of. */
export class RunningCalls {
  readonly #disposal = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  async track<T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = run(AbortSignal.any([signal, this.#disposal.signal]));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async cancelAll(): Promise<void> {
    this.#disposal.abort();
    await Promise.allSettled(this.#running);
  }
}
