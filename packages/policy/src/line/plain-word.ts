import type { Word } from 'unbash';
import { expandBraces } from '../shell/brace-expansion.ts';

/** A word as the program gets it, with quotes removed. */
export interface PlainWord {
  readonly text: string;
  /** The word has an unquoted `*`, `?` or `[`: it stands for the names that it matches, or for itself if there are none. */
  readonly isPattern: boolean;
  /** The pattern is not the value of a variable in quotes, so it may stand for several names. */
  readonly mayBeSeveral?: true;
  /** The word contains a value that is only known at run time, such as `$?`. That value is a number. */
  readonly hasNumber: boolean;
}

/** The variables of a plain line: each has one known value. `undefined` in the result of a lookup: not known. */
export type PlainVariables = ReadonlyMap<string, PlainWord>;

const MAX_ALTERNATIVES = 100;

/**
 * Reads one word of a line, or returns undefined if it is not plain: if bash would expand anything in it but braces,
 * patterns and known variables. It removes the quotes itself, and does not trust the parser: where both read the word and
 * disagree, the word is not plain.
 */
export function readPlainWord(word: Word, variables: PlainVariables): readonly PlainWord[] | undefined {
  if (hasUnclearSequence(word.text)) return undefined;
  const expanded = /[{]/.test(word.text) ? expandBraces(word.text, MAX_ALTERNATIVES) : [word.text];
  // An alternative without any text, as in {,x}, leaves no word.
  const texts = expanded?.filter((text, _, all) => text !== '' || all.length === 1);
  if (!texts) return undefined;
  const words: PlainWord[] = [];
  for (const text of texts) {
    const read = new WordReader(text, variables).read();
    if (!read) return undefined;
    words.push(read);
  }
  const [only] = words;
  const isComparable = words.length === 1 && !word.text.includes('$') && only !== undefined;
  return isComparable && only.text !== word.value ? undefined : words;
}

/** Sequences that `expandBraces` shortens, or reads otherwise than bash: `{1..1000}`, `{01..03}`, `{a..Z}`, `{1..9..2}`. */
function hasUnclearSequence(text: string): boolean {
  for (const [sequence] of text.matchAll(/\{[^{},]*\.\.[^{},]*\}/g)) {
    const [, from, to] = /^\{(0|-?[1-9]\d{0,3})\.\.(0|-?[1-9]\d{0,3})\}$/.exec(sequence) ?? [];
    if (from !== undefined && Math.abs(Number(from) - Number(to)) < MAX_ALTERNATIVES) continue;
    if (!/^\{([a-z]\.\.[a-z]|[A-Z]\.\.[A-Z])\}$/.test(sequence)) return true;
  }
  return false;
}

/** A `$` before one of these, or at the end, is an ordinary character. Before any other it may begin an expansion. */
const AFTER_PLAIN_DOLLAR = /^[\s/|.,)}\\%+=:;^~\]]?$/;
const VARIABLE = /^\$(?:\{([a-zA-Z_]\w*)\}|([a-zA-Z_]\w*))/;
/** Unknown, but a number: the status of the last command or pipeline, and how many processors there are. */
const NUMBER = /^\$(?:\?|\{\?\}|\{PIPESTATUS\[\d\]\}|\(nproc\))/;
/** `$(cat <<'EOF' … )`, as agents write the message of a commit. Its body is looked at separately. */
const QUOTED_TEXT = /^\$\(cat <<(['"])(\w+)\1\n([\s\S]*)/;

class WordReader {
  readonly #raw: string;
  readonly #variables: PlainVariables;
  #at = 0;
  #text = '';
  #isPattern = false;
  #mayBeSeveral = false;
  #hasNumber = false;

  constructor(raw: string, variables: PlainVariables) {
    this.#raw = raw;
    this.#variables = variables;
  }

  read(): PlainWord | undefined {
    while (this.#at < this.#raw.length) if (!this.#readUnquoted()) return undefined;
    return {
      text: this.#text,
      isPattern: this.#isPattern,
      hasNumber: this.#hasNumber,
      ...(this.#mayBeSeveral && { mayBeSeveral: true }),
    };
  }

  /** Returns false if the word is not plain. */
  #readUnquoted(): boolean {
    const sign = this.#raw[this.#at] as string;
    switch (sign) {
      case "'":
        return this.#readSingleQuoted();
      case '"':
        this.#at++;
        return this.#readDoubleQuoted();
      case '\\':
        if (this.#raw[this.#at + 1] === undefined) return false;
        if (this.#raw[this.#at + 1] !== '\n') this.#text += this.#raw[this.#at + 1];
        this.#at += 2;
        return true;
      case '$':
        return this.#readDollar({ quoted: false });
      case '*':
      case '?':
      case '[':
        // `[` alone is the program.
        if (this.#raw !== '[') this.#isPattern = this.#mayBeSeveral = true;
        break;
      case '~':
        // At the beginning, or after `=` or `:`, it is a home folder; `HEAD~2` is not.
        if (this.#at === 0 || /[=:]/.test(this.#raw[this.#at - 1] as string)) return false;
        break;
      default:
        if (/[`()<>|&;\s]/.test(sign)) return false;
    }
    this.#text += sign;
    this.#at++;
    return true;
  }

  #readSingleQuoted(): boolean {
    const end = this.#raw.indexOf("'", this.#at + 1);
    if (end < 0) return false;
    this.#text += this.#raw.slice(this.#at + 1, end);
    this.#at = end + 1;
    return true;
  }

  #readDoubleQuoted(): boolean {
    while (this.#at < this.#raw.length) {
      const sign = this.#raw[this.#at] as string;
      const next = this.#raw[this.#at + 1] ?? '';
      if (sign === '"') {
        this.#at++;
        return true;
      }
      if (sign === '`') return false;
      if (sign === '$') {
        if (!this.#readDollar({ quoted: true })) return false;
      } else if (sign === '\\' && /[$`"\\\n]/.test(next)) {
        if (next !== '\n') this.#text += next;
        this.#at += 2;
      } else {
        this.#text += sign;
        this.#at++;
      }
    }
    return false;
  }

  /**
   * A here-document within quotes whose text bash takes as it is. It may have no sign that an older bash, which looks for the
   * end of a substitution by its parentheses alone, could take for the beginning of another expansion.
   */
  #readQuotedText(rest: string): boolean {
    const [whole = '', , delimiter = '', after = ''] = QUOTED_TEXT.exec(rest) ?? [];
    const end = `\n${after}`.indexOf(`\n${delimiter}\n`);
    if (whole === '' || end < 0) return false;
    const text = after.slice(0, end);
    const close = /^\s*\)/.exec(after.slice(end + delimiter.length))?.[0];
    if (close === undefined || /[$`\\"]/.test(text)) return false;
    this.#text += text.replace(/\n+$/, '');
    this.#at += whole.length - after.length + end + delimiter.length + close.length;
    return true;
  }

  #readDollar({ quoted }: { quoted: boolean }): boolean {
    const rest = this.#raw.slice(this.#at);
    const number = NUMBER.exec(rest)?.[0];
    if (number !== undefined) {
      this.#hasNumber = true;
      this.#text += '0';
      this.#at += number.length;
      return true;
    }
    if (quoted && rest.startsWith('$(')) return this.#readQuotedText(rest);
    const named = VARIABLE.exec(rest);
    if (named) {
      const value = this.#variables.get((named[1] ?? named[2]) as string);
      // Outside quotes, bash splits a value at blanks, also a name that a pattern has found, and expands its patterns.
      if (!value || (!quoted && (value.text === '' || /[\s*?[\\]/.test(value.text)))) return false;
      this.#text += value.text;
      this.#isPattern ||= value.isPattern;
      this.#hasNumber ||= value.hasNumber;
      this.#at += named[0].length;
      return true;
    }
    const next = rest[1] ?? '';
    if (!(AFTER_PLAIN_DOLLAR.test(next) || (quoted && next === '"'))) return false;
    this.#text += '$';
    this.#at++;
    return true;
  }
}
