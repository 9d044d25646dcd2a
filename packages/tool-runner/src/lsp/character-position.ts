import type { Position, Range } from 'vscode-languageserver-types';

/** How a server counts columns: in UTF-16 units, or in whole characters (`utf-32`) if it agreed to that. */
export type PositionEncoding = 'utf-16' | 'utf-32';

/** A position as tools count: from 1, in code points, so an emoji is one character. */
export interface CharacterPosition {
  readonly line: number;
  readonly col: number;
}

/** From the first character to the one after the last. */
export interface CharacterRange extends CharacterPosition {
  readonly end_line: number;
  readonly end_col: number;
}

/** The lines of one text. Converts positions between tools and servers. */
export class TextLines {
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.#lines = text.split(/\r\n|\n|\r/); // the line ends of the language server protocol
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Counted from 1. Undefined after the last line. */
  line(number: number): string | undefined {
    return this.#lines[number - 1];
  }

  /** Undefined if the text has no such position; a position after a line's last character is valid. */
  toServer({ line, col }: CharacterPosition, encoding: PositionEncoding): Position | undefined {
    const text = this.line(line);
    if (text === undefined) return undefined;
    const units = unitsBefore(text, col - 1);
    if (units === undefined) return undefined;
    return { line: line - 1, character: encoding === 'utf-16' ? units : col - 1 };
  }

  /** As in the protocol, a character after the end of a line means its end. Undefined for a missing line. */
  fromServer({ line, character }: Position, encoding: PositionEncoding): CharacterPosition | undefined {
    const text = this.line(line + 1);
    if (text === undefined) return undefined;
    const characters =
      encoding === 'utf-16'
        ? charactersIn(text.slice(0, character))
        : Math.min(character, charactersIn(text));
    return { line: line + 1, col: characters + 1 };
  }

  rangeFromServer({ start, end }: Range, encoding: PositionEncoding): CharacterRange | undefined {
    const from = this.fromServer(start, encoding);
    // The end of a range may be the beginning of the line after the last one.
    const to = this.fromServer(end, encoding) ?? this.#end();
    return from && { ...from, end_line: to.line, end_col: to.col };
  }

  #end(): CharacterPosition {
    return { line: this.count, col: charactersIn(this.line(this.count) ?? '') + 1 };
  }
}

/** How many UTF-16 units the first characters of a line have; undefined if the line has fewer characters. */
function unitsBefore(line: string, characters: number): number | undefined {
  let units = 0;
  for (let count = 0; count < characters; count += 1) {
    const codePoint = line.codePointAt(units);
    if (codePoint === undefined) return undefined;
    units += codePoint > 0xffff ? 2 : 1;
  }
  return units;
}

function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
