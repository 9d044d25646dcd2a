import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../../lab/src/waiting.ts';

const launcher = fileURLToPath(new URL('../../../apps/cli/bin/countersign.mjs', import.meta.url));

/** `countersign` in its own process behind a real pseudo terminal (`script` of util-linux). */
export class PseudoTerminal {
  readonly #child: ChildProcess;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  /** The raw output. */
  raw = '';

  constructor(argv: readonly string[], env: Readonly<Record<string, string>>) {
    const words = [process.execPath, launcher, ...argv].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    const command = `stty rows 40 cols 100; exec ${words.join(' ')}`;
    this.#child = spawn('script', ['-q', '-e', '-f', '-c', command, '/dev/null'], {
      env: { PATH: process.env.PATH, TERM: 'xterm-256color', LANG: 'en_US.UTF-8', SHELL: '/bin/sh', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
    });
    this.ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code ?? 1)));
  }

  /** The output without styles and cursor movements. */
  get text(): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches escape sequences
    return this.raw.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '');
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until `wanted` is in the output, from the position `after` on. */
  async shows(wanted: string, after = 0): Promise<void> {
    await until(() => this.text.slice(after).includes(wanted), {
      otherwise: () => `The terminal does not show "${wanted}":\n${this.text}`,
    });
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
