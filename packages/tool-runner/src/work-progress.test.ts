import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Progress } from './executor.ts';
import { BytesDone, tellProgress } from './work-progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('[EV-1] tells nothing of work that ends soon, then twice a second what is new (founding documents: tool-system)', async () => {
  const told: Progress[] = [];
  let message: string | undefined;
  let end = (): void => {};
  const describe = (): Progress | undefined => (message === undefined ? undefined : { message });
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  const done = tellProgress({ report: (progress) => told.push(progress), describe }, () => work);
  vi.advanceTimersByTime(500);
  message = 'one';
  vi.advanceTimersByTime(499);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([{ message: 'one' }]);
  vi.advanceTimersByTime(5_000);
  message = 'two';
  vi.advanceTimersByTime(500);
  expect(told).toEqual([{ message: 'one' }, { message: 'two' }]);
  message = 'three';
  end();
  await done;
  vi.advanceTimersByTime(5_000);
  expect([told.length, vi.getTimerCount()]).toEqual([2, 0]);
});

it('stops telling when the work fails', async () => {
  const failing = tellProgress({ report: () => {}, describe: () => undefined }, async () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
});

it('counts bytes', () => {
  const read = new BytesDone('read');
  expect([read.isBegun, read.part]).toEqual([false, 0]);
  read.note(2_500_000, 10_000_000);
  expect([read.isBegun, read.part, read.message]).toEqual([true, 0.25, '2.5 of 10.0 MB read']);
});
