import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { globOfPath, parseGlob } from './glob.ts';

const matches = (pattern: string, path: string): boolean => {
  const parsed = parseGlob(pattern);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.glob.matches(path);
};

describe('parseGlob', () => {
  it.each([
    ['*.ts', 'src/app.ts', true],
    ['*.ts', 'src/app.js', false],
    ['src/*.ts', 'src/app.ts', true],
    ['src/*.ts', 'src/deep/app.ts', false],
    ['src/**', 'src/deep/app.ts', true],
    ['src/**', 'src', true],
    ['**/*.test.ts', 'a/b/c.test.ts', true],
    ['**/*.test.ts', 'c.test.ts', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[', '[', true],
    ['{a,b}/*.md', 'b/x.md', true],
    ['*.{ts,tsx}', 'x.tsx', true],
    ['{a', '{a', true],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['./src/*.ts', 'src/a.ts', true],
    ['./a.ts', 'a.ts', true],
    ['./a.ts', 'src/a.ts', false],
    ['docs/', 'docs', true],
    ['*', '.env', true],
    ['größe.*', 'größe.md', true],
  ])('%j on %j is %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  it('refuses what is too long, has a NUL, or explodes into alternatives', () => {
    expect(parseGlob('x'.repeat(1001)).ok).toBe(false);
    expect(parseGlob('a\0b').ok).toBe(false);
    expect(parseGlob('{a,b}'.repeat(10)).ok).toBe(false);
  });

  it('is not stalled by patterns that make backtracking matchers explode', () => {
    expect(matches('a*'.repeat(400), `${'a'.repeat(4000)}b`)).toBe(true);
    expect(matches(`${'*a'.repeat(400)}c`, 'a'.repeat(4000))).toBe(false);
    expect(matches(`${'**/'.repeat(300)}x`, `${'a/'.repeat(2000)}y`)).toBe(false);
  });

  it('is quick for the longest patterns and names', () => {
    const started = process.cpuUsage();
    for (let i = 0; i < 40; i++) {
      expect(matches(`*${'a'.repeat(990)}b`, 'a'.repeat(4000))).toBe(false);
      expect(matches(`*${'a'.repeat(900)}?[a-c]`, 'a'.repeat(4000))).toBe(true);
    }
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(1_000);
  });

  it('means the same for long names as for short ones', () => {
    const part = fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]');
    const pattern = fc.array(part, { maxLength: 12 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 });
    const long = 'x'.repeat(70);
    fc.assert(
      fc.property(pattern, text, (parts, name) => {
        const short = matches(`n/${parts.join('')}`, `n/${name}`);
        return short === matches(`n/${long}${parts.join('')}`, `n/${long}${name}`);
      }),
      { numRuns: 500 },
    );
  });

  it('never crashes, and a text without special characters matches itself', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (pattern, path) => {
        const parsed = parseGlob(pattern);
        return !parsed.ok || typeof parsed.glob.matches(path) === 'boolean';
      }),
    );
    fc.assert(fc.property(fc.stringMatching(/^[a-z0-9_-]{1,20}$/), (name) => matches(name, `x/${name}`)));
  });
});

describe('globOfPath', () => {
  it.each([
    'config.json',
    'src/[a-z]*.ts',
    '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.md',
    'a\\*b',
    '**',
    '**/x',
    'a]b}',
    'ends\\',
  ])('[AP-4] %j matches itself and nothing else', (path) => {
    expect(matches(globOfPath(path), path)).toBe(true);
    for (const other of [`deep/${path}`, 'src/index.ts', 'aaaaaaa.md', 'ab', 'x', `${path}x`])
      expect([other, matches(globOfPath(path), other)]).toEqual([other, false]);
  });

  it('[AP-4] holds for any two paths', () => {
    const name = fc.string({ unit: fc.constantFrom(...'ab*?[]{},!-^\\.'), minLength: 1, maxLength: 6 });
    const path = fc
      .array(
        name.filter((text) => text !== '.'),
        { minLength: 1, maxLength: 3 },
      )
      .map((names) => names.join('/'));
    fc.assert(fc.property(path, path, (a, b) => matches(globOfPath(a), b) === (a === b)));
  });
});
