import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findText } from './find-text.ts';

const everything = { overlapping: false, limit: Number.POSITIVE_INFINITY };
const someText = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 });
const wantedText = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 5 });

describe('findText', () => {
  it('finds what indexOf finds', () => {
    fc.assert(
      fc.property(someText, wantedText, fc.boolean(), (text, wanted, overlapping) => {
        const expected: number[] = [];
        const step = overlapping ? 1 : wanted.length;
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + step)) expected.push(at);
        expect(findText(text, wanted, { ...everything, overlapping })).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('stops at its limit', () => {
    expect(findText('aaaa', 'a', { overlapping: true, limit: 2 })).toEqual([0, 1]);
  });

  it('is quick where everything almost matches', () => {
    const text = 'a'.repeat(5_000_000);
    const wanted = `${'a'.repeat(20_000)}b${'a'.repeat(20_000)}`;
    const started = process.cpuUsage();
    expect(findText(text, wanted, everything)).toEqual([]);
    // For this text, indexOf took 55 s and findText 0.1 s.
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(30_000);
  });
});
