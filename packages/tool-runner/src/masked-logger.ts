import type { SecretMasker } from '@countersign/policy';
import type { LogDetails, Logger, LogLevel } from './logger.ts';

/** Masks secrets in every line, also in an error's message, cause and stack (OB-2). */
export function maskedLogger(logger: Logger, masker: SecretMasker): Logger {
  const write = (level: LogLevel) => (message: string, details?: LogDetails) => {
    if (level === 'debug' && logger.isDebugEnabled === false) return;
    if (details === undefined) logger[level](masker.maskText(message));
    else logger[level](masker.maskText(message), masker.maskValue(withReadableErrors(details)) as LogDetails);
  };
  return { debug: write('debug'), info: write('info'), error: write('error') };
}

/** Copies errors into plain objects, because JSON.stringify drops their fields. */
const withReadableErrors = (details: LogDetails): LogDetails =>
  Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      value instanceof Error ? readableError(value) : value,
    ]),
  );

/** The stack is a list of lines, because the masker replaces a long text by its digest. */
function readableError(error: Error): Record<string, unknown> {
  const { name, message, stack = '', cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  return {
    name,
    ...(code !== undefined && { code }),
    message,
    ...(cause instanceof Error && { cause: readableError(cause) }),
    stack: stack
      .split('\n')
      .filter((line) => line.startsWith('    at '))
      .map((line) => line.trim()),
  };
}
