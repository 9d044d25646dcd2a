import type { Manual } from './notes.ts';
import { OptionState, optionTable, parseOptions } from './options.ts';
import { type CommandRule, onlyReads } from './rules.ts';

const unknownScript: CommandRule = {
  id: 'CMD-SED-1',
  risk: 'HIGH',
  why: 'runs a sed script that may write files or start programs',
  matches: [
    "sed 's/a/b/e' a.txt",
    "sed -n '1e id' a.txt",
    "sed 's/a/b/w out.txt' a.txt",
    "sed -n 'w out.txt' a.txt",
    "sed '1r docs/notes.txt' a.txt",
    'sed -f x.sed a.txt',
    'sed --file=x.sed a.txt',
    'sed -nf x.sed a.txt',
    'sed --expr=1e a.txt',
    "sed 's/[/]/e;p' a.txt",
    "sed -n '/a/{p;e\n}' a.txt",
    "sed -e 's/a/b/' -e 'e id' a.txt",
    "sed 's/a/\\\ne/' a.txt",
  ],
  doesNotMatch: [
    "sed -n '1,80p' src/a.ts",
    "sed -n '10p;20q' a.txt",
    "sed -n '/start/,/end/p' a.txt",
    "sed 's/a/b/g' a.txt",
    "sed -E 's#(a)/(b)#\\2#gi' a.txt",
    "sed -n '/x/{=;p;}' a.txt",
    "sed '/^$/d;s/e$//' a.txt",
    "sed -n '$p' a.txt",
    "sed ':a;N;$!ba;s/\\n/ /g' a.txt",
    'sed 5q a.txt',
    "sed -n '1~2p' a.txt",
    "sed 'y/abc/ABC/' a.txt",
  ],
};

const options = optionTable({
  flags: `-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data --posix --sandbox --debug
    --follow-symlinks --help --version`,
  values: '-l --line-length',
  rows: [
    { names: '-e --expression', value: 'text' },
    { names: '-f --file', value: 'read', stream: true, rule: unknownScript },
    { names: '-i --in-place', value: 'text', optional: true },
  ],
});

/** Reads, and with `-i` writes its operands. The script is parsed: only commands that print, delete and replace count. */
export const sed: Manual = {
  names: ['sed', 'gsed'],
  scriptFirst: true,
  rules: [unknownScript],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = parseOptions(args, options);
    for (const word of words) if (word.kind !== 'operand') notes.option(word);
    const state = new OptionState(words);
    const operands = words.filter((word) => word.kind === 'operand').map(({ text }) => text);
    const given = [...state.valuesOf('-e')];
    const hasScript = state.wasGiven('-e') || state.wasGiven('-f');
    const scripts = hasScript ? given : operands.slice(0, 1);
    const script = scripts.join('\n');
    if (!isHarmlessScript(script)) notes.raise(unknownScript, script);
    const edits = state.wasGiven('-i');
    for (const text of hasScript ? operands : operands.slice(1))
      if (edits) {
        notes.changes(text);
        for (const suffix of state.valuesOf('-i'))
          if (!/[*/]/.test(suffix)) notes.changes(`${text}${suffix}`);
      } else notes.pathOrStream(text, 'read');
    // `-i*suffix` and `-i/dir/` write the copy elsewhere.
    for (const suffix of state.valuesOf('-i')) if (/[*/]/.test(suffix)) notes.raise(unknownScript, suffix);
  },
};

/** Whether every command of a script only prints, deletes, replaces or jumps. */
function isHarmlessScript(script: string): boolean {
  return script.length <= 4_000 && new ScriptReader(script).isHarmless();
}

class ScriptReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isHarmless(): boolean {
    while (this.#at < this.#text.length) {
      this.#skip(/[\s;]*/y);
      if (this.#at >= this.#text.length) break;
      if (this.#take('}')) {
        if (--this.#depth < 0) return false;
        continue;
      }
      if (!this.#addresses() || !this.#command()) return false;
    }
    return this.#depth === 0;
  }

  #command(): boolean {
    const name = this.#text[this.#at++];
    switch (name) {
      case '{':
        this.#depth++;
        return true;
      case 's':
        return this.#substitution();
      case 'y':
        return this.#delimited() !== undefined && this.#ends();
      case 'q':
      case 'Q':
      case 'l':
        this.#skip(/ *\d*/y);
        return this.#ends();
      case ':':
        return this.#skip(/ *\w+/y) && this.#ends();
      case 'b':
      case 't':
      case 'T':
        this.#skip(/ *\w*/y);
        return this.#ends();
      case 'p':
      case 'P':
      case 'd':
      case 'D':
      case 'n':
      case 'N':
      case 'g':
      case 'G':
      case 'h':
      case 'H':
      case 'x':
      case '=':
      case 'z':
      case 'F':
        return this.#ends();
      default:
        return false;
    }
  }

  /** `s/a/b/flags`: `e` executes and `w` writes, so only these flags are harmless. */
  #substitution(): boolean {
    const parts = this.#delimited();
    if (parts === undefined) return false;
    this.#skip(/[gpiIm0-9]*/y);
    return this.#ends();
  }

  /** Reads `/a/b/` with any delimiter. A bracket that is open where the delimiter stands has two readings, so neither counts. */
  #delimited(): readonly [string, string] | undefined {
    const delimiter = this.#text[this.#at++];
    if (delimiter === undefined || /[\s\\\w;{}]/.test(delimiter)) return undefined;
    const first = this.#until(delimiter);
    const second = first === undefined ? undefined : this.#until(delimiter);
    return first === undefined || second === undefined || !hasWholeBrackets(first)
      ? undefined
      : [first, second];
  }

  #until(delimiter: string): string | undefined {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      const sign = this.#text[this.#at];
      if (sign === '\n') return undefined;
      if (sign === '\\') {
        if (this.#text[this.#at + 1] === '\n') return undefined;
        this.#at++;
      } else if (sign === delimiter) return this.#text.slice(start, this.#at++);
    }
    return undefined;
  }

  /** `1`, `$`, `/re/I`, `\cREc`, `1~2`, then a second one after a comma: also `+3` and `~4`. */
  #addresses(): boolean {
    if (!this.#address()) return false;
    this.#skip(/\s*/y);
    if (this.#take(',')) {
      this.#skip(/\s*/y);
      if (!this.#skip(/[+~]\d+/y) && !this.#address({ needed: true })) return false;
    }
    this.#skip(/[\s!]*/y);
    return true;
  }

  #address({ needed = false } = {}): boolean {
    if (this.#skip(/\d+(~\d+)?|\$/y)) return true;
    const opening = this.#text[this.#at];
    if (opening !== '/' && opening !== '\\') return !needed;
    if (opening === '\\') this.#at++;
    const delimiter = this.#text[this.#at++];
    if (delimiter === undefined || /[\s\\\w;{}]/.test(delimiter)) return false;
    const expression = this.#until(delimiter);
    if (expression === undefined || !hasWholeBrackets(expression)) return false;
    this.#skip(/[IM]*/y);
    return true;
  }

  /** After a command: the end, a separator, or a closing brace. */
  #ends(): boolean {
    this.#skip(/[ \t]*/y);
    const sign = this.#text[this.#at];
    return sign === undefined || sign === ';' || sign === '\n' || sign === '}';
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  /** Skips what matches here. Returns whether anything did. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }
}

/** Whether each `[` of a regular expression is closed in it. */
function hasWholeBrackets(expression: string): boolean {
  for (let at = 0; at < expression.length; at++) {
    if (expression[at] === '\\') at++;
    else if (expression[at] === '[') {
      const end = expression.indexOf(']', at + (/^\[\^?\]/.exec(expression.slice(at))?.[0].length ?? 1));
      if (end < 0) return false;
      at = end;
    }
  }
  return true;
}
