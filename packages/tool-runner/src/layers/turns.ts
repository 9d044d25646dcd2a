import { setImmediate } from 'node:timers/promises';

/** Milliseconds after which long work gives way to the rest of the runner. */
const turnMs = 15;

/** Cuts long work into turns, so that it does not block the event loop. */
export class Turns {
  #startedAt = performance.now();

  /** Call this between small steps. */
  async next(): Promise<void> {
    if (performance.now() - this.#startedAt < turnMs) return;
    await setImmediate();
    this.#startedAt = performance.now();
  }
}
