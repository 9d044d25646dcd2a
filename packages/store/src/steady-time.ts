import os from 'node:os';

/** How far the system's uptime, which has hundredths of a second, may differ from the monotonic clock by itself. */
const toleranceMs = 1_000;

/**
 * Milliseconds since 1970 that never jump: read from the wall once, counted on the monotonic clock from there (AP-3).
 * Where a machine slept, the monotonic clock stood still and the uptime did not: the difference is added, so that a
 * laptop's records do not lag behind for ever.
 */
export function steadyTime(): () => number {
  const origin = Date.now() - performance.now();
  const awake = os.uptime() * 1_000 - performance.now();
  let slept = 0;
  let nextLook = 0;
  let last = 0;
  return () => {
    const elapsed = performance.now();
    if (elapsed >= nextLook) {
      nextLook = elapsed + toleranceMs;
      const asleep = os.uptime() * 1_000 - elapsed - awake;
      if (asleep - slept > toleranceMs) slept = asleep;
    }
    last = Math.max(last, Math.floor(origin + elapsed + slept));
    return last;
  };
}
