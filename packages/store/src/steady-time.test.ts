import os from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import { steadyTime } from './steady-time.ts';

afterEach(() => vi.restoreAllMocks());

/** A machine whose three clocks are set by hand, in milliseconds. */
function machine() {
  const clocks = { wall: 1_700_000_000_000, monotonic: 5_000, uptime: 90_000 };
  vi.spyOn(Date, 'now').mockImplementation(() => clocks.wall);
  vi.spyOn(performance, 'now').mockImplementation(() => clocks.monotonic);
  vi.spyOn(os, 'uptime').mockImplementation(() => clocks.uptime / 1_000);
  return clocks;
}

it('[AP-3] does not follow a wall clock that jumps', () => {
  const clocks = machine();
  const now = steadyTime();
  clocks.wall += 3_600_000;
  clocks.monotonic += 1_500;
  clocks.uptime += 1_500;
  expect(now()).toBe(1_700_000_001_500);
  clocks.wall -= 7_200_000;
  expect(now()).toBe(1_700_000_001_500);
});

it('[AP-3] catches up after the machine has slept', () => {
  const clocks = machine();
  const now = steadyTime();
  expect(now()).toBe(1_700_000_000_000);
  clocks.monotonic += 2_000;
  clocks.uptime += 2_000 + 3_600_000;
  expect(now()).toBe(1_700_003_602_000);
});
