import { vi } from 'vitest';

/** A timeout in seconds that no other timer has. */
export const longTime = 299;

/**
 * Makes the next call with the timeout `longTime` time out as soon as `hasHappened` is true, however slow the machine
 * is.
 */
export function timeIsOverOnce(hasHappened: () => boolean): void {
  const { setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, 'setTimeout');
  spy.mockImplementation(((callback: () => void, ms?: number, ...rest: []) => {
    if (ms !== longTime * 1_000) return setTimeout(callback, ms, ...rest);
    spy.mockRestore();
    const looking = setInterval(() => {
      if (!hasHappened()) return;
      clearInterval(looking);
      callback();
    }, 5);
    return looking;
  }) as typeof setTimeout);
}
