import { vi } from 'vitest';

/**
 * Holds the clock by which long calls tell how far they are, and returns what lets it tick: then each call from here on
 * tells where it stands, or where it stood when it ended.
 */
export function progressTicks(): () => void {
  const ticks: (() => void)[] = [];
  const { setInterval, setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, 'setInterval');
  spy.mockImplementation(((callback: () => void, ms?: number, ...rest: []) => {
    if (ms !== 500) return setInterval(callback, ms, ...rest);
    ticks.push(callback);
    return setTimeout(() => {}, 0);
  }) as typeof setInterval);
  return () => {
    spy.mockRestore();
    for (const tick of ticks) tick();
  };
}
