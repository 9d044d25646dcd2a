import type { Clock } from '../src/clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that moves only when a test says so. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    const target = this.#now + ms;
    for (let next = this.#nextUntil(target); next !== undefined; next = this.#nextUntil(target)) {
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = target;
  }

  /** Number of timers that are set; 0 means that none was left behind. */
  get pending(): number {
    return this.#timers.size;
  }

  /** When the next timer is due. */
  get next(): number {
    return Math.min(...[...this.#timers].map(({ at }) => at));
  }

  #nextUntil(target: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= target).sort((a, b) => a.at - b.at)[0];
  }
}
