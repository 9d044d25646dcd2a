import { ManualClock } from '@countersign/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deadlines } from './waiting.ts';

describe('Deadlines', () => {
  it('[AP-3] fires each once, in order, in monotonic time', async () => {
    const clock = new ManualClock();
    const due: [string, number][] = [];
    const deadlines = new Deadlines(clock, (id) => due.push([id, clock.monotonic()]));
    deadlines.set('late', 300);
    deadlines.set('soon', 100);
    deadlines.set('never', 200);
    deadlines.set('moved', 50);
    deadlines.clear('never');
    deadlines.set('moved', 400);
    await clock.advance(1_000);
    expect(due).toEqual([
      ['soon', 100],
      ['late', 300],
      ['moved', 400],
    ]);
    expect(deadlines.has('late')).toBe(false);
  });

  it('fires nothing after it was closed, and closing twice is harmless', async () => {
    const clock = new ManualClock();
    const due: string[] = [];
    const deadlines = new Deadlines(clock, (id) => due.push(id));
    deadlines.set('a', 10);
    deadlines.close();
    deadlines.close();
    await clock.advance(100);
    expect(due).toEqual([]);
  });

  it('keeps the order of any set of delays', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1000), { maxLength: 60 }), async (delays) => {
        const clock = new ManualClock();
        const due: number[] = [];
        const deadlines = new Deadlines(clock, (id) => due.push(delays[Number(id)] as number));
        delays.forEach((delay, i) => {
          deadlines.set(String(i), delay);
        });
        await clock.advance(1000);
        expect(due).toEqual([...delays].sort((a, b) => a - b));
      }),
      { numRuns: 30 },
    );
  });
});
