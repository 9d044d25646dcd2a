/** The client's clock. Same shape as the engine's, so tests of both use one fake. */
export interface Clock {
  /** Monotonic milliseconds. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** A longer timer would fire at once. */
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
