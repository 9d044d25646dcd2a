import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileKindOf } from './file-kind.ts';

const bytes = (text: string, encoding: BufferEncoding): Uint8Array =>
  new Uint8Array(Buffer.from(text, encoding));

describe('[TL-4] fileKindOf', () => {
  it('names the encoding of text', () => {
    expect(fileKindOf(bytes('', 'utf8'))).toEqual({ kind: 'text', encoding: 'utf-8' });
    expect(fileKindOf(bytes('größe, привет\n', 'utf8'))).toEqual({ kind: 'text', encoding: 'utf-8' });
    expect(fileKindOf(bytes('\ufeffmarked', 'utf8'))).toEqual({ kind: 'text', encoding: 'utf-8' });
    expect(fileKindOf(bytes('größe', 'latin1'))).toEqual({ kind: 'text', encoding: 'latin1' });
    expect(fileKindOf(bytes('\ufeffhello', 'utf16le'))).toEqual({ kind: 'text', encoding: 'utf-16le' });
    expect(fileKindOf(bytes('hello world', 'utf16le'))).toEqual({ kind: 'text', encoding: 'utf-16le' });
    const bigEndian = bytes('hello world', 'utf16le');
    expect(fileKindOf(new Uint8Array(Buffer.from(bigEndian).swap16()))).toEqual({
      kind: 'text',
      encoding: 'utf-16be',
    });
    expect(fileKindOf(new Uint8Array([0xfe, 0xff, 0, 0x41]))).toEqual({ kind: 'text', encoding: 'utf-16be' });
  });

  it('keeps a character that was cut off at the end of what was read', () => {
    expect(fileKindOf(bytes('привет', 'utf8').subarray(0, 11))).toEqual({ kind: 'text', encoding: 'utf-8' });
  });

  it('recognises PDF and images, and text that begins like one as text', () => {
    expect(fileKindOf(bytes('%PDF-1.7\n', 'latin1'))).toEqual({
      kind: 'media',
      mediaType: 'application/pdf',
    });
    expect(fileKindOf(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]))).toMatchObject({
      mediaType: 'image/png',
    });
    expect(fileKindOf(bytes('BM\0\0\0\0', 'latin1'))).toMatchObject({ mediaType: 'image/bmp' });
    expect(fileKindOf(bytes('BMW is a car', 'utf8'))).toEqual({ kind: 'text', encoding: 'utf-8' });
    expect(fileKindOf(bytes('RIFF....WEBPVP8 ', 'latin1'))).toMatchObject({ mediaType: 'image/webp' });
  });

  it('calls the rest binary', () => {
    expect(fileKindOf(Buffer.from('f0VMRgEBAQAAAAAAAAAAAAEAAwABAAAA', 'base64'))).toEqual({ kind: 'binary' });
    expect(fileKindOf(new Uint8Array([1, 2, 3, 4]))).toEqual({ kind: 'binary' });
  });

  it('never crashes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (head) => fileKindOf(head).kind !== undefined));
  });
});
