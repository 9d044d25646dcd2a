import { describe, expect, it } from 'vitest';
import { inLineEndingOf, lineEndingNear, lineEndingOf, lineEndingsIn } from './line-endings.ts';

describe('[RN-3] line endings', () => {
  it('are told where a text has one kind', () => {
    expect(
      ['a\nb\n', 'a\r\nb\r\n', 'a\r\nb', 'a\nb\r\n', 'a\r\nb\n', 'ab', '', '\n', 'a\rb'].map(lineEndingOf),
    ).toEqual(['\n', '\r\n', '\r\n', undefined, undefined, undefined, undefined, '\n', undefined]);
    expect(lineEndingsIn('a\r\nb\nc')).toEqual(['\r\n', '\n']);
  });

  it('are those of the line a position is in, or of the line before the last', () => {
    const text = 'a\r\nb\nc';
    expect([0, 3, 5].map((position) => lineEndingNear(text, position))).toEqual(['\r\n', '\n', '\n']);
    expect(lineEndingNear('one line', 3)).toBe('\n');
  });

  it('of a file with CRLF are given to a text without', () => {
    expect(inLineEndingOf('a\r\n', 'x\ny')).toBe('x\r\ny');
    expect(inLineEndingOf('a\r\n', 'x\r\ny\n')).toBe('x\r\ny\n');
    expect(inLineEndingOf('a\r\nb\n', 'x\n')).toBe('x\n');
    expect(inLineEndingOf('a\n', 'x\r\n')).toBe('x\r\n');
  });
});
