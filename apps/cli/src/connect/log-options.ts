import type { CountersignError } from '@countersign/protocol';
import type { LogLevel } from '@countersign/tool-runner';
import type { Words } from '../words.ts';

/** From the most to the least verbose. */
export const logLevels = ['debug', 'info', 'error'] as const satisfies readonly LogLevel[];

/** From `--log-level` and `--log-file`. */
export interface LogOptions {
  readonly level?: LogLevel;
  readonly file?: string;
}

export function readLogOptions(
  values: { readonly 'log-level'?: string | undefined; readonly 'log-file'?: string | undefined },
  words: Words,
  usage: (problem: string) => CountersignError,
): LogOptions {
  const { 'log-level': level, 'log-file': file } = values;
  if (level !== undefined && !isLevel(level)) throw usage(words.badLogLevel(level, logLevels.join(', ')));
  return { ...(level !== undefined && { level }), ...(file !== undefined && { file }) };
}

const isLevel = (text: string): text is LogLevel => (logLevels as readonly string[]).includes(text);
