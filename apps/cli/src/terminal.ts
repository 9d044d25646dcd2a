import { createInterface } from 'node:readline/promises';
import { makeVisible } from '@countersign/protocol';
import type { Environment } from './command-context.ts';
import { type Key, KeyDecoder } from './screen/keys.ts';
import type { Surface } from './screen/live-region.ts';

/** Where a command prints. Tests pass their own; `main` passes the process's. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Resolves when the text is written. Await it, so that a slow reader does not fill our memory. */
  write(text: string): Promise<void>;
  writeError(text: string): void;
  readonly color: boolean;
  readonly interactive: boolean;
  /** Prompts for lines until the person ends the input. */
  typed(prompt: string): AsyncIterable<string>;
  /** Single keys and redrawable lines. Set if a person uses the terminal interactively. */
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

/** Functions that style text, or do not if `color` is false. They make control characters visible first. */
export function styles(color: boolean): Styles {
  const paint = paints(color);
  const entries = Object.entries(paint).map(([name, put]) => [
    name,
    (text: string) => put(makeVisible(text)),
  ]);
  return Object.fromEntries(entries) as Styles;
}

/** Functions that style text whose control characters are already visible. */
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
  readonly env: Environment;
}

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

/** NO_COLOR wins over FORCE_COLOR. Without either, a terminal gets colours and a file does not. */
function wantsColor(env: TerminalStreams['env'], stdout: NodeJS.WriteStream): boolean {
  if (env.NO_COLOR !== undefined) return false;
  return env.FORCE_COLOR !== undefined || (stdout.isTTY === true && movesCursor(env));
}

/** False for a terminal that cannot redraw lines, such as Emacs' `M-x shell`: old cards would stay on it. */
const movesCursor = ({ TERM }: TerminalStreams['env']): boolean => TERM !== 'dumb';
