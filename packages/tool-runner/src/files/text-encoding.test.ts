import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeText,
  encodeText,
  inLineEndingOf,
  lineEndingNear,
  lineEndingOf,
  lineEndingsIn,
  type TextEncoding,
} from './text-encoding.ts';

const encodings: readonly TextEncoding[] = ['utf-8', 'utf-16le', 'utf-16be', 'latin1'];
const bytesOf = (text: string, encoding: TextEncoding, bom = false): Uint8Array =>
  encodeText(text, { encoding, bom }) ?? expect.fail('has no such character');

describe('[TL-4] decodeText and encodeText', () => {
  it.each([
    ['plain ASCII', Buffer.from('plain\n'), { text: 'plain\n', encoding: 'utf-8', bom: false }],
    ['nothing', Buffer.alloc(0), { text: '', encoding: 'utf-8', bom: false }],
    ['UTF-8', Buffer.from('größe €😀'), { text: 'größe €😀', encoding: 'utf-8', bom: false }],
    ['UTF-8 with a mark', Buffer.from('\ufeffä'), { text: 'ä', encoding: 'utf-8', bom: true }],
    [
      'Latin-1',
      Buffer.from('café au lait', 'latin1'),
      { text: 'café au lait', encoding: 'latin1', bom: false },
    ],
    [
      'Latin-1 that ends like a cut-off UTF-8',
      Buffer.from('caf\xe9', 'latin1'),
      { text: 'café', encoding: 'latin1', bom: false },
    ],
    [
      'UTF-16LE without a mark',
      bytesOf('hello €', 'utf-16le'),
      { text: 'hello €', encoding: 'utf-16le', bom: false },
    ],
    [
      'UTF-16BE without a mark',
      bytesOf('hello €', 'utf-16be'),
      { text: 'hello €', encoding: 'utf-16be', bom: false },
    ],
    [
      'UTF-16LE with a mark',
      bytesOf('漢字', 'utf-16le', true),
      { text: '漢字', encoding: 'utf-16le', bom: true },
    ],
    [
      'UTF-16BE with a mark',
      bytesOf('漢字', 'utf-16be', true),
      { text: '漢字', encoding: 'utf-16be', bom: true },
    ],
  ])('tells %s', (_name, bytes, expected) => {
    expect(decodeText(bytes)).toEqual(expected);
  });

  it('reads a file that is UTF-8 only at its beginning as Latin-1', () => {
    const bytes = Buffer.concat([Buffer.from('ä'.repeat(10_000)), Buffer.from([0xff])]);
    expect(decodeText(bytes)).toMatchObject({ encoding: 'latin1', bom: false });
    expect(decodeText(bytes, 'utf-8')).toBeUndefined();
  });

  it('reads what is wanted where the file does not tell, but makes no text of a program', () => {
    const chinese = bytesOf('漢字\n', 'utf-16be');
    expect(decodeText(chinese)).toBeUndefined();
    expect(decodeText(chinese, 'utf-16be')).toEqual({ text: '漢字\n', encoding: 'utf-16be', bom: false });
    const program = Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0', 'latin1');
    for (const encoding of encodings) expect(decodeText(program, encoding)).toBeUndefined();
    expect(decodeText(program)).toBeUndefined();
    expect(decodeText(Buffer.from('\ufeffodd', 'utf16le').subarray(0, 7))).toBeUndefined();
    expect(decodeText(Buffer.from('odd'), 'utf-16be')).toBeUndefined();
  });

  it('does not write what an encoding has no character for', () => {
    expect(encodeText('€', { encoding: 'latin1', bom: false })).toBeUndefined();
    expect(encodeText('\ud800', { encoding: 'utf-8', bom: true })).toBeUndefined();
  });

  it('[RN-3] gives the very same bytes back, whatever they are', () => {
    const texts = encodings.map((encoding) =>
      fc
        .tuple(fc.string({ unit: 'grapheme' }), fc.boolean())
        .map(([text, bom]) => encodeText(text, { encoding, bom }) ?? new Uint8Array()),
    );
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 64 }), ...texts);
    fc.assert(
      fc.property(bytes, fc.option(fc.constantFrom(...encodings), { nil: undefined }), (original, wanted) => {
        const decoded = decodeText(original, wanted);
        if (decoded)
          expect(Buffer.from(encodeText(decoded.text, decoded) ?? [])).toEqual(Buffer.from(original));
      }),
      { numRuns: 2_000 },
    );
  });
});

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
