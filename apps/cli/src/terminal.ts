import { createInterface } from 'node:readline/promises';
import { makeVisible } from '@countersign/protocol';
import { type Key, KeyDecoder } from './screen/keys.ts';
import type { Surface } from './screen/live-region.ts';

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
  /** Set if a person uses it interactively: single keys, and lines that can be redrawn. */
  readonly screen?: Screen;
}

export interface Screen extends Surface {
  /** Returns a function that stops listening. */
  onResize(listener: () => void): () => void;
  /** Takes the keyboard, including Ctrl-C. Returns a function that releases it. */
  onKeys(listener: (key: Key) => void): () => void;
}

const codes = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const;
export type StyleName = keyof typeof codes;
type Styles = Record<StyleName, (text: string) => string>;

/** Styles for a terminal with colours, or none. The text itself is made harmless first. */
export function styles(color: boolean): Styles {
  const paint = paints(color);
  const entries = Object.entries(paint).map(([name, put]) => [
    name,
    (text: string) => put(makeVisible(text)),
  ]);
  return Object.fromEntries(entries) as Styles;
}

/** The same for text that has been made visible already, as a whole, before it was cut into lines. */
export function paints(color: boolean): Styles {
  const paint = (code: string) => (text: string) =>
    color && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  const entries = Object.entries(codes).map(([name, code]) => [name, paint(code)]);
  return Object.fromEntries(entries) as Styles;
}

/** The streams of a process, or those of a test. */
export interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: Pick<NodeJS.WriteStream, 'write'>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The terminal of this process. */
export function processTerminal({ stdin, stdout, stderr, env }: TerminalStreams = process): Terminal {
  // Ignore the error of a closed reader (`| head`) here: the next write reports it.
  stdout.on('error', () => {});
  const interactive = stdin.isTTY === true && stdout.isTTY === true;
  return {
    stdin,
    write: (text) =>
      new Promise((resolve, reject) => {
        stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    writeError: (text) => void stderr.write(text),
    color: wantsColor(env, stdout),
    interactive,
    async *typed(prompt) {
      const lines = createInterface({ input: stdin, output: stdout, prompt });
      let isOpen = true;
      lines.once('close', () => {
        isOpen = false;
      });
      lines.prompt();
      try {
        for await (const line of lines) {
          yield line;
          if (isOpen) lines.prompt(); // the input may have ended while the line was being used
        }
      } finally {
        lines.close(); // otherwise a caller that needs one line would wait for the end of the input
      }
    },
    ...(interactive && movesCursor(env) && { screen: screenOf(stdin, stdout) }),
  };
}

const bracketedPaste = (on: boolean): string => `\u001b[?2004${on ? 'h' : 'l'}`;

function screenOf(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream): Screen {
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    write: (text) => void stdout.write(text),
    onResize(listener) {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    onKeys(listener) {
      const decoder = new KeyDecoder();
      const read = (chunk: Uint8Array) => {
        for (const key of decoder.push(chunk)) listener(key);
      };
      stdin.setRawMode(true);
      stdout.write(bracketedPaste(true));
      stdin.on('data', read).resume();
      return () => {
        stdin.off('data', read).pause();
        stdin.setRawMode(false);
        stdout.write(bracketedPaste(false));
      };
    },
  };
}

/** The usual signs: NO_COLOR wins, FORCE_COLOR asks for it, else a terminal gets it and a file does not. */
function wantsColor(env: TerminalStreams['env'], stdout: NodeJS.WriteStream): boolean {
  if (env.NO_COLOR !== undefined) return false;
  return env.FORCE_COLOR !== undefined || (stdout.isTTY === true && movesCursor(env));
}

/** A terminal that cannot redraw lines (Emacs' `M-x shell`) gets no cards: old ones would stay. */
const movesCursor = ({ TERM }: TerminalStreams['env']): boolean => TERM !== 'dumb';
