import type { Word } from './options.ts';

/**
 * What the options of one call come to. An option can be taken back later on the line, and put back after that, so a
 * notes asks in one of two ways:
 *
 * - `isOn`, for an option that makes a call less risky: it must still be in force at the end of the line;
 * - `wasGiven`, for an option that makes a call riskier: once is enough, even if the line takes it back.
 */
export class OptionState {
  readonly #words: readonly Word[];

  constructor(words: readonly Word[]) {
    this.#words = words;
  }

  /**
   * Whether the last word on any of `names` gives one of them. The names are one setting: taking back any of them
   * takes back all, as `--no-list` does to `-l`. `among` lists further names of the same setting, which replace these.
   */
  isOn(names: readonly string[], among: readonly string[] = []): boolean {
    let on = false;
    for (const word of this.#words) {
      if (word.kind === 'negation') {
        if (word.rows.some((row) => hasName(row.names, names) || hasName(row.names, among))) on = false;
      } else if (word.kind === 'option') {
        if (hasName(word.row.names, names)) on = true;
        else if (hasName(word.row.names, among) || takesBack(word.row.names, names)) on = false;
      }
    }
    return on;
  }

  wasGiven(...names: readonly string[]): boolean {
    return this.#words.some((word) => word.kind === 'option' && hasName(word.row.names, names));
  }

  /** Every value that was given to an option of this name: which of them counts, versions of a program disagree on. */
  valuesOf(name: string): readonly string[] {
    return this.#words.flatMap((word) =>
      word.kind === 'option' && word.value !== undefined && hasName(word.row.names, [name])
        ? [word.value]
        : [],
    );
  }
}

const hasName = (rowNames: string, names: readonly string[]): boolean =>
  rowNames.split(/\s+/).some((name) => names.includes(name));

/** A table may list `--x` and `--no-x` as two options. */
const takesBack = (rowNames: string, names: readonly string[]): boolean =>
  rowNames
    .split(/\s+/)
    .some((name) => name.startsWith('--no-') && names.includes(`--${name.slice('--no-'.length)}`));
