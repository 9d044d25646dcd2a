import type { RawPath } from './exact-path.ts';

/** One line that ripgrep printed. */
export interface MatchedLine {
  /** Relative to the searched directory. */
  readonly path: RawPath;
  readonly line: number;
  /** Offset of the line in the file, not counting the byte order mark. */
  readonly offset: number;
  /** Without the line feed. If `isCut`, only the beginning of the line. */
  readonly text: Buffer;
  readonly isCut: boolean;
}

/** Parses ripgrep's output with `--null`, piece by piece: `./path NUL line:offset:text LF`. */
export class MatchedLines {
  #rest: Buffer = Buffer.alloc(0);

  *push(piece: Buffer): Generator<MatchedLine> {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let from = 0;
    for (;;) {
      const nul = bytes.indexOf(0, from);
      const end = nul < 0 ? -1 : bytes.indexOf(0x0a, nul);
      if (end < 0) break;
      const path = withoutDot(bytes.toString('latin1', from, nul).replace(binaryWarning, ''));
      const numbers = /^(\d+):(\d+):/.exec(bytes.toString('latin1', nul + 1, nul + 1 + MAX_NUMBERS));
      from = end + 1;
      if (!numbers) continue;
      const line = Buffer.from(bytes.subarray(nul + 1 + numbers[0].length, end));
      yield { path, line: Number(numbers[1]), offset: Number(numbers[2]), ...withoutNotice(line) };
    }
    this.#rest = Buffer.from(bytes.subarray(from));
  }
}

/** Parses ripgrep's output with `--files --null`, piece by piece: `./path NUL`. */
export class FoundNames {
  #rest = '';

  *push(piece: Buffer): Generator<RawPath> {
    const names = (this.#rest + piece.toString('latin1')).split('\0');
    this.#rest = names.pop() ?? '';
    for (const name of names) yield withoutDot(name);
  }
}

const MAX_NUMBERS = 40;
/** ripgrep prints this line between two records if a file turns out to be binary after its first matches. */
const binaryWarning = /^[^\0]*?: WARNING: stopped searching binary file after match \([^)\n]*\)\n/;
const cutNotice = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

const withoutDot = (path: RawPath): RawPath => (path.startsWith('./') ? path.slice(2) : path);

function withoutNotice(text: Buffer): Pick<MatchedLine, 'text' | 'isCut'> {
  const notice = cutNotice.exec(text.toString('latin1', Math.max(0, text.length - 60)));
  return notice
    ? { text: text.subarray(0, text.length - notice[0].length), isCut: true }
    : { text, isCut: false };
}
