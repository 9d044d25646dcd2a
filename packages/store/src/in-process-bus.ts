import type { Bus, Hint } from '@countersign/engine';

/** Passes hints on within one process, in order and at once. */
export class InProcessBus implements Bus {
  readonly #listeners = new Set<(hint: Hint) => void>();

  publish(hint: Hint): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(hint);
      } catch (error) {
        // An error of one listener must not stop the others or the store: rethrow it in a microtask.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    const own = (hint: Hint) => listener(hint);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
