import { StringDecoder } from 'node:string_decoder';
import { styledLines } from '@countersign/approvals';
import { drawStyled } from '../screen/styled-text.ts';

/** A line without an end is printed at this length. */
const MAX_HELD = 16 * 1024;

/**
 * A stream of a command's output for a terminal: whole lines with their colours, and other control characters made visible,
 * so that a command cannot draw over what we say about it (UI-6).
 */
export class ShownOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #color: boolean;
  #held = '';

  constructor(color: boolean) {
    this.#color = color;
  }

  push(chunk: Buffer): string {
    this.#held += this.#decoder.write(chunk);
    const cut = this.#held.length > MAX_HELD ? this.#held.length : this.#held.lastIndexOf('\n') + 1;
    const whole = this.#held.slice(0, cut);
    this.#held = this.#held.slice(cut);
    return this.#draw(whole);
  }

  /** The rest, when nothing follows. */
  end(): string {
    return this.#draw(this.#held + this.#decoder.end());
  }

  #draw(text: string): string {
    if (text === '') return '';
    return styledLines(text)
      .map((line) => `${drawStyled(line, this.#color)}\n`)
      .join('');
  }
}
