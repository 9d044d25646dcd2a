import type { Bus, Hint } from '@countersign/engine';

/** A bus within one process. `deaf` makes it lose every hint, as a network may. */
export class LocalBus implements Bus {
  readonly #listeners = new Set<(hint: Hint) => void>();
  deaf = false;

  publish(hint: Hint): void {
    if (this.deaf) return;
    for (const listener of this.#listeners) listener(hint);
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
