/** Time as the engine sees it. In-process waiting uses monotonic time: a wall clock may jump (AP-3). */
export interface Clock {
  /** Milliseconds, never going back. */
  monotonic(): number;
  /** Calls back once after `ms`; the answer cancels it. Long delays do not keep a process alive by themselves. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
