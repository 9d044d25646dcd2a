import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../command-context.ts';
import type { Screen } from '../terminal.ts';
import type { Key } from './keys.ts';
import { LiveRegion } from './live-region.ts';
import { editorOf, runEditor } from './run-editor.ts';

export interface StageDeps {
  readonly screen: Screen;
  readonly env: Environment;
  /** The live lines at the bottom. */
  lines(columns: number, rows: number): readonly string[];
  onKey(key: Key): void;
}

/** Controls the terminal for a command: prints lines above, redraws live lines below, and reads single keys. */
export class Stage {
  readonly #deps: StageDeps;
  readonly #region: LiveRegion;
  #stopKeys: () => void;
  readonly #stopResize: () => void;
  #isAway = false;
  #isClosed = false;
  /** Lines that were printed while another program had the terminal. */
  #held: string[] = [];

  constructor(deps: StageDeps) {
    this.#deps = deps;
    this.#region = new LiveRegion(deps.screen);
    this.#stopKeys = deps.screen.onKeys(deps.onKey);
    this.#stopResize = deps.screen.onResize(() => this.draw());
    process.once('exit', this.#atExit);
  }

  draw(): void {
    if (!this.#isAway && !this.#isClosed) this.#region.set(this.#lines());
  }

  print(lines: readonly string[]): void {
    if (this.#isAway) this.#held.push(...lines);
    else if (this.#isClosed) this.#region.print(lines);
    else if (lines.length > 0) this.#region.print(lines, this.#lines());
  }

  /** The live lines, as many as the screen can show. */
  #lines(): string[] {
    const { columns, rows } = this.#deps.screen;
    return this.#deps.lines(columns, rows).slice(-Math.max(rows - 1, 1));
  }

  /** Restores keyboard and screen. May be called twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    process.off('exit', this.#atExit);
    this.#stopKeys();
    this.#stopResize();
    this.#region.close();
  }

  /** Restores echo and cursor, however the process ends. */
  readonly #atExit = () => this.close();

  /** Opens a text in $VISUAL or $EDITOR, which has the terminal until it ends. Undefined if neither is set. */
  get edit(): ((text: string) => Promise<string>) | undefined {
    const editor = editorOf(this.#deps.env);
    return editor ? (text) => this.#edit(editor, text) : undefined;
  }

  async #edit(editor: string, text: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-edit-')); // 0700: parameters may be private
    const file = join(folder, 'parameters.json');
    // The terminal sends Ctrl-C to us too, but it is meant for the editor.
    const ignore = () => {};
    process.on('SIGINT', ignore);
    this.#isAway = true;
    this.#stopKeys();
    this.#region.suspend();
    try {
      writeFileSync(file, `${text}\n`, { mode: 0o600 });
      await runEditor(editor, file);
      return readFileSync(file, 'utf8');
    } finally {
      rmSync(folder, { recursive: true, force: true });
      process.off('SIGINT', ignore);
      this.#isAway = false;
      if (!this.#isClosed) {
        this.#stopKeys = this.#deps.screen.onKeys(this.#deps.onKey);
        this.#region.resume();
        this.#region.print(this.#held);
        this.draw();
      }
      this.#held = [];
    }
  }
}
