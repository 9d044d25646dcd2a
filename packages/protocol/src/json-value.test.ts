import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonValueSchema } from './json-value.ts';

const takes = (value: unknown) => jsonValueSchema.safeParse(value).success;
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

describe('jsonValueSchema', () => {
  it.each([null, true, 0, -1.5, '', 'text', [], {}, { a: [1, { b: null }] }])('takes %j', (value) => {
    expect(jsonValueSchema.parse(value)).toEqual(value);
  });

  it.each([
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    () => 1,
    Symbol('s'),
    new Date(0),
    new Map(),
    [undefined],
    { a: { b: undefined } },
  ])('refuses what JSON has no word for: %s', (value) => {
    expect(takes(value)).toBe(false);
  });

  it('[RE-4] refuses deep nesting instead of overflowing the stack', () => {
    expect(takes(nested(200))).toBe(true);
    expect(takes(nested(202))).toBe(false);
    expect(takes(nested(100_000))).toBe(false);
  });

  it('refuses a value that contains itself', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(takes(circle)).toBe(false);
  });

  it('is required where it is a field', () => {
    expect(z.object({ result: jsonValueSchema }).safeParse({}).success).toBe(false);
  });

  it('[RE-4] refers to nothing in its JSON Schema', () => {
    expect(JSON.stringify(z.toJSONSchema(jsonValueSchema))).not.toContain('$ref');
  });
});
