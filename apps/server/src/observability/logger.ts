import { type Logger, pino } from 'pino';

/**
 * Structured logs, one JSON object a line, on standard error: standard output is for what a command prints. `call` is
 * the tool_id, which follows a call from the chat to the runner and back (OB-2).
 */
export function createLogger(level: string): Logger {
  // Buffer lines, so that a line does not cost a system call.
  const destination = pino.destination({ dest: 2, sync: false, minLength: level === 'info' ? 4096 : 0 });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          '*.authorization',
          '*.cookie',
          'headers.authorization',
          'headers.cookie',
          'token',
          'code',
          '*.token',
        ],
        censor: '[masked]',
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const timer = setInterval(() => destination.flush(), 1_000);
  timer.unref();
  return logger;
}
