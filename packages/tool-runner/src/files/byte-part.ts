import { checkUtf8, readFully } from './line-range.ts';
import type { TextEncoding } from './text-encoding.ts';

/** The range of bytes to read from a text file. */
export interface PartRange {
  readonly encoding: TextEncoding;
  /** Length of the byte order mark, which is not part of the text. */
  readonly bomLength: number;
  /** Size of the whole file. */
  readonly size: number;
  /** Offset of the first byte. */
  readonly from: number;
  /** Offset after the last byte. */
  readonly to: number;
}

/** Whole characters of a text file. UTF-16 is always converted to little-endian. */
export interface TextPart {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly encoding: TextEncoding;
}

/** A character has at most 4 bytes, so its start is at most this far before a border within it. */
const CHARACTER_MARGIN = 3;

/** Reads a part of a text file. It counts as Latin-1 if the file, up to the end of the part, is not valid UTF-8. */
export async function readTextPart(
  descriptor: number,
  range: PartRange,
  signal: AbortSignal,
): Promise<TextPart> {
  const { bomLength, size, from, to } = range;
  // An even offset, so that the window begins with a whole unit of UTF-16.
  const windowStart = Math.max(bomLength, Math.floor((from - CHARACTER_MARGIN) / 2) * 2);
  const windowEnd = Math.min(size, to + CHARACTER_MARGIN);
  let { encoding } = range;
  if (encoding === 'utf-8') {
    const check = await checkUtf8(descriptor, { offset: bomLength, size: windowEnd, signal });
    if (windowEnd === size) check.end();
    if (!check.isWellFormed) encoding = 'latin1';
  }
  const window = Buffer.allocUnsafe(Math.max(0, windowEnd - windowStart));
  const length = await readFully(descriptor, window, windowStart);
  return textPart(window.subarray(0, length), windowStart, { ...range, encoding });
}

/**
 * Cuts a part out of `window`, which also has a few bytes before and after it. A character that crosses a border belongs
 * to the part after the border, so consecutive parts always join to the original text.
 */
export function textPart(window: Buffer, windowStart: number, range: PartRange): TextPart {
  const { encoding, bomLength, size } = range;
  const borderAt = (at: number): number => {
    if (at <= bomLength || at >= size) return at;
    return windowStart + characterStart(window, at - windowStart, encoding);
  };
  const [start, end] = [borderAt(range.from), borderAt(range.to)];
  const bytes = window.subarray(start - windowStart, end - windowStart);
  if (encoding === 'utf-16be') bytes.subarray(0, bytes.length - (bytes.length % 2)).swap16();
  return { bytes, start, end, encoding };
}

/** Returns the offset of the first byte of the character that contains the byte at `at`. */
function characterStart(bytes: Buffer, at: number, encoding: TextEncoding): number {
  if (encoding === 'latin1') return at;
  if (encoding === 'utf-8') {
    let start = at;
    while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
    return start;
  }
  const start = at - (at % 2);
  const high = encoding === 'utf-16le' ? 1 : 0;
  const isSurrogate = (unit: number, kind: 0xd8 | 0xdc): boolean =>
    unit >= 0 && ((bytes[unit + high] ?? 0) & 0xfc) === kind;
  return isSurrogate(start, 0xdc) && isSurrogate(start - 2, 0xd8) ? start - 2 : start;
}
