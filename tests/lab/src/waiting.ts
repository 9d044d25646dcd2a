import { ApiError, type Clock } from '@countersign/client';

/** The product's clock with short pauses, so that reconnecting to a killed server does not take a second. */
export const quickClock: Clock = clockWithPauses(15);

/** The product's clock, with pauses between tries limited to `longestMs`. */
export function clockWithPauses(longestMs: number): Clock {
  return {
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms < 30_000 ? Math.min(ms, longestMs) : ms);
      return () => clearTimeout(timer);
    },
  };
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends until a response arrives, whatever it is, over kills and restarts. */
export async function untilAnswered<T>(send: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isRetryable || isOver()) throw error;
      await pause(15);
    }
  }
}

/** Only a busy machine needs this long, or a test that fails. */
const waitLimitMs = 120_000;

/** Checks repeatedly until `holds` is true; fails with the message of `otherwise`. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { within = waitLimitMs, otherwise }: { within?: number; otherwise: () => string | Promise<string> },
): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > within) throw new Error(await otherwise());
    await pause(10);
  }
}
