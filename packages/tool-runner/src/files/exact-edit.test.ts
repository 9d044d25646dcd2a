import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdit } from './exact-edit.ts';

const edit = (text: string, old: string, renewed: string, all = false) =>
  applyEdit(text, { old, new: renewed, all });

describe('[RN-3] applyEdit', () => {
  it.each([
    ['a piece of a line', 'one two', 'two', 'three', 'one three'],
    ['dollar signs as they are', 'a', 'a', '$& $1 $$', '$& $1 $$'],
    ['to nothing', 'one two', ' two', '', 'one'],
    ['lines that end in CRLF, given with LF', 'a\r\nb\r\nc\r\n', 'a\nb\n', 'x\ny\n', 'x\r\ny\r\nc\r\n'],
    ['with more lines than before', 'a\r\nb\r\n', 'a\nb', '1\n2\n3', '1\r\n2\r\n3\r\n'],
    ['with lines where there was none', 'a b\r\nc\r\n', ' ', '\n', 'a\r\nb\r\nc\r\n'],
    ['beginning at the end of a line', 'a\r\nb\r\n', '\nb', '\nx', 'a\r\nx\r\n'],
    ['mixed endings, each kept', 'a\r\nb\nc\r\nd\n', 'b\nc\nd', 'B\nC\nD', 'a\r\nB\nC\r\nD\n'],
    ['around which the endings differ', 'a\r\nb\nc', 'c', 'x\ny', 'a\r\nb\nx\ny'],
    ['CRLF to LF when it is said', 'a\r\nb\r\n', 'a\r\n', 'a\n', 'a\nb\r\n'],
    ['LF to CRLF when it is said', 'a\nb\n', 'a\n', 'a\r\n', 'a\r\nb\n'],
  ])('replaces %s', (_name, text, old, renewed, expected) => {
    expect(edit(text, old, renewed)).toEqual({ text: expected });
  });

  it('says how often the old text occurs when it is not once', () => {
    expect(edit('abc', 'x', 'y')).toEqual({ occurrences: 0 });
    expect(edit('abc', 'x', 'y', true)).toEqual({ occurrences: 0 });
    expect(edit('a b a b a', 'a', 'y')).toEqual({ occurrences: 3 });
    expect(edit('a\r\nb a\nb', 'a\nb', 'y')).toEqual({ occurrences: 2 });
    expect(edit('a\nb', 'a\r\nb', 'y')).toEqual({ occurrences: 0 });
    expect(edit('x'.repeat(5_000), 'x', 'y')).toEqual({ occurrences: 1_000 });
  });

  it('counts occurrences that overlap: which one is meant?', () => {
    expect(edit('aaa', 'aa', 'b')).toEqual({ occurrences: 2 });
    expect(edit('\r\n\r\n\r\n', '\n\n', '\n')).toEqual({ occurrences: 2 });
    expect(edit('aaa', 'aa', 'b', true)).toEqual({ text: 'ba' });
  });

  it('replaces all, each with the endings of its own place', () => {
    expect(edit('a\r\nb a\nb', 'a\nb', 'x\ny', true)).toEqual({ text: 'x\r\ny x\ny' });
  });

  it('does not fill the memory with a million replacements', () => {
    expect(edit('x'.repeat(1_000_001), 'x', 'yy', true)).toEqual({ occurrences: 1_000_000 });
  });

  const ending = fc.constantFrom('\n', '\r\n');
  const lines = fc.array(
    fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b', 'ü'), maxLength: 3 }), ending),
    {
      maxLength: 12,
    },
  );

  it('keeps every line ending of a text that is edited with LF alone', () => {
    fc.assert(
      fc.property(lines, lines, lines, (before, middle, after) => {
        const join = (parts: readonly (readonly [string, string])[]) =>
          parts.map((part) => part.join('')).join('');
        const marked = [['<', ''], ...middle, ['>', '']] as const;
        const text = join(before) + join(marked) + join(after);
        const old = join(marked).replaceAll('\r\n', '\n');
        const renewed = old.replace('<', '[').replace('>', ']').replaceAll('a', 'A');
        expect(edit(text, old, renewed)).toEqual({
          text:
            join(before) +
            join(marked).replace('<', '[').replace('>', ']').replaceAll('a', 'A') +
            join(after),
        });
      }),
    );
  });

  it('there and back again gives the same text', () => {
    fc.assert(
      fc.property(lines, fc.nat(40), fc.nat(10), (parts, from, length) => {
        const text = parts.map((part) => part.join('')).join('');
        const plain = text.replaceAll('\r\n', '\n');
        const old = plain.slice(from, from + length);
        if (old === '') return;
        const renewed = `<${old}>`;
        const there = edit(text, old, renewed);
        if (!('text' in there)) return;
        expect(edit(there.text, renewed, old)).toEqual({ text });
      }),
    );
  });

  it('is what replaceAll does where no line ends in CRLF', () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 30 });
    fc.assert(
      fc.property(plain, plain, plain, (text, old, renewed) => {
        if (old === '' || !text.includes(old)) return;
        expect(edit(text, old, renewed, true)).toEqual({ text: text.replaceAll(old, () => renewed) });
      }),
    );
  });
});
