import { checkUtf8, fill } from './line-range.ts';
import type { TextEncoding } from './text-encoding.ts';

/** Which bytes of a text are wanted. */
export interface PartRange {
  readonly encoding: TextEncoding;
  /** How long the byte order mark is, and the whole file: the text lies between. */
  readonly mark: number;
  readonly size: number;
  /** The first byte, and the one behind the last. */
  readonly from: number;
  readonly to: number;
}

/** Whole characters, as they stand in the file; UTF-16 is little-endian here in any case. */
export interface TextPart {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly encoding: TextEncoding;
}

/** The longest character of any encoding has 4 bytes, so a border can lie this far within one. */
const WITHIN_CHARACTER = 3;

/** Reads a part of a text file. What is not UTF-8 from the beginning of the file to the end of the part is Latin-1. */
export async function readTextPart(
  descriptor: number,
  range: PartRange,
  signal: AbortSignal,
): Promise<TextPart> {
  const { mark, size, from, to } = range;
  // Even, so that the units of UTF-16 lie in the window as they lie in the file.
  const windowStart = Math.max(mark, Math.floor((from - WITHIN_CHARACTER) / 2) * 2);
  const windowEnd = Math.min(size, to + WITHIN_CHARACTER);
  let { encoding } = range;
  if (encoding === 'utf-8') {
    const check = await checkUtf8(descriptor, { offset: mark, size: windowEnd, signal });
    if (windowEnd === size) check.end();
    if (!check.isWellFormed) encoding = 'latin1';
  }
  const window = Buffer.allocUnsafe(Math.max(0, windowEnd - windowStart));
  const length = await fill(descriptor, window, windowStart);
  return textPart(window.subarray(0, length), windowStart, { ...range, encoding });
}

/**
 * A character that a border cuts in two belongs to the part behind that border, at both ends: parts that meet give the
 * text again, whichever borders were asked for. `window` holds the part and a few bytes around it.
 */
export function textPart(window: Buffer, windowStart: number, range: PartRange): TextPart {
  const { encoding, mark, size } = range;
  const borderAt = (at: number): number => {
    if (at <= mark || at >= size) return at;
    return windowStart + characterStart(window, at - windowStart, encoding);
  };
  const [start, end] = [borderAt(range.from), borderAt(range.to)];
  const bytes = window.subarray(start - windowStart, end - windowStart);
  if (encoding === 'utf-16be') bytes.subarray(0, bytes.length - (bytes.length % 2)).swap16();
  return { bytes, start, end, encoding };
}

/** Where the character begins that the byte at `at` belongs to. */
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
