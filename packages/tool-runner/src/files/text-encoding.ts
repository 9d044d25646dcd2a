import { isUtf8 } from 'node:buffer';
import { fileKindOf, SNIFF_BYTES } from '@countersign/policy';
import type { ToolParams } from '@countersign/protocol';

/** The encodings in tool parameters and results (TL-4). `latin1` is ISO 8859-1, in which each byte is a character. */
export type TextEncoding = NonNullable<ToolParams<'read_file'>['encoding']>;

/** The encoding of a file, with which its text can be written back byte by byte. */
export interface TextForm {
  readonly encoding: TextEncoding;
  /** Whether the file begins with a byte order mark, which is not part of the text. */
  readonly bom: boolean;
}

export interface DecodedText extends TextForm {
  readonly text: string;
}

const marks: Readonly<Partial<Record<TextEncoding, readonly number[]>>> = {
  'utf-8': [0xef, 0xbb, 0xbf],
  'utf-16le': [0xff, 0xfe],
  'utf-16be': [0xfe, 0xff],
};

/**
 * Decodes a whole file such that `encodeText` returns the same bytes again. Undefined if that is impossible, because the
 * file is not text or not in the wanted encoding.
 */
export function decodeText(bytes: Uint8Array, wanted?: TextEncoding): DecodedText | undefined {
  const encoding = encodingOf(bytes.subarray(0, SNIFF_BYTES), wanted);
  if (encoding === undefined) return undefined;
  const decoded = decodeExactly(bytes, encoding);
  // A file that is UTF-8 only at its beginning is read as Latin-1, in which every byte is valid.
  if (decoded === undefined && encoding === 'utf-8' && wanted === undefined)
    return decodeExactly(bytes, 'latin1');
  return decoded;
}

/** Returns undefined if the encoding lacks one of the text's characters. */
export function encodeText(text: string, { encoding, bom }: TextForm): Uint8Array | undefined {
  const body = encodeBody(text, encoding);
  const mark = bom ? marks[encoding] : undefined;
  return body && mark ? Buffer.concat([Uint8Array.from(mark), body]) : body;
}

/**
 * Detects the encoding of a file from its first bytes; undefined if it is not text. If `wanted` is given, returns it
 * unless the bytes contain control characters in it: UTF-16 without a mark cannot always be detected.
 */
export function encodingOf(head: Uint8Array, wanted?: TextEncoding): TextEncoding | undefined {
  const kind = fileKindOf(head);
  if (wanted === undefined) return kind.kind === 'text' ? kind.encoding : undefined;
  return controls.test(decodeLeniently(head, wanted)) ? undefined : wanted;
}

/** Returns the length of the byte order mark at the beginning of a file; 0 if there is none. */
export function markLength(head: Uint8Array, encoding: TextEncoding): number {
  const mark = marks[encoding] ?? [];
  return mark.every((byte, place) => head[place] === byte) ? mark.length : 0;
}

/** Invalid bytes and lone surrogates become U+FFFD. */
function decodeLeniently(bytes: Uint8Array, encoding: TextEncoding): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (encoding) {
    case 'utf-8':
      return buffer.toString('utf8');
    case 'latin1':
      return buffer.toString('latin1');
    case 'utf-16le':
      return buffer.toString('utf16le').toWellFormed();
    case 'utf-16be':
      return swapped(buffer).toString('utf16le').toWellFormed();
  }
}

/** Control characters that do not occur in text: all except tab, LF, vertical tab, form feed, CR and escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

function decodeExactly(bytes: Uint8Array, encoding: TextEncoding): DecodedText | undefined {
  const start = markLength(bytes, encoding);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.byteLength - start);
  const form = { encoding, bom: start > 0 };
  switch (encoding) {
    case 'utf-8':
      return isUtf8(body) ? { text: body.toString('utf8'), ...form } : undefined;
    case 'latin1':
      return { text: body.toString('latin1'), ...form };
    // A string keeps lone surrogates, so UTF-16 is written back unchanged.
    case 'utf-16le':
      return body.length % 2 === 0 ? { text: body.toString('utf16le'), ...form } : undefined;
    case 'utf-16be':
      return body.length % 2 === 0 ? { text: swapped(body).toString('utf16le'), ...form } : undefined;
  }
}

function encodeBody(text: string, encoding: TextEncoding): Uint8Array | undefined {
  switch (encoding) {
    case 'utf-8':
      return text.isWellFormed() ? Buffer.from(text, 'utf8') : undefined;
    case 'latin1':
      // biome-ignore lint/suspicious/noControlCharactersInRegex: all that a byte can be
      return /^[\u0000-\u00ff]*$/.test(text) ? Buffer.from(text, 'latin1') : undefined;
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16();
  }
}

/** Returns a copy with the two bytes of each UTF-16 unit swapped. An odd byte at the end is left out. */
function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2))).swap16();
}

export type LineEnding = '\n' | '\r\n';

/** Returns the number of lines, including a last line without a line feed. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return text === '' || text.endsWith('\n') ? count : count + 1;
}

/** Returns the line ending of all lines; undefined if they differ or there is none. */
export function lineEndingOf(text: string): LineEnding | undefined {
  let seen: LineEnding | undefined;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    const ending = endingAt(text, at);
    if (seen !== undefined && ending !== seen) return undefined;
    seen = ending;
  }
  return seen;
}

/** Converts `\n` to CRLF if all lines of the existing text end in CRLF. A text that contains CRLF stays as it is. */
export function inLineEndingOf(existing: string, text: string): string {
  if (text.includes('\r\n') || lineEndingOf(existing) !== '\r\n') return text;
  return text.replaceAll('\n', '\r\n');
}

/** Returns all line endings of a text, in order. */
export function lineEndingsIn(text: string): LineEnding[] {
  const endings: LineEnding[] = [];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    endings.push(endingAt(text, at));
  return endings;
}

/** Returns the ending of the line at a position. The last line may have no ending: then that of the line before, or `\n`. */
export function lineEndingNear(text: string, position: number): LineEnding {
  const next = text.indexOf('\n', position);
  const nearest = next >= 0 ? next : text.lastIndexOf('\n', position);
  return nearest < 0 ? '\n' : endingAt(text, nearest);
}

const endingAt = (text: string, lineFeed: number): LineEnding =>
  text[lineFeed - 1] === '\r' ? '\r\n' : '\n';
