import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fillTables, placeholderMeanings, tables } from '../scripts/protocol-tables.ts';
import { TypeWords } from '../scripts/type-words.ts';
import { errorCodes } from './error-codes.ts';

const document = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');

describe('docs/protocol.md', () => {
  it.each(Object.keys(tables))('[TL-1] is in step with the code: table %s', (name) => {
    const region = (text: string) => text.split(`<!-- table:${name} -->`)[1]?.split('<!-- /table -->')[0];
    expect(
      region(document),
      'docs/protocol.md and the code differ. If the code is right, run: node packages/protocol/scripts/write-protocol-doc.ts',
    ).toBe(region(fillTables(document)));
  });

  it('documents every placeholder of an error message, and no other', () => {
    const used = Object.values(errorCodes).flatMap(({ message }) =>
      [...message.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    );
    expect([...new Set(used)].sort()).toEqual(Object.keys(placeholderMeanings).sort());
  });

  it('leaves no field of an event without a type', () => {
    expect(tables.events?.()).not.toMatch(/\| (undefined|object Object)? \|.*\|$/m);
  });
});

describe('fillTables', () => {
  it('says which tables there are when a region asks for another', () => {
    expect(() => fillTables('<!-- table:colours -->\n<!-- /table -->')).toThrow(
      'docs/protocol.md asks for the table "colours"; there are: events, shapes',
    );
  });

  it('says which region is missing', () => {
    expect(() => fillTables(document.replace('table:errors', 'was:errors'))).toThrow(
      'docs/protocol.md has no region for the table errors.',
    );
  });

  it('keeps what people wrote around the regions', () => {
    expect(fillTables(`${document}\nBy hand: $& $1`)).toMatch(/\nBy hand: \$& \$1$/);
  });
});

describe('TypeWords', () => {
  const name = z.string();
  const words = new TypeWords([[name, 'name']]);

  it.each([
    [z.string(), 'string'],
    [z.int(), 'integer'],
    [z.number(), 'number'],
    [z.boolean(), 'boolean'],
    [z.null(), 'null'],
    [z.unknown(), 'any JSON'],
    [z.iso.datetime(), 'time'],
    [z.enum(['a', 'b']), 'a \\| b'],
    [z.literal(true), 'true'],
    [z.int().nullable().optional(), 'integer or null'],
    [z.int().default(3), 'integer = 3'],
    [z.array(z.string()), 'string[]'],
    [z.array(z.string().nullable()), '(string or null)[]'],
    [z.record(z.string(), z.int()), 'object of integer'],
    [z.union([z.string(), z.int()]), 'string or integer'],
    [z.object({ a: z.int(), b: z.int().optional() }), '{a, b?}'],
    [z.object({}), '{}'],
    [name, 'name'],
    [name.describe('with another description'), 'name'],
  ])('says what a schema takes: %#', (schema, expected) => {
    expect(words.of(schema)).toBe(expected);
  });

  it('finds the meaning of a field behind what wraps it', () => {
    expect(words.fieldsOf(z.object({ a: z.int().describe('How many.').nullable().optional() }))).toEqual([
      { name: 'a', optional: true, type: 'integer or null', meaning: 'How many.' },
    ]);
  });
});
