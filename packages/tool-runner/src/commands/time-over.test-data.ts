import { vi } from 'vitest';

/** The time of a call in seconds, which no other timer has. */
export const longTime = 299;

/** Ends the time of the next call with `longTime` as soon as something has happened, however slow the machine is. */
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
