import { execFileSync } from 'node:child_process';
import { pid } from 'node:process';
import { until } from '../../tests/lab/src/waiting.ts';

/** A command in a real terminal (tmux), with keys to press and a screen to read. */
export class TerminalScreen {
  readonly #socket = `countersign-pictures-${pid}`;

  constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const line = ['env', ...variables, ...command].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    this.#tmux('new-session', '-d', '-x', '100', '-y', '32', line.join(' '));
  }

  type(text: string): void {
    this.#tmux('send-keys', '-t', '0', '-l', text);
  }

  press(...keys: string[]): void {
    this.#tmux('send-keys', '-t', '0', ...keys);
  }

  /** Waits until all these words are on the screen. */
  async shows(...words: string[]): Promise<void> {
    const text = () => this.#tmux('capture-pane', '-p', '-t', '0');
    const holds = () => {
      const seen = text();
      return words.every((word) => seen.includes(word));
    };
    await until(holds, { otherwise: () => `The terminal does not show "${words}":\n${text()}` });
  }

  /** The screen with its colours, as escape sequences. */
  capture(): string {
    return this.#tmux('capture-pane', '-e', '-p', '-t', '0');
  }

  close(): void {
    this.#tmux('kill-server');
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, '-f', '/dev/null', ...args], { encoding: 'utf8' });
  }
}
