import { describe, expect, it } from 'vitest';
import { checkedPattern, problemOfParams } from './parameter-schema.ts';

const object = (properties: object, more: object = {}) =>
  ({ type: 'object', properties, ...more }) as unknown as Record<string, never>;
const check = (schema: Record<string, never>, params: object) =>
  problemOfParams(schema, params as Record<string, never>);

describe('[RN-8] parameters are checked against the tool’s own schema', () => {
  const deploy = object(
    {
      environment: { type: 'string', enum: ['staging', 'production'] },
      skip_tests: { type: 'boolean' },
      replicas: { type: 'integer', minimum: 1, maximum: 9 },
      ratio: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      tags: { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1, maxItems: 2 },
      place: { type: ['string', 'null'], minLength: 2, pattern: '^[a-z]+$' },
    },
    { required: ['environment'], additionalProperties: false },
  );

  it.each([
    [{ environment: 'staging' }],
    [{ environment: 'production', skip_tests: true, replicas: 9, ratio: 0.5, tags: ['a', 'b'], place: 'ab' }],
    [{ environment: 'staging', place: null }],
  ])('takes %j', (params) => {
    expect(check(deploy, params)).toBeUndefined();
  });

  it.each([
    [{}, 'environment is missing'],
    [{ environment: 'moon' }, 'environment is not one of "staging", "production"'],
    [{ environment: 3 }, 'environment is not of type string'],
    [{ environment: 'staging', skip_tests: 'no' }, 'skip_tests is not of type boolean'],
    [{ environment: 'staging', replicas: 1.5 }, 'replicas is not of type integer'],
    [{ environment: 'staging', replicas: 0 }, 'replicas is less than 1'],
    [{ environment: 'staging', replicas: 10 }, 'replicas is more than 9'],
    [{ environment: 'staging', ratio: 0 }, 'ratio is not more than 0'],
    [{ environment: 'staging', ratio: 1 }, 'ratio is not less than 1'],
    [{ environment: 'staging', tags: [] }, 'tags has fewer than 1 items'],
    [{ environment: 'staging', tags: ['a', 'b', 'c'] }, 'tags has more than 2 items'],
    [{ environment: 'staging', tags: ['long'] }, 'tags[0] has more than 3 characters'],
    [{ environment: 'staging', place: 'a' }, 'place has fewer than 2 characters'],
    [{ environment: 'staging', place: 'A1' }, 'place does not match ^[a-z]+$'],
    [{ environment: 'staging', force: true }, /^force is not known; there are: environment, skip_tests/],
  ])('%j: %s', (params, problem) => {
    const found = check(deploy, params);
    if (typeof problem === 'string') expect(found).toBe(problem);
    else expect(found).toMatch(problem);
  });

  it('follows combinations, references into the schema and patterns of names', () => {
    const schema = object(
      {
        any: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        one: { oneOf: [{ type: 'number' }, { const: 3 }] },
        all: { allOf: [{ minimum: 2 }, { maximum: 4 }] },
        not: { not: { const: 'no' } },
        tree: { $ref: '#/$defs/node' },
        pair: { prefixItems: [{ type: 'string' }, { const: { a: 1 } }], items: false },
        never: false,
        escaped: { $ref: '#/$defs/a~1b' },
      },
      {
        $defs: {
          node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, value: { type: 'number' } } },
          'a/b': { type: 'string' },
        },
        patternProperties: { '^x-': { type: 'number' } },
        additionalProperties: { type: 'string' },
      },
    );
    const says = (params: object) => check(schema, params);
    expect(
      says({ any: 'a', one: 2, all: 3, not: 'yes', 'x-a': 1, other: 'text', escaped: 'a' }),
    ).toBeUndefined();
    expect(says({ tree: { next: { next: { value: 1 } } }, pair: ['a', { a: 1 }] })).toBeUndefined();
    expect(says({ any: true })).toBe('any fits none of what is allowed');
    expect(says({ one: 3 })).toBe('one does not fit exactly one of what is allowed');
    expect(says({ all: 5 })).toBe('all is more than 4');
    expect(says({ not: 'no' })).toBe('not is what it must not be');
    expect(says({ tree: { next: { value: 'x' } } })).toBe('tree.next.value is not of type number');
    expect(says({ pair: ['a', { a: 2 }] })).toBe('pair[1] is not {"a":1}');
    expect(says({ pair: ['a', { a: 1 }, 3] })).toBe('pair[2] is not allowed');
    expect(says({ never: 1 })).toBe('never is not allowed');
    expect(says({ 'x-a': 'text' })).toBe('x-a is not of type number');
    expect(says({ other: 3 })).toBe('other is not of type string');
  });

  it('requires nothing if a schema is empty or invalid', () => {
    for (const schema of [{}, { type: 'thing' }, { properties: 7, required: 'all', enum: 'x', allOf: {} }])
      expect(check(schema as never, { anything: 1 })).toBeUndefined();
    expect(check({ $ref: 'https://example.test/schema.json' } as never, { a: 1 })).toBeUndefined();
    expect(check({ properties: { a: { $ref: '#/nowhere/0' } } } as never, { a: 1 })).toBeUndefined();
  });

  it('treats names that every object inherits like any other name', () => {
    const schema = object({ a: { type: 'string' } }, { additionalProperties: false });
    expect(check(schema, JSON.parse('{"__proto__": 1}'))).toMatch(/^__proto__ is not known/);
    expect(check(schema, { constructor: 1 })).toMatch(/^constructor is not known/);
  });
});

