import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, readSync, type Stats } from 'node:fs';
import { lookFlags, openExactly, type RawPath } from './exact-path.ts';
import type { MatchedLine } from './ripgrep-records.ts';
import { decodeText, markLength } from './text-encoding.ts';

/** What stands at exactly this path inside the root now; undefined where nothing does. */
export function lookExactly(root: RawPath, path: RawPath): Stats | undefined {
  const descriptor = openExactly(root, path, lookFlags);
  if (descriptor === undefined) return undefined;
  try {
    return fstatSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** UTF-16 has to be decoded whole to find its lines again; larger files are not. */
const MAX_UTF16_BYTES = 8 * 1024 * 1024;

/**
 * A file of the workspace, opened to see for ourselves that it says what ripgrep says it does. ripgrep may have been
 * led outside by a link swapped in at the right moment; a line that does not stand in the file inside, at that
 * very place, is not passed on (VA-1).
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

  /** The text of the line, or undefined when the file does not have it there. */
  confirm(found: MatchedLine): string | undefined {
    return this.#confirmAt(found, 0) ?? this.#confirmMarked(found);
  }

  #confirmAt({ offset, text, isCut }: MatchedLine, start: number): string | undefined {
    // One byte more on both sides: it must be the whole line.
    const before = offset > 0 ? 1 : 0;
    const bytes = this.#read(start + offset - before, before + text.length + 1);
    const after = bytes[before + text.length];
    const beginsThere = before === 0 || bytes[0] === LINE_FEED;
    const endsThere = isCut || after === undefined || after === LINE_FEED;
    if (!beginsThere || !endsThere || !bytes.subarray(before, before + text.length).equals(text))
      return undefined;
    return text.toString(isUtf8(text) ? 'utf8' : 'latin1');
  }

  /** ripgrep takes no notice of a byte order mark, and decodes the UTF-16 behind it. */
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

  /** As much of its beginning. */
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
