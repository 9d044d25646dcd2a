import { widthOf } from './text-width.ts';

/** The terminal that a live region is drawn on. It must understand cursor movements. */
export interface Surface {
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

const esc = '\u001b[';
const hideCursor = `${esc}?25l`;
const showCursor = `${esc}?25h`;
const clearLine = `${esc}K`;

/**
 * Lines at the bottom of a terminal that are redrawn in place. Printed lines go above them and stay in the terminal's
 * own history. Each line must fit the width; the region must fit the height.
 */
export class LiveRegion {
  readonly #surface: Surface;
  #lines: readonly string[] = [];
  #isClosed = false;

  constructor(surface: Surface) {
    this.#surface = surface;
    surface.write(hideCursor);
  }

  /** Replaces the lines of the region. */
  set(lines: readonly string[]): void {
    if (this.#isClosed || same(lines, this.#lines)) return;
    this.#overwrite(lines);
    this.#lines = lines;
  }

  /**
   * Prints above the region, and replaces the region's lines at the same time. Drawing the old ones once more would scroll
   * a screen that they fill.
   */
  print(lines: readonly string[], live: readonly string[] = this.#lines): void {
    if (lines.length === 0) return;
    this.#overwrite([...lines, ...live]);
    this.#lines = live;
  }

  /** Leaves the terminal to another program until the next `set`. */
  suspend(): void {
    this.#overwrite([]);
    this.#surface.write(showCursor);
    this.#lines = [];
  }

  resume(): void {
    if (!this.#isClosed) this.#surface.write(hideCursor);
  }

  /** Removes the region and shows the cursor again. May be called twice. */
  close(): void {
    if (this.#isClosed) return;
    this.suspend();
    this.#isClosed = true;
  }

  /**
   * Writes over the region from its first row, so that nothing flickers. Clears surplus rows one by one: "clear all
   * below" makes some terminals push their screen into the history.
   */
  #overwrite(lines: readonly string[]): void {
    const columns = Math.max(this.#surface.columns, 1);
    // If the terminal became narrower, it has wrapped our lines, so one line may take several rows.
    const rowsOf = (line: string) => Math.max(1, Math.ceil(widthOf(line) / columns));
    const before = this.#lines.reduce((sum, line) => sum + rowsOf(line), 0);
    const after = lines.reduce((sum, line) => sum + rowsOf(line), 0);
    const surplus = Math.max(before - after, 0);
    const written = lines.map((line) => `${line}${clearLine}\r\n`).join('');
    const emptied = `${clearLine}\r\n`.repeat(surplus);
    this.#surface.write(`${up(before)}${written}${emptied}${up(surplus)}`);
  }
}

const up = (rows: number): string => (rows === 0 ? '' : `${esc}${rows}A\r`);

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i]);
