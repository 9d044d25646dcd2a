import { unreadable } from './foreign-rule.ts';

export type Toml = { [key: string]: unknown };

/**
 * Reads the part of TOML that settings of agents use: tables, arrays of tables, and strings, numbers, booleans, arrays and
 * inline tables as values. Throws IMPORT_UNREADABLE for anything else: a rule that was not understood must not be lost.
 */
export function parseToml(text: string, file: string): Toml {
  return new TomlReader(text, file).read();
}

class TomlReader {
  readonly #text: string;
  readonly #file: string;
  #at = 0;

  constructor(text: string, file: string) {
    this.#text = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
    this.#file = file;
  }

  read(): Toml {
    const root = table();
    let current = root;
    for (;;) {
      this.#skip(/[\s]*(?:#[^\n]*\s*)*/y);
      if (this.#at >= this.#text.length) return root;
      if (this.#take('[[')) {
        const path = this.#keys();
        this.#expect(']]');
        current = this.#append(root, path);
      } else if (this.#take('[')) {
        const path = this.#keys();
        this.#expect(']');
        current = this.#tableAt(root, path);
      } else {
        this.#pair(current);
      }
      this.#skip(/[ \t]*(?:#[^\n]*)?/y);
      if (this.#at < this.#text.length && !this.#take('\n')) this.#fail('expected the end of the line');
    }
  }

  #pair(into: Toml): void {
    const path = this.#keys();
    this.#expect('=');
    const parent = this.#tableAt(into, path.slice(0, -1));
    const key = path.at(-1) as string;
    if (key in parent) this.#fail(`${key} stands there twice`);
    parent[key] = this.#value();
  }

  #value(): unknown {
    this.#skip(/[ \t]*/y);
    if (this.#take('"""')) return this.#until('"""', true);
    if (this.#take("'''")) return this.#until("'''", false);
    const quoted = this.#match(/"((?:[^"\\\n]|\\.)*)"/y);
    if (quoted) return this.#unescape(quoted[1] ?? '');
    const literal = this.#match(/'([^'\n]*)'/y);
    if (literal) return literal[1] ?? '';
    if (this.#take('[')) return this.#array();
    if (this.#take('{')) return this.#inlineTable();
    const word = this.#match(/[A-Za-z0-9_+.:-]+/y)?.[0];
    if (word === 'true' || word === 'false') return word === 'true';
    if (word !== undefined && /^[+-]?(\d[\d_]*)(\.\d+)?(e[+-]?\d+)?$/i.test(word))
      return Number(word.replaceAll('_', ''));
    if (word !== undefined && /^\d{4}-\d\d-\d\d/.test(word)) return word;
    return this.#fail('expected a value');
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    for (;;) {
      this.#skip(/[\s]*(?:#[^\n]*\s*)*/y);
      if (this.#take(']')) return items;
      items.push(this.#value());
      this.#skip(/[\s]*(?:#[^\n]*\s*)*/y);
      if (!this.#take(',')) {
        this.#expect(']');
        return items;
      }
    }
  }

  #inlineTable(): Toml {
    const made = table();
    this.#skip(/[ \t]*/y);
    if (this.#take('}')) return made;
    for (;;) {
      this.#pair(made);
      this.#skip(/[ \t]*/y);
      if (this.#take('}')) return made;
      this.#expect(',');
    }
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      this.#skip(/[ \t]*/y);
      const found = this.#match(/"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+)/y);
      if (!found) this.#fail('expected a name');
      const [, quoted, literal, bare] = found as RegExpExecArray;
      keys.push(quoted === undefined ? (literal ?? bare ?? '') : this.#unescape(quoted));
      this.#skip(/[ \t]*/y);
    } while (this.#take('.'));
    return keys;
  }

  #tableAt(from: Toml, path: readonly string[]): Toml {
    let at = from;
    for (const key of path) {
      at[key] ??= table();
      const next = at[key];
      const last = Array.isArray(next) ? next.at(-1) : next;
      if (typeof last !== 'object' || last === null) this.#fail(`${key} is no table`);
      at = last as Toml;
    }
    return at;
  }

  #append(root: Toml, path: readonly string[]): Toml {
    const parent = this.#tableAt(root, path.slice(0, -1));
    const key = path.at(-1) as string;
    parent[key] ??= [];
    const list = parent[key];
    if (!Array.isArray(list)) this.#fail(`${key} is no list of tables`);
    const made = table();
    (list as unknown[]).push(made);
    return made;
  }

  #until(end: string, escapes: boolean): string {
    const from = this.#text.startsWith('\n', this.#at) ? this.#at + 1 : this.#at;
    const to = this.#text.indexOf(end, from);
    if (to < 0) this.#fail('a text does not end');
    this.#at = to + end.length;
    const text = this.#text.slice(from, to);
    return escapes ? this.#unescape(text) : text;
  }

  #unescape(text: string): string {
    return text.replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])/g, (_, sign: string) => {
      if (sign.length > 1) return String.fromCodePoint(Number.parseInt(sign.slice(1), 16));
      const meant = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '"': '"', '\\': '\\' }[sign];
      return meant ?? this.#fail(`\\${sign} means nothing`);
    });
  }

  #skip(pattern: RegExp): void {
    this.#match(pattern);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at += found[0].length;
    return found;
  }

  #take(sign: string): boolean {
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #expect(sign: string): void {
    this.#skip(/[ \t]*/y);
    if (!this.#take(sign)) this.#fail(`expected ${sign}`);
  }

  #fail(problem: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length;
    throw unreadable(this.#file, `line ${line}: ${problem}`);
  }
}

const table = (): Toml => Object.create(null) as Toml;
