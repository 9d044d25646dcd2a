/** The client's clock. Same shape as the engine's, so tests of both use one fake. */
export interface Clock {
  /** Monotonic milliseconds. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** The longest delay of setTimeout: a longer timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Waits for `ms`, or rejects with the signal's reason. Leaves no timer and no listener behind. */
export function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

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
