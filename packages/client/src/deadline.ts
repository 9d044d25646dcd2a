import type { Clock } from './clock.ts';

/**
 * A signal that aborts with the caller's own signal or when the time is over. Call `release` to remove the timer and
 * the listener.
 */
export class Deadline {
  readonly #own = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #tooLate: () => unknown;
  readonly #outer: AbortSignal | undefined;
  #cancelTimer: () => void = () => {};

  /** `tooLate` creates the abort reason for when the time is over. */
  constructor(clock: Clock, ms: number, tooLate: () => unknown, outer: AbortSignal | undefined) {
    this.#clock = clock;
    this.#ms = ms;
    this.#tooLate = tooLate;
    this.#outer = outer;
    this.extend();
    outer?.addEventListener('abort', this.#stop, { once: true });
    if (outer?.aborted) this.#stop();
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** Restarts the full time from now. */
  extend(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(this.#ms, () => this.#own.abort(this.#tooLate()));
  }

  release(): void {
    this.#cancelTimer();
    this.#outer?.removeEventListener('abort', this.#stop);
  }

  readonly #stop = () => this.#own.abort(this.#outer?.reason);
}
