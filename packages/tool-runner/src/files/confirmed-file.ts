import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, readSync, type Stats } from 'node:fs';
import { openExactly, type RawPath, statFlags } from './exact-path.ts';
import type { MatchedLine } from './ripgrep-records.ts';
import { decodeText, markLength } from './text-encoding.ts';

/** Returns the stats of the entry at this path below the root, without following links; undefined if there is none. */
export function statExactly(root: RawPath, path: RawPath): Stats | undefined {
  const descriptor = openExactly(root, path, statFlags);
  if (descriptor === undefined) return undefined;
  try {
    return fstatSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A UTF-16 file must be decoded as a whole to find its lines. Matches in larger files are left out. */
const MAX_UTF16_BYTES = 8 * 1024 * 1024;

/**
 * A file of the workspace, opened to verify the lines that ripgrep found. A link that is swapped in at the right moment
 * can lead ripgrep outside, so a line counts only if this file has it at the same offset (VA-1).
 */
export class ConfirmedFile {
  readonly stats: Stats;
  readonly #descriptor: number;
  #utf16Lines: readonly string[] | undefined;

  static open(root: RawPath, path: RawPath): ConfirmedFile | undefined {
    const descriptor = openExactly(root, path, constants.O_RDONLY);
    return descriptor === undefined ? undefined : new ConfirmedFile(descriptor);
  }

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.stats = fstatSync(descriptor);
  }

  /** Returns the text of the line, or undefined if the file does not have it there. */
  confirm(found: MatchedLine): string | undefined {
    return this.#confirmAt(found, 0) ?? this.#confirmMarked(found);
  }

  #confirmAt({ offset, text, isCut }: MatchedLine, start: number): string | undefined {
    // Read one more byte on both sides, to check that this is a whole line.
    const before = offset > 0 ? 1 : 0;
    const bytes = this.#read(start + offset - before, before + text.length + 1);
    const after = bytes[before + text.length];
    const beginsThere = before === 0 || bytes[0] === LINE_FEED;
    const endsThere = isCut || after === undefined || after === LINE_FEED;
    if (!beginsThere || !endsThere || !bytes.subarray(before, before + text.length).equals(text))
      return undefined;
    return text.toString(isUtf8(text) ? 'utf8' : 'latin1');
  }

  /** Handles a file with a byte order mark: ripgrep's offsets do not count the mark, and it converts UTF-16 to UTF-8. */
  #confirmMarked(found: MatchedLine): string | undefined {
    const head = this.#read(0, 3);
    const mark = markLength(head, 'utf-8');
    if (mark > 0) return this.#confirmAt(found, mark);
    if (!markLength(head, 'utf-16le') && !markLength(head, 'utf-16be')) return undefined;
    this.#utf16Lines ??= this.#decodeLines();
    const claimed = found.text.toString('utf8');
    const actual = this.#utf16Lines[found.line - 1];
    return (found.isCut ? actual?.startsWith(claimed) : actual === claimed) ? claimed : undefined;
  }

  /** Returns at most the first `bytes` bytes of the file. */
  head(bytes: number): Buffer {
    return this.#read(0, Math.min(bytes, this.stats.size));
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #read(position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    return buffer.subarray(0, readSync(this.#descriptor, buffer, 0, length, position));
  }

  #decodeLines(): readonly string[] {
    if (this.stats.size > MAX_UTF16_BYTES) return [];
    return decodeText(this.#read(0, this.stats.size))?.text.toWellFormed().split('\n') ?? [];
  }
}

const LINE_FEED = 0x0a;
