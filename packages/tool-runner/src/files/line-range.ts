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
  /** Told after each piece: how much of the file was read, and its size. */
  readonly onRead?: ((position: number, size: number) => void) | undefined;
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
  /** Where `bytes` begin in the file. */
  readonly start: number;
}

/**
 * Reads some lines of a file in one pass, in memory that does not grow with the file. A line ends with its line feed,
 * which belongs to it: the lines of a file one after the other are the file. `use` makes something of them; their
 * bytes are overwritten by the next who reads.
 */
export async function readLines<T>(
  descriptor: number,
  range: LineRange,
  use: (lines: LinesRead) => T,
): Promise<T> {
  const buffers = spareBuffers ?? new LineBuffers();
  spareBuffers = undefined;
  try {
    return use(await collectLines(descriptor, range, buffers));
  } finally {
    spareBuffers = buffers;
  }
}

async function collectLines(descriptor: number, range: LineRange, buffers: LineBuffers): Promise<LinesRead> {
  const { startLine, endLine, maxBytes } = range;
  const unit = bytesOfUnit(range.encoding);
  const check = new Utf8Check();
  buffers.clear();
  /** The line that the next byte belongs to, and whether bytes of it were seen. */
  let line = 1;
  let isBegun = false;
  let start = range.offset;
  for await (const chunk of chunksOf(descriptor, range, buffers.chunk)) {
    if (chunk.length === 0) check.end();
    if (range.encoding === 'utf-8') check.push(chunk);
    let from = 0;
    while (line < startLine && from < chunk.length) {
      const next = lineAfter(chunk, from, unit);
      isBegun = next === undefined;
      from = next ?? chunk.length;
      if (next !== undefined) line++;
    }
    if (buffers.kept.length === 0) start += from;
    // Without an end there is nothing to count.
    let to = endLine === Number.POSITIVE_INFINITY ? chunk.length : from;
    while (line >= startLine && line <= endLine && to < chunk.length) {
      const next = lineAfter(chunk, to, unit);
      to = next ?? chunk.length;
      if (next !== undefined) line++;
    }
    // One unit more than is wanted, to know that there is more.
    buffers.keep(chunk.subarray(from, Math.min(to, from + maxBytes + unit - buffers.kept.length)));
    if (line > endLine || buffers.kept.length > maxBytes) break;
  }
  const { kept } = buffers;
  return {
    bytes: kept.subarray(0, maxBytes),
    isCut: kept.length > maxBytes,
    isUtf8: check.isWellFormed,
    linesBefore: kept.length > 0 ? startLine - 1 : line - (isBegun ? 0 : 1),
    start,
  };
}

/** Checks whether a file is UTF-8 from its byte `offset` to its byte `size`; the caller knows whether that is its end. */
export async function checkUtf8(
  descriptor: number,
  range: Pick<LineRange, 'offset' | 'size' | 'signal'>,
): Promise<Utf8Check> {
  const check = new Utf8Check();
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for await (const chunk of chunksOf(descriptor, { ...range, encoding: 'utf-8' }, buffer)) {
    check.push(chunk);
    if (!check.isWellFormed) break;
  }
  return check;
}

const CHUNK_BYTES = 256 * 1024;

/** The buffers for reading: one chunk of the file, and the part of it that is kept. */
class LineBuffers {
  readonly chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #length = 0;

  get kept(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  keep(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * length);
      this.kept.copy(larger);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  clear(): void {
    this.#length = 0;
  }
}

/**
 * Those of the last reader, for the next: otherwise a file that is read piece by piece would leave as much behind as
 * it is large until memory is swept. Who reads meanwhile makes new ones.
 */
let spareBuffers: LineBuffers | undefined;

/** The file in pieces that share one buffer: each is valid until the next. An empty one says that it is at its end. */
async function* chunksOf(
  file: number,
  {
    offset,
    size,
    encoding,
    signal,
    onRead,
  }: Pick<LineRange, 'offset' | 'size' | 'encoding' | 'signal' | 'onRead'>,
  buffer: Buffer,
): AsyncGenerator<Buffer> {
  for (let position = offset; ; ) {
    if (signal.aborted) throw new ExecutionCancelled();
    const length = await fill(file, buffer.subarray(0, size - position), position);
    position += length;
    onRead?.(position, size);
    const chunk = buffer.subarray(0, length);
    if (encoding === 'utf-16be') chunk.subarray(0, length - (length % 2)).swap16();
    yield chunk;
    if (length === 0) return;
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
