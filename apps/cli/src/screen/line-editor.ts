import type { Key } from './keys.ts';

/** One line of text that a person edits, with the usual keys of a shell. */
export class LineEditor {
  /** Split by code point, so that the cursor never stands inside a character. */
  #characters: string[] = [];
  #cursor = 0;

  constructor(text = '') {
    this.set(text);
  }

  get text(): string {
    return this.#characters.join('');
  }

  get beforeCursor(): string {
    return this.#characters.slice(0, this.#cursor).join('');
  }

  get afterCursor(): string {
    return this.#characters.slice(this.#cursor).join('');
  }

  set(text: string): void {
    this.#characters = [...text];
    this.#cursor = this.#characters.length;
  }

  /** Returns whether the key was handled. */
  press({ name, text }: Key): boolean {
    const length = this.#characters.length;
    switch (name) {
      case 'left':
      case 'ctrl-b':
        this.#cursor = Math.max(0, this.#cursor - 1);
        return true;
      case 'right':
      case 'ctrl-f':
        this.#cursor = Math.min(length, this.#cursor + 1);
        return true;
      case 'home':
      case 'ctrl-a':
        this.#cursor = 0;
        return true;
      case 'end':
      case 'ctrl-e':
        this.#cursor = length;
        return true;
      case 'backspace':
        this.#remove(this.#cursor - 1, this.#cursor);
        return true;
      case 'delete':
        this.#remove(this.#cursor, this.#cursor + 1);
        return true;
      case 'ctrl-u':
        this.#remove(0, this.#cursor);
        return true;
      case 'ctrl-k':
        this.#remove(this.#cursor, length);
        return true;
      case 'ctrl-w':
        this.#remove(this.#wordStart(), this.#cursor);
        return true;
      default:
        if (text === '') return false;
        this.#characters.splice(this.#cursor, 0, ...text);
        this.#cursor += [...text].length;
        return true;
    }
  }

  #remove(from: number, to: number): void {
    const start = Math.max(0, from);
    this.#characters.splice(start, to - start);
    this.#cursor = Math.min(start, this.#characters.length);
  }

  #wordStart(): number {
    return [...this.beforeCursor.replace(/\S+\s*$/, '')].length;
  }
}
