import type { Bus, Hint } from '@countersign/engine';

/** Passes hints on within one process, in order and at once. */
export class InProcessBus implements Bus {
  readonly #listeners = new Set<(hint: Hint) => void>();

  publish(hint: Hint): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(hint);
      } catch (error) {
        // A mistake of one listener is not the next one's, nor the store's; it surfaces by itself.
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
