import type { Clock } from './clock.ts';

/**
 * A signal that aborts when the caller's own does, or when the time is over. `release` lets go of both; without
 * it the timer stays, and the listener as long as the caller's signal.
 */
export class Deadline {
  readonly #own = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #tooLate: () => unknown;
  readonly #outer: AbortSignal | undefined;
  #cancelTimer: () => void = () => {};

  /** `tooLate` makes the reason with which the signal aborts when the time is over. */
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

  /** The whole time again, from now. */
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
