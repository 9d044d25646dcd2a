import { describe, expect, it } from 'vitest';
import { TextLines } from './character-position.ts';

describe('[TL-2] TextLines', () => {
  const lines = new TextLines('a😀b\r\n\u2028x\rlast');

  it('splits where the protocol does', () => {
    expect([lines.count, lines.line(1), lines.line(2), lines.line(3), lines.line(4), lines.line(0)]).toEqual([
      3,
      'a😀b',
      '\u2028x',
      'last',
      undefined,
      undefined,
    ]);
  });

  it('counts an emoji as one character, and as two units for a server that counts UTF-16', () => {
    expect(lines.toServer({ line: 1, col: 3 }, 'utf-16')).toEqual({ line: 0, character: 3 });
    expect(lines.toServer({ line: 1, col: 3 }, 'utf-32')).toEqual({ line: 0, character: 2 });
    expect(lines.fromServer({ line: 0, character: 3 }, 'utf-16')).toEqual({ line: 1, col: 3 });
    expect(lines.fromServer({ line: 0, character: 2 }, 'utf-32')).toEqual({ line: 1, col: 3 });
  });

  it('has a place after the last character, and none behind it', () => {
    expect(lines.toServer({ line: 1, col: 4 }, 'utf-16')).toEqual({ line: 0, character: 4 });
    expect(lines.toServer({ line: 1, col: 5 }, 'utf-16')).toBeUndefined();
    expect(lines.toServer({ line: 4, col: 1 }, 'utf-16')).toBeUndefined();
  });

  it('treats a position after the end of a line as its end', () => {
    expect(lines.fromServer({ line: 2, character: 99 }, 'utf-16')).toEqual({ line: 3, col: 5 });
    expect(lines.fromServer({ line: 2, character: 99 }, 'utf-32')).toEqual({ line: 3, col: 5 });
    expect(lines.fromServer({ line: 3, character: 0 }, 'utf-16')).toBeUndefined();
  });

  it('ends a range that goes up to the next line at the end of the text', () => {
    const whole = { start: { line: 0, character: 0 }, end: { line: 3, character: 0 } };
    expect(lines.rangeFromServer(whole, 'utf-16')).toEqual({ line: 1, col: 1, end_line: 3, end_col: 5 });
    const beyond = { start: { line: 3, character: 0 }, end: { line: 3, character: 0 } };
    expect(lines.rangeFromServer(beyond, 'utf-16')).toBeUndefined();
  });
});
