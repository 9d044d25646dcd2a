import { vi } from 'vitest';

/**
 * Holds back the interval at which long calls report progress. Returns a function that fires it once: each call started
 * since then reports its progress, or the last one if it has ended.
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
