import { read } from 'node:fs';
import { promisify } from 'node:util';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { TextEncoding } from './text-encoding.ts';
import { Utf8Check } from './utf8-check.ts';

export interface LineRange {
  readonly encoding: TextEncoding;
  /** Where the text begins and ends in the file: behind its byte order mark, and at its size. */
  readonly offset: number;
  readonly size: number;
  /** From 1, both included. */
  readonly startLine: number;
  readonly endLine: number;
  /** How much of them is kept. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface LinesRead {
  /** The beginning of the lines, as they stand in the file; UTF-16 is little-endian here in any case. */
  readonly bytes: Buffer;
  /** The lines are longer than `maxBytes`, and their last character may be cut in two. */
  readonly isCut: boolean;
  /** Whether all that was read, from the beginning of the file, is well-formed UTF-8. */
  readonly isUtf8: boolean;
  /** How many lines there were before the range, or in the whole file where it ends before the range begins. */
  readonly linesBefore: number;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Reads some lines of a file in one pass, in memory that does not grow with the file. A line ends with its line feed,
 * which belongs to it: the lines of a file one after the other are the file.
 */
export async function readLines(descriptor: number, range: LineRange): Promise<LinesRead> {
  const { startLine, endLine, maxBytes } = range;
  const unit = bytesOfUnit(range.encoding);
  const check = new Utf8Check();
  const kept: Buffer[] = [];
  let keptBytes = 0;
  /** The line that the next byte belongs to, and whether bytes of it were seen. */
  let line = 1;
  let isBegun = false;
  for await (const chunk of chunksOf(descriptor, range)) {
    if (range.encoding === 'utf-8') check.push(chunk);
    let from = 0;
    while (line < startLine && from < chunk.length) {
      const next = lineAfter(chunk, from, unit);
      isBegun = next === undefined;
      from = next ?? chunk.length;
      if (next !== undefined) line++;
    }
    // Without an end there is nothing to count.
    let to = endLine === Number.POSITIVE_INFINITY ? chunk.length : from;
    while (line >= startLine && line <= endLine && to < chunk.length) {
      const next = lineAfter(chunk, to, unit);
      to = next ?? chunk.length;
      if (next !== undefined) line++;
    }
    const piece = chunk.subarray(from, Math.min(to, from + maxBytes + unit - keptBytes));
    kept.push(Buffer.from(piece));
    keptBytes += piece.length;
    if (line > endLine || keptBytes > maxBytes) break;
  }
  const bytes = Buffer.concat(kept);
  return {
    bytes: bytes.subarray(0, maxBytes),
    isCut: bytes.length > maxBytes,
    isUtf8: check.isWellFormed,
    linesBefore: keptBytes > 0 ? startLine - 1 : line - (isBegun ? 0 : 1),
  };

  /** The file in pieces that share one buffer: each is valid until the next. */
  async function* chunksOf(file: number, { offset, size, encoding, signal }: LineRange) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let position = offset; position < size; ) {
      if (signal.aborted) throw new ExecutionCancelled();
      const length = await fill(file, buffer.subarray(0, size - position), position);
      if (length === 0) break;
      position += length;
      const chunk = buffer.subarray(0, length);
      if (encoding === 'utf-16be') chunk.subarray(0, length - (length % 2)).swap16();
      yield chunk;
    }
    check.end();
  }
}

const readAt = promisify(read);

/** Reads until the buffer is full or the file ends, so that only its last piece can have an odd length. */
export async function fill(descriptor: number, buffer: Buffer, position: number): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await readAt(descriptor, buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

/** Where the line after the next line feed begins. */
function lineAfter(chunk: Buffer, from: number, unit: 1 | 2): number | undefined {
  const found = unit === 2 ? chunk.indexOf('\n', from, 'utf16le') : chunk.indexOf(0x0a, from);
  return found < 0 ? undefined : found + unit;
}

const bytesOfUnit = (encoding: TextEncoding): 1 | 2 => (encoding.startsWith('utf-16') ? 2 : 1);
