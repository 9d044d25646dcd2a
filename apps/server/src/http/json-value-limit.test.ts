import { expect, it } from 'vitest';
import { exceedsJsonValueLimit } from './request-guard.ts';

/** The number of values that JSON.parse makes, lists and objects included. */
const countOf = (value: unknown): number =>
  value === null || typeof value !== 'object'
    ? 1
    : Object.values(value).reduce<number>((sum, inner) => sum + countOf(inner), 1);

it.each([
  '1',
  '"a,b[c{d"',
  '"\\",\\\\"',
  '["\\\\", "\\\\\\"", ","]',
  '{"a,\\"b": [1, 2, {"c": [[], {}, null]}], "d\\\\": ",,,,"}',
  JSON.stringify({ text: 'x,y\\"[{'.repeat(1000) }),
])('[RE-4] never accepts more values than the limit, and does not count inside strings: %s', (json) => {
  const count = countOf(JSON.parse(json));
  expect(exceedsJsonValueLimit(json, 2 * count)).toBe(false);
  const list = `[${Array.from({ length: 100 }, () => json).join(',')}]`;
  expect(exceedsJsonValueLimit(list, 50)).toBe(true);
});

it('[RE-4] ends with what never ends', () => {
  expect(exceedsJsonValueLimit('["abc', 10)).toBe(false);
  expect(exceedsJsonValueLimit('"\\', 10)).toBe(false);
  expect(exceedsJsonValueLimit('['.repeat(1_000_000), 10)).toBe(true);
});
