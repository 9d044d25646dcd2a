import { describe, expect, it } from 'vitest';
import { nameFromDisk, toDiskPath } from './disk-names.ts';

describe('nameFromDisk', () => {
  it.each(['plain', 'café', '日本', '😀', ''])('leaves %s as it is', (name) => {
    expect(nameFromDisk(Buffer.from(name))).toBe(name);
    expect(toDiskPath(name)).toBe(name);
  });

  it.each([
    'caf\xe9',
    '\xff\xfe',
    'a\xe2\x82',
    '\xed\xa0\x80',
    '\xc3\xa9\xe9\xf0\x9f\x98\x80\xf0',
    '\x80\xbf',
  ])('loses no byte of %j', (latin1) => {
    const bytes = Buffer.from(latin1, 'latin1');
    const name = nameFromDisk(bytes);
    expect(name.isWellFormed()).toBe(false);
    expect(toDiskPath(`d/${name}`)).toEqual(Buffer.concat([Buffer.from('d/'), bytes]));
  });
});
