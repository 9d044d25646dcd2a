import type { BigIntStats } from 'node:fs';
import { fileKindOf, SNIFF_BYTES } from '@countersign/policy';
import { CountersignError, type ToolParams, type ToolSuccess } from '@countersign/protocol';
import { summarised, visibleName } from '../preview/look.ts';
import type { FileServices, ToolModule } from '../tool-module.ts';
import { BytesDone, reportProgress } from '../work-progress.ts';
import { type PartRange, readTextPart, type TextPart, textPart } from './byte-part.ts';
import { readFully, readLines } from './line-range.ts';
import { countLines, encodingOf, markLength, type TextEncoding } from './text-encoding.ts';
import { cutOffLength } from './utf8-check.ts';
import { inFile } from './workspace-file.ts';

type Params = ToolParams<'read_file'>;
type FileRead = ToolSuccess<'read_file'>;

interface Reading {
  /** Maximum size of the result. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly onRead?: (position: number, size: number) => void;
}

export const readFile: ToolModule<'read_file'> = {
  look: summarised(({ path }) => `Reads "${visibleName(path)}".`),
  execute({ params }, { signal, onProgress: report }, services) {
    const read = new BytesDone('read');
    const describe = () =>
      read.isBegun ? { percent: Math.floor(100 * read.part), message: read.message } : undefined;
    const maxBytes = services.workspace.limits.readChunkBytes;
    const reading = { maxBytes, signal, onRead: read.note };
    return reportProgress({ report, describe }, () => readPart(params, services, reading));
  },
};

/**
 * Executes read_file (TL-2, TL-4). Returns a text or some of its lines, at most `readChunkBytes` bytes of UTF-8; or a PDF
 * or image as base64, at most `readChunkBytes` bytes of the file. A truncated text ends after a whole line, so that the
 * caller can continue after `end_line`; only a line longer than the limit is cut, after a whole character. With `offset`
 * and `length`, returns a part of any file. `next_offset` is the offset at which to continue.
 */
function readPart(params: Params, services: FileServices, reading: Reading): Promise<FileRead> {
  const { path, start_line, end_line, offset, length, encoding } = params;
  return inFile(path, services, async ({ descriptor, stats, unsaved }) => {
    if (unsaved !== undefined) return readBuffer(unsaved, params, reading.maxBytes);
    const request = [start_line, end_line, offset, length, encoding].join(':');
    const known = services.cache.find(stats, request);
    if (known) return known;
    const result = await readContent(descriptor, stats, params, reading);
    services.cache.store(stats, request, result);
    return result;
  });
}

/** Reads an editor's unsaved buffer (RN-9). Offsets and sizes are those of its UTF-8 form. */
function readBuffer(text: string, params: Params, maxBytes: number): FileRead {
  if (isByteRange(params)) {
    const bytes = Buffer.from(text);
    const form = { encoding: 'utf-8', bomLength: 0, size: bytes.length } as const;
    const range = { ...form, ...byteRangeOf(params, form, maxBytes) };
    return partResult(textPart(bytes, 0, range), range, maxBytes);
  }
  const { start_line = 1, end_line = Number.POSITIVE_INFINITY } = params;
  const lines = text.split(/(?<=\n)/);
  const wanted = lines.slice(start_line - 1, end_line).join('');
  const linesBefore = Math.min(start_line - 1, countLines(text));
  const start = Buffer.byteLength(lines.slice(0, start_line - 1).join(''));
  const read = { text: wanted, isCut: false, encoding: 'utf-8', size: Buffer.byteLength(text) } as const;
  return linesResult({ ...read, linesBefore, start }, params, maxBytes);
}

async function readContent(
  descriptor: number,
  stats: BigIntStats,
  params: Params,
  { maxBytes, signal, onRead }: Reading,
): Promise<FileRead> {
  const { path, encoding: wanted, start_line = 1, end_line = Number.POSITIVE_INFINITY } = params;
  const size = Number(stats.size);
  const buffer = Buffer.allocUnsafe(Math.min(SNIFF_BYTES, size));
  const head = buffer.subarray(0, await readFully(descriptor, buffer, 0));
  const kind = fileKindOf(head);
  if (kind.kind === 'media') return readMedia(descriptor, size, kind.mediaType, params, maxBytes);
  const encoding = encodingOf(head, wanted);
  if (encoding === undefined && kind.kind === 'binary') throw new CountersignError('BINARY_FILE', { path });
  if (encoding === undefined)
    throw new CountersignError('ENCODING_UNSUPPORTED', { path, encoding: wanted ?? '' });
  const bomLength = markLength(head, encoding);
  if (isByteRange(params)) {
    const range = { encoding, bomLength, size, ...byteRangeOf(params, { bomLength, size }, maxBytes) };
    const part = await readTextPart(descriptor, range, signal);
    if (wanted === 'utf-8' && part.encoding !== wanted)
      throw new CountersignError('ENCODING_UNSUPPORTED', { path, encoding: wanted });
    return partResult(part, range, maxBytes);
  }
  const range = {
    encoding,
    offset: bomLength,
    size,
    startLine: start_line,
    endLine: end_line,
    // A character of two bytes in UTF-16 may need only one byte in UTF-8.
    maxBytes: encoding.startsWith('utf-16') ? 2 * maxBytes : maxBytes,
    signal,
    onRead,
  };
  return await readLines(descriptor, range, (lines) => {
    if (wanted === 'utf-8' && !lines.isUtf8)
      throw new CountersignError('ENCODING_UNSUPPORTED', { path, encoding: wanted });
    // A file that is UTF-8 only at its beginning is read as Latin-1, in which every byte is valid.
    const actual = encoding === 'utf-8' && !lines.isUtf8 ? 'latin1' : encoding;
    const text = decodePart(lines.bytes, actual, lines.isCut);
    const { isCut, linesBefore, start } = lines;
    return linesResult({ text, isCut, encoding: actual, size, linesBefore, start }, params, maxBytes);
  });
}

interface LinesOfText {
  /** The requested lines. If `isCut`, only their beginning. */
  readonly text: string;
  readonly isCut: boolean;
  readonly encoding: TextEncoding;
  readonly size: number;
  readonly linesBefore: number;
  /** Offset of the lines in the file. */
  readonly start: number;
}

function linesResult(lines: LinesOfText, params: Params, maxBytes: number): FileRead {
  const { text, encoding, size } = lines;
  const fitting = truncateUtf8(text, maxBytes);
  const truncated = lines.isCut || fitting.length < text.length;
  const content = truncated ? wholeLines(fitting) : fitting;
  const isRange = truncated || params.start_line !== undefined || params.end_line !== undefined;
  return {
    success: true,
    content,
    encoding,
    size,
    truncated,
    ...(isRange && {
      start_line: params.start_line ?? 1,
      end_line: lines.linesBefore + countLines(content),
    }),
    ...nextOffset(lines.start + encodedLength(content, encoding), size),
  };
}

async function readMedia(
  descriptor: number,
  size: number,
  media_type: string,
  params: Params,
  maxBytes: number,
): Promise<FileRead> {
  const { from, wantedTo } = byteRangeOf(params, { bomLength: 0, size }, maxBytes);
  // A multiple of 3 bytes has no base64 padding, so that the base64 texts of the parts can be joined.
  const most = maxBytes < 3 ? maxBytes : maxBytes - (maxBytes % 3);
  const wanted = wantedTo - from;
  const bytes = Buffer.allocUnsafe(wanted <= maxBytes ? wanted : most);
  const end = from + (await readFully(descriptor, bytes, from));
  return {
    success: true,
    content: bytes.toString('base64', 0, end - from),
    encoding: 'base64',
    size,
    truncated: end < wantedTo,
    media_type,
    ...(isByteRange(params) && { offset: from }),
    ...nextOffset(end, size),
  };
}

const isByteRange = ({ offset, length }: Params): boolean => (offset ?? length) !== undefined;

interface ByteRange extends Pick<PartRange, 'from' | 'to'> {
  /** The end of the requested part, which may be beyond the limit. */
  readonly wantedTo: number;
}

function byteRangeOf(
  { offset = 0, length = Number.POSITIVE_INFINITY }: Params,
  { bomLength, size }: Pick<PartRange, 'bomLength' | 'size'>,
  maxBytes: number,
): ByteRange {
  const from = Math.min(Math.max(offset, bomLength), size);
  const wantedTo = Math.max(from, Math.min(size, offset + length));
  return { from, to: Math.min(wantedTo, from + maxBytes), wantedTo };
}

function partResult(part: TextPart, range: PartRange & ByteRange, maxBytes: number): FileRead {
  const { start, encoding } = part;
  const text = decodePart(part.bytes, encoding, false);
  const content = truncateUtf8(text, maxBytes);
  const end = content.length === text.length ? part.end : start + encodedLength(content, encoding);
  return {
    success: true,
    content,
    encoding,
    size: range.size,
    truncated: end < range.wantedTo,
    offset: start,
    // A part that ends within its first character is empty. Continue at its end, not at the same offset again.
    ...nextOffset(end > start ? end : range.to, range.size),
  };
}

const nextOffset = (end: number, size: number) => (end < size ? { next_offset: end } : {});

function encodedLength(text: string, encoding: TextEncoding): number {
  if (encoding === 'utf-8') return Buffer.byteLength(text);
  return encoding === 'latin1' ? text.length : text.length * 2;
}

function decodePart(bytes: Buffer, encoding: TextEncoding, isCut: boolean): string {
  if (encoding === 'utf-8')
    return bytes.toString('utf8', 0, bytes.length - (isCut ? cutOffLength(bytes) : 0));
  if (encoding === 'latin1') return bytes.toString('latin1');
  const text = bytes.toString('utf16le');
  const endsInHalf = isCut && /[\ud800-\udbff]$/.test(text);
  const whole = (endsInHalf ? text.slice(0, -1) : text).toWellFormed();
  return !isCut && bytes.length % 2 === 1 ? `${whole}\ufffd` : whole;
}

/** Returns as much of the text as fits into `maxBytes` bytes of UTF-8. */
function truncateUtf8(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  return bytes.toString('utf8', 0, bytes.length - cutOffLength(bytes));
}

/** Removes an incomplete last line, unless it is the only line. */
const wholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1) || text;
