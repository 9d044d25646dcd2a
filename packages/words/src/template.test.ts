import { describe, expect, it } from 'vitest';
import { fill, matchTemplate } from './template.ts';

describe('matchTemplate', () => {
  it.each([
    ['{a} and {b}', 'x and y', { a: 'x', b: 'y' }],
    ['"{a}": {b}', '"x": y: z', { a: 'x', b: 'y: z' }],
    ['{a} ({b})', 'one (two) (three)', { a: 'one', b: 'two) (three' }],
    ['run {a}, then {a}', 'run x, then x', { a: 'x' }],
    ['nothing to fill', 'nothing to fill', {}],
    ['{a}', '', { a: '' }],
  ])('reads what %s was filled with', (template, text, values) => {
    expect(matchTemplate(template, text)).toEqual(values);
    expect(fill(template, values)).toBe(text);
  });

  it.each([
    ['{a} and {b}', 'x or y'],
    ['run {a}, then {a}', 'run x, then y'],
    ['it is {a}.', 'it is x'],
    ['it is {a} it', 'it is it'],
    ['nothing to fill', 'nothing to fill?'],
  ])('refuses a text that %s cannot give', (template, text) => {
    expect(matchTemplate(template, text)).toBeUndefined();
  });
});
