import { read } from 'node:fs';
import { promisify } from 'node:util';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { TextEncoding } from './text-encoding.ts';
import { Utf8Check } from './utf8-check.ts';

export interface LineRange {
  readonly encoding: TextEncoding;
  /** Offset of the text in the file, after the byte order mark. */
  readonly offset: number;
  /** Size of the file. */
  readonly size: number;
  /** Counted from 1. */
  readonly startLine: number;
  /** Inclusive. */
  readonly endLine: number;
  /** Maximum number of bytes to return. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Called after each chunk. */
  readonly onRead?: ((position: number, size: number) => void) | undefined;
}

export interface LinesRead {
  /** At most the first `maxBytes` bytes of the lines. UTF-16 is always converted to little-endian. */
  readonly bytes: Buffer;
  /** True if the lines are longer than `maxBytes`. Then the last character of `bytes` may be incomplete. */
  readonly isCut: boolean;
  /** Whether the file is well-formed UTF-8, from its beginning to the last byte that was read. */
  readonly isUtf8: boolean;
  /** Number of lines before the range. If the file ends before the range begins, its number of lines. */
  readonly linesBefore: number;
  /** Offset of `bytes` in the file. */
  readonly start: number;
}

/**
 * Reads some lines of a file in one pass, in memory that does not grow with the file. A line includes its line feed.
 * `use` must not keep the bytes: the next read overwrites them.
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
  // `line` is the number of the line that contains the next byte; `isBegun` tells whether it has bytes already.
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
    // Without an end line, the rest of the chunk is wanted and its lines need not be counted.
    let to = endLine === Number.POSITIVE_INFINITY ? chunk.length : from;
    while (line >= startLine && line <= endLine && to < chunk.length) {
      const next = lineAfter(chunk, to, unit);
      to = next ?? chunk.length;
      if (next !== undefined) line++;
    }
    // Keep one unit more than `maxBytes`, to detect that the lines are longer.
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

/** Checks whether a file is UTF-8 between `offset` and `size`. If `size` is the file's end, the caller calls `end()`. */
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

/** A buffer for one chunk of the file, and a growing buffer for the wanted lines. */
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
 * The buffers of the last read, for the next one: reading a large file in parts would otherwise leave much garbage.
 * Undefined while a read uses them; a concurrent read makes new buffers.
 */
let spareBuffers: LineBuffers | undefined;

/** Yields the file in chunks that share one buffer: a chunk is valid until the next. The last chunk is empty. */
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
    const length = await readFully(file, buffer.subarray(0, size - position), position);
    position += length;
    onRead?.(position, size);
    const chunk = buffer.subarray(0, length);
    if (encoding === 'utf-16be') chunk.subarray(0, length - (length % 2)).swap16();
    yield chunk;
    if (length === 0) return;
  }
}

const readAt = promisify(read);

/** Reads until the buffer is full or the file ends, so that only the last chunk can have an odd length. */
export async function readFully(descriptor: number, buffer: Buffer, position: number): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await readAt(descriptor, buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

/** Returns the offset after the next line feed; undefined if the chunk has no further line feed. */
function lineAfter(chunk: Buffer, from: number, unit: 1 | 2): number | undefined {
  const found = unit === 2 ? chunk.indexOf('\n', from, 'utf16le') : chunk.indexOf(0x0a, from);
  return found < 0 ? undefined : found + unit;
}

const bytesOfUnit = (encoding: TextEncoding): 1 | 2 => (encoding.startsWith('utf-16') ? 2 : 1);
