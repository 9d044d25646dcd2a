import { ApiError, type Clock } from '@countersign/client';

/** The product's own clock with short pauses: who reconnects to a server that was killed need not wait a second. */
export const quickClock: Clock = clockWithPauses(15);

/** The product's own clock, with no pause before the next try longer than this. */
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

/** Sends until somebody answers, whatever the answer is: over a kill and a restart. */
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

/** What comes, comes at once. This long is only waited on a machine that does much else, or for what never comes. */
const eventuallyMs = 120_000;

/** Looks again and again, and fails with what was seen last. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { within = eventuallyMs, otherwise }: { within?: number; otherwise: () => string | Promise<string> },
): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > within) throw new Error(await otherwise());
    await pause(10);
  }
}