describe('[RN-8] a hostile schema', () => {
  const quickly = (schema: object, params: object): string | undefined => {
    const started = process.cpuUsage();
    const problem = check(schema as never, params);
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
    return problem;
  };

  it('that refers to itself without end is not checked further', () => {
    const tooMuch = 'its schema takes too much work to check';
    expect(quickly({ $ref: '#' }, {})).toBe(tooMuch);
    expect(quickly({ allOf: [{ $ref: '#' }, { $ref: '#' }] }, {})).toBe(tooMuch);
    const doubling = {
      anyOf: Array.from({ length: 10 }, () => ({ $ref: '#/$defs/b' })),
      $defs: {} as object,
    };
    doubling.$defs = { b: { anyOf: Array.from({ length: 10 }, () => ({ $ref: '#' })), not: {} } };
    expect(quickly(doubling, {})).toBe(tooMuch);
  });

  it('whose pattern would never end is not matched at all', () => {
    const text = `${'a'.repeat(900)}!`;
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '(.*a){20}', 'a*a*a*a*b', '^(?=a+$)+x', '(a)\\1+$', '((']) {
      expect(quickly(object({ name: { type: 'string', pattern } }), { name: text })).toBeUndefined();
      expect(quickly({ patternProperties: { [pattern]: false } }, { [text]: 1 })).toBeUndefined();
    }
    expect(checkedPattern('a'.repeat(201))).toBeUndefined();
    expect(checkedPattern('^a*b*$')?.mayTry('a'.repeat(10_000))).toBe(false);
    expect(checkedPattern('^(?:ab)?[)+*]$')?.matches('ab+')).toBe(true);
    expect(checkedPattern('^\\d{2}$')?.matches('1')).toBe(false);
    expect(checkedPattern('^(?:staging|production|test)-[a-z0-9]+$')?.matches('test-1')).toBe(true);
  });

  it('whose pattern has too many ways to go, without repeating a group, is not matched either', () => {
    const text = 'a'.repeat(60);
    for (const pattern of [
      `${'(a|a)'.repeat(39)}b`,
      `${'a?'.repeat(60)}${'a'.repeat(60)}b`,
      `${'(?:a)?'.repeat(30)}b`,
    ])
      expect(quickly(object({ name: { type: 'string', pattern } }), { name: text })).toBeUndefined();
  });

  it('whose patterns and lengths are slow together is not checked further', () => {
    const tooMuch = 'its schema takes too much work to check';
    const names = Array.from({ length: 5_000 }, () => 'x'.repeat(900));
    const items = { type: 'string', pattern: '^x*x*y' };
    expect(quickly(object({ names: { items } }), { names: names.map((name) => `${name}y`) })).toBe(tooMuch);
    const twice = (of: string) => ({ allOf: [{ $ref: of }, { $ref: of }] });
    const levels = Object.fromEntries(
      Array.from({ length: 14 }, (_, i) => [`d${i}`, twice(`#/$defs/d${i + 1}`)]),
    );
    const schema = {
      ...twice('#/$defs/d0'),
      $defs: { ...levels, d14: { properties: { a: { minLength: 1 } } } },
    };
    expect(quickly(schema, { a: 'x'.repeat(99_000) })).toBe(tooMuch);
    const large = { a: Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`n${i}`, i])) };
    const choices = Array.from({ length: 5_000 }, () => ({ b: 1 }));
    expect(quickly(object({ a: { enum: choices } }), large)).toMatch(/is not one of/);
  });

  it('a choice is the same whatever the order of its names', () => {
    const choice = object({ a: { enum: [{ x: 1, y: [{ z: null }] }] } });
    expect(check(choice, { a: { y: [{ z: null }], x: 1 } })).toBeUndefined();
    for (const a of [{ x: 1 }, { x: 1, y: [{ z: 0 }] }, { x: 1, y: [] }, { x: 1, y: [{ z: null }], w: 1 }, 1])
      expect(check(choice, { a })).toMatch(/is not one of/);
  });

  it('that lists thousands of choices is bounded too', () => {
    const choices = Array.from({ length: 30_000 }, (_, i) => i);
    const both = { enum: choices.map(() => ({})), allOf: [{ enum: choices }] };
    expect(quickly(object({ a: both, b: both }), { a: 1, b: 1 })).toMatch(/is not one of|too much work/);
  });
});
