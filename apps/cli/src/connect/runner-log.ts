import { closeSync, fchmodSync, fstatSync, openSync, writeSync } from 'node:fs';
import { CountersignError } from '@countersign/protocol';
import type { Logger, LogLevel } from '@countersign/tool-runner';
import { type LogOptions, logLevels } from './log-options.ts';

export interface LogLine {
  readonly level: LogLevel;
  readonly time: Date;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * The runner's log (OB-2). Without `--log-file`, the terminal shows lines of `--log-level` and above (default: error).
 * With it, the file gets them (default: info), and the terminal shows only errors. The caller has masked all secrets.
 */
export class RunnerLog implements Logger {
  readonly isDebugEnabled: boolean;
  readonly #show: (line: LogLine) => void;
  readonly #shown: LogLevel;
  readonly #written: LogLevel;
  #file: number | undefined;

  /** Throws USAGE when the file cannot be opened. */
  constructor({ level, file }: LogOptions, show: (line: LogLine) => void) {
    this.#show = show;
    this.#shown = file === undefined ? (level ?? 'error') : 'error';
    this.#written = level ?? 'info';
    this.isDebugEnabled = level === 'debug';
    if (file !== undefined) this.#file = openLog(file);
  }

  debug(message: string, details?: LogLine['details']): void {
    this.#add('debug', message, details);
  }

  info(message: string, details?: LogLine['details']): void {
    this.#add('info', message, details);
  }

  error(message: string, details?: LogLine['details']): void {
    this.#add('error', message, details);
  }

  /** Calling it twice is harmless. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #add(level: LogLevel, message: string, details: LogLine['details'] = {}): void {
    const line = { level, time: new Date(), message, details };
    if (isAtLeast(level, this.#shown)) this.#show(line);
    if (this.#file === undefined || !isAtLeast(level, this.#written)) return;
    try {
      writeSync(this.#file, `${jsonLine(line)}\n`);
    } catch (error) {
      // A full disk must not stop the runner: close the file and report that once.
      this.close();
      this.#add('error', 'Log file failed', { problem: (error as Error).message });
    }
  }
}

const isAtLeast = (level: LogLevel, wanted: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(wanted);

/** Opens the file for appending, private to the person even if it exists. The mode of a pipe or device is kept. */
function openLog(file: string): number {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'a', 0o600);
    const stats = fstatSync(descriptor);
    if (stats.isFile() && (stats.mode & 0o077) !== 0) fchmodSync(descriptor, 0o600);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    const problem = `--log-file ${file}: ${(error as Error).message}`;
    throw new CountersignError('USAGE', { problem, help: 'countersign connect --help' }, { cause: error });
  }
}

/** A line for programs, with the same fields as the server's log (`call` is the tool_id in both). */
export const jsonLine = ({ level, time, message, details }: LogLine): string =>
  JSON.stringify({ ...details, level, time: time.toISOString(), msg: message });

/** A line for a person, without stack traces, which are in the file. */
export function textLine({ level, time, message, details }: LogLine): string {
  const clock = time.toTimeString().slice(0, 8);
  const shown = JSON.stringify(details, (name, value: unknown) => (name === 'stack' ? undefined : value));
  return `${clock} ${level} ${message}${shown === '{}' ? '' : ` ${shown}`}`;
}
