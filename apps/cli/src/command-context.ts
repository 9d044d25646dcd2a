import { CountersignError } from '@countersign/protocol';
import type { Terminal } from './terminal.ts';
import type { Words } from './words.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What `main` passes to each command. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: Environment;
  /** The texts in the language of `--lang`, else of the environment. */
  readonly words: (asked?: string) => Words;
}

/** Finds `--lang` without parsing the options, for errors about the options themselves. */
export function askedLanguage(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((word) => word === '--lang' || word.startsWith('--lang='));
  if (at < 0) return undefined;
  const [, value = argv[at + 1]] = (argv[at] ?? '').split('=');
  return value;
}

export const usageOf =
  (command: string) =>
  (problem: string): CountersignError =>
    new CountersignError('USAGE', { problem, help: `countersign ${command} --help` });

/** Parses an option's value as a whole number within bounds. */
export function numberOption(
  name: string,
  text: string,
  { min, max }: { min: number; max: number },
  words: Words,
  usage: (problem: string) => CountersignError,
): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) throw usage(words.badNumber(name, text));
  return value;
}

/** Translates an error of `parseArgs`; undefined for other errors. */
export function usageProblem(error: unknown, words: Words): string | undefined {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS')) return undefined;
  const named = /'([^']*)'/.exec(message)?.[1] ?? '';
  const option = named.replace(/ <value>$/, '');
  switch (code) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION':
      return words.unknownOption(named);
    case 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL':
      return words.unexpected(named);
    default:
      return / does not take /.test(message)
        ? words.optionWithoutValue(option)
        : words.optionNeedsValue(option);
  }
}
