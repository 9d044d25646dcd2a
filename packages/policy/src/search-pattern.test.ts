import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemOfSearchPattern } from './search-pattern.ts';

describe('problemOfSearchPattern', () => {
  it.each([
    'TODO',
    'a|b',
    '(a+)+$',
    '(?i)foo',
    '[[:alpha:]]+',
    '[]x]',
    '[^]]',
    '\\(',
    '[\\]]',
    'x{2,3}',
    'привет',
    '(?P<n>a)',
  ])('%j can be used', (pattern) => {
    expect(problemOfSearchPattern(pattern)).toBeUndefined();
  });

  it.each([
    '(',
    ')',
    'a)',
    '[',
    '[a',
    '[[:alpha]',
    'a\\',
    'a\nb',
    'a\0b',
    'x'.repeat(1001),
    '('.repeat(51) + ')'.repeat(51),
  ])('%j cannot', (pattern) => {
    expect(problemOfSearchPattern(pattern)).toEqual(expect.any(String));
  });

  it('never crashes', () => {
    fc.assert(
      fc.property(fc.string(), (pattern) =>
        ['string', 'undefined'].includes(typeof problemOfSearchPattern(pattern)),
      ),
    );
  });
});
