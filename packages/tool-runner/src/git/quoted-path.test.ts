import { expect, it } from 'vitest';
import { pathText, unquotePath } from './quoted-path.ts';

it.each([
  ['plain name', 'plain name'],
  ['"', '"'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"\\a\\b\\t\\n\\v\\f\\r"', '\x07\b\t\n\v\f\r'],
  ['"\\303\\274"', 'ü'],
])('reads %j as git means it', (quoted, path) => {
  expect(unquotePath(quoted).toString('utf8')).toBe(path);
});

it('quotes a path that is not UTF-8, and reads it back', () => {
  const path = Buffer.from([0x61, 0xff, 0x22, 0x5c, 0x0a]);
  expect(pathText(path)).toBe('"a\\377\\"\\\\\\012"');
  expect(unquotePath(pathText(path))).toEqual(path);
});
