import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedPart } from './changed-part.ts';

describe('changedPart', () => {
  it('is the least stretch', () => {
    expect(changedPart('one two three', 'one 2 three')).toEqual({ from: 4, to: 7, text: '2' });
    expect(changedPart('same', 'same')).toBeUndefined();
    expect(changedPart('', 'new')).toEqual({ from: 0, to: 0, text: 'new' });
    expect(changedPart('aa', 'aaa')).toEqual({ from: 2, to: 2, text: 'a' });
  });

  it('never begins or ends inside a character or a line ending', () => {
    expect(changedPart('a😀', 'a😁')).toEqual({ from: 1, to: 3, text: '😁' });
    expect(changedPart('a\r\nb', 'a\nb')).toEqual({ from: 1, to: 3, text: '\n' });
    expect(changedPart('a\nb', 'a\r\nb')).toEqual({ from: 1, to: 2, text: '\r\n' });
  });

  it('makes the one text of the other', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', '😀', '😁'), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const part = changedPart(before, after) ?? { from: 0, to: 0, text: '' };
        expect(before.slice(0, part.from) + part.text + before.slice(part.to)).toBe(after);
      }),
    );
  });
});
