import { widthOf } from './text-width.ts';

/** What a live region is drawn on: a terminal that understands cursor movements. */
export interface Surface {
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

const esc = '\u001b[';
const hideCursor = `${esc}?25l`;
const showCursor = `${esc}?25h`;
const clearBelow = `${esc}0J`;

/**
 * The last lines of a terminal, drawn again when they change, while everything printed goes above them and stays in
 * the terminal's own history. Each line must fit the width; the region itself must fit the height.
 */
export class LiveRegion {
  readonly #surface: Surface;
  #lines: readonly string[] = [];
  #isClosed = false;

  constructor(surface: Surface) {
    this.#surface = surface;
    surface.write(hideCursor);
  }

  get columns(): number {
    return this.#surface.columns;
  }

  get rows(): number {
    return this.#surface.rows;
  }

  /** Shows these lines instead. */
  set(lines: readonly string[]): void {
    if (this.#isClosed || same(lines, this.#lines)) return;
    this.#surface.write(`${this.#erase()}${draw(lines)}`);
    this.#lines = lines;
  }

  /** Prints above the region. */
  print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (this.#isClosed) this.#surface.write(draw(lines));
    else this.#surface.write(`${this.#erase()}${draw(lines)}${draw(this.#lines)}`);
  }

  /** Leaves the terminal to another program; `set` comes back. */
  suspend(): void {
    this.#surface.write(`${this.#erase()}${showCursor}`);
    this.#lines = [];
  }

  resume(): void {
    if (!this.#isClosed) this.#surface.write(hideCursor);
  }

  /** Takes the region away and gives the cursor back. Harmless twice. */
  close(): void {
    if (this.#isClosed) return;
    this.suspend();
    this.#isClosed = true;
  }

  /** Back to the region's first row. A terminal that became narrower has wrapped the lines meanwhile. */
  #erase(): string {
    const columns = Math.max(this.#surface.columns, 1);
    const rows = this.#lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
    return rows === 0 ? '' : `${esc}${rows}A\r${clearBelow}`;
  }
}

const draw = (lines: readonly string[]): string => lines.map((line) => `${line}\r\n`).join('');

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i]);
