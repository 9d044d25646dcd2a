import os from 'node:os';

/** How far the system's uptime may differ from the monotonic clock without a sleep. */
const toleranceMs = 1_000;

/**
 * Milliseconds since 1970 that never jump back: the wall clock at start plus the monotonic clock (AP-3). While a machine
 * sleeps, the monotonic clock stops and the uptime does not: the difference is added, so that a laptop's times do not
 * fall behind.
 */
export function steadyTime(): () => number {
  const origin = Date.now() - performance.now();
  const uptimeAtStart = os.uptime() * 1_000 - performance.now();
  let slept = 0;
  let nextCheck = 0;
  let last = 0;
  return () => {
    const elapsed = performance.now();
    if (elapsed >= nextCheck) {
      nextCheck = elapsed + toleranceMs;
      const measured = os.uptime() * 1_000 - elapsed - uptimeAtStart;
      if (measured - slept > toleranceMs) slept = measured;
    }
    last = Math.max(last, Math.floor(origin + elapsed + slept));
    return last;
  };
}
