import type { Clock } from '@countersign/engine';

/** A clock that a test advances. Timers fire in order, and the work that they start gets time to finish. */
export class ManualClock implements Clock {
  #now = 0;
  #timers: { due: number; order: number; callback: () => void }[] = [];
  #order = 0;
  /** The wall clock time at the start; `now` moves with the monotonic time. */
  #epoch = Date.parse('2026-11-15T12:00:00Z');

  monotonic(): number {
    return this.#now;
  }

  /** Milliseconds since 1970, for a store. */
  readonly now = (): number => this.#epoch + this.#now;

  /** Sets the wall clock back; timers are not affected. */
  setBack(ms: number): void {
    this.#epoch -= ms;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, ms), order: this.#order++, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const next = this.#timers
        .filter(({ due }) => due <= end)
        .sort((a, b) => a.due - b.due || a.order - b.order)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.due);
      next.callback();
    }
    this.#now = end;
    await settle();
  }
}

/** More than the commits of any test here: SQLite takes a turn of the event loop for each. */
const turns = 100;

/** Runs everything that is ready: promises, then the event loop turns that they ask for. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
