import { describe, expect, it } from 'vitest';
import { UNKNOWN } from '../program/marks.ts';
import { echoOutput, printfOutput } from './program-output.ts';

describe('what echo and printf print', () => {
  it.each([
    [['a', 'b'], 'a b\n'],
    [['-n', 'a'], 'a'],
    [['-e', 'r\\x6d'], 'rm\n'],
    [['-ne', '\\0162m'], 'rm'],
    [['-eE', '\\x41'], '\\x41\n'],
    [['-x', 'a'], '-x a\n'],
  ])('echo %j', (words, text) => {
    expect(echoOutput(words)).toBe(text);
  });

  it.each([
    [['%s-%s\\n', 'a', 'b', 'c'], 'a-b\nc-\n'],
    [['--', '%s', 'a'], 'a'],
    [['%b', '\\162m'], 'rm'],
    [['%.2s', 'rmdir'], 'rm'],
    [['%c%c', 'rx', 'mx'], 'rm'],
    [['%d', '0x10'], '16'],
    [['%03o', '8'], '010'],
    [['%x', "'r"], '72'],
    [['%X', '255'], 'FF'],
    [['\\x72\\155'], 'rm'],
    [['\\u0072m'], 'rm'],
    [['100%%'], '100%'],
    [['%q', 'rm'], 'rm'],
    [['%d', 'x'], '0'],
    [['%s', UNKNOWN], UNKNOWN],
    [[UNKNOWN, 'a'], `${UNKNOWN}a`],
    [['%e', '1'], UNKNOWN],
    [['\\ufdd0'], '\uFFFD'],
  ])('printf %j', (words, text) => {
    expect(printfOutput(words)).toBe(text);
  });
});
