import type { Screen, Terminal } from '../terminal.ts';
import { type Key, KeyDecoder } from './keys.ts';

/** How long to wait for a text. Usually it is there at once, but the machine may be busy. */
const eventuallyMs = 120_000;

/** A terminal for tests: it understands what we send, shows what a person would see, and has keys to press. */
export class FakeScreen implements Screen {
  columns: number;
  rows: number;
  /** All lines, including those that have scrolled away. */
  readonly #lines: string[] = [''];
  #row = 0;
  #column = 0;
  raw = '';
  #listeners = new Set<(key: Key) => void>();
  #resized = new Set<() => void>();

  constructor(columns = 80, rows = 40) {
    this.columns = columns;
    this.rows = rows;
  }

  /** The visible text, without styles. */
  get text(): string {
    return this.#lines.map((line) => line.trimEnd()).join('\n');
  }

  get isTaken(): boolean {
    return this.#listeners.size > 0;
  }

  write(text: string): void {
    this.raw += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what we send
    for (const part of text.match(/\u001b\[[?\d;]*[A-Za-z]|[\r\n]|[^\u001b\r\n]+/g) ?? []) this.#take(part);
  }

  onKeys(listener: (key: Key) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  onResize(listener: () => void): () => void {
    this.#resized.add(listener);
    return () => void this.#resized.delete(listener);
  }

  resize(columns: number, rows: number): void {
    Object.assign(this, { columns, rows });
    for (const listener of this.#resized) listener();
  }

  /** What a keyboard sends, in one piece. */
  send(bytes: string): void {
    for (const key of new KeyDecoder().push(Buffer.from(bytes))) {
      for (const listener of [...this.#listeners]) listener(key);
    }
  }

  /** Each character by itself, as somebody types. */
  type(text: string): void {
    for (const character of text) this.send(character);
  }

  /** Waits until the person would see it. */
  async shows(wanted: string | RegExp): Promise<void> {
    await this.#until(
      () => (typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text)),
      wanted,
    );
  }

  async hides(unwanted: string): Promise<void> {
    await this.#until(() => !this.text.includes(unwanted), `no ${unwanted}`);
  }

  async #until(holds: () => boolean, what: unknown): Promise<void> {
    const start = performance.now();
    while (!holds()) {
      if (performance.now() - start > eventuallyMs)
        throw new Error(`The screen does not show ${what}:\n${this.text}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #take(part: string): void {
    if (part === '\r') this.#column = 0;
    else if (part === '\n') {
      this.#row += 1;
      this.#lines[this.#row] ??= '';
    } else if (part.startsWith('\u001b')) {
      if (part.endsWith('A')) this.#row = Math.max(this.#row - Number(part.slice(2, -1)), 0);
      if (part.endsWith('K')) this.#lines[this.#row] = (this.#lines[this.#row] ?? '').slice(0, this.#column);
    } else {
      const line = (this.#lines[this.#row] ?? '').padEnd(this.#column);
      this.#lines[this.#row] = line.slice(0, this.#column) + part + line.slice(this.#column + part.length);
      this.#column += part.length;
    }
  }
}

/** A terminal whose output is kept, with or without a screen. */
export function fakeTerminal({
  screen,
  input = '',
  color = false,
}: {
  screen?: FakeScreen;
  input?: string;
  color?: boolean;
} = {}): Terminal & { readonly out: () => string; readonly error: () => string } {
  let out = '';
  let error = '';
  return {
    stdin: (async function* () {
      if (input !== '') yield Buffer.from(input);
    })(),
    write: async (text) => {
      out += text;
      screen?.write(text.replaceAll('\n', '\r\n'));
    },
    writeError: (text) => {
      error += text;
    },
    color,
    interactive: screen !== undefined,
    async *typed() {
      yield* input.split('\n');
    },
    out: () => out,
    error: () => error,
    ...(screen && { screen }),
  };
}
