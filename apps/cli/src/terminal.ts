import { createInterface } from 'node:readline/promises';
import { makeVisible } from '@countersign/protocol';

/** Where a command prints. Tests pass their own; `main` passes the process's. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Resolves when the reader has taken it, so that a slow reader slows us instead of filling memory. */
  write(text: string): Promise<void>;
  writeError(text: string): void;
  readonly color: boolean;
  readonly interactive: boolean;
  /** What a person types, line by line, behind a prompt, until they end it. */
  typed(prompt: string): AsyncIterable<string>;
}

const codes = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const;

/** Styles for a terminal with colours, or none. The text itself is made harmless first. */
export function styles(color: boolean): Record<keyof typeof codes, (text: string) => string> {
  const style = (code: string) => (text: string) =>
    color ? `\u001b[${code}m${makeVisible(text)}\u001b[0m` : makeVisible(text);
  return Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, style(code)])) as ReturnType<
    typeof styles
  >;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  // A reader that went away (`| head`) is told to whoever writes next; nobody else needs to hear of it.
  process.stdout.on('error', () => {});
  return {
    stdin: process.stdin,
    write: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    writeError: (text) => void process.stderr.write(text),
    color: wantsColor(),
    interactive: process.stdin.isTTY === true && process.stdout.isTTY === true,
    async *typed(prompt) {
      const lines = createInterface({ input: process.stdin, output: process.stdout, prompt });
      lines.prompt();
      for await (const line of lines) {
        yield line;
        lines.prompt();
      }
    },
  };
}

/** The usual signs: NO_COLOR wins, FORCE_COLOR asks for it, else a terminal gets it and a file does not. */
function wantsColor(): boolean {
  if (process.env.NO_COLOR !== undefined) return false;
  return process.env.FORCE_COLOR !== undefined || process.stdout.isTTY === true;
}
