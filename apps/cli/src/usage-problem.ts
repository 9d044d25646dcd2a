import type { Words } from './words.ts';

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
