import { type Logger, pino } from 'pino';

/**
 * Logs one JSON object per line to standard error, because standard output is for the output of a command. `call` is the
 * tool_id, which the runner's log has too (OB-2).
 */
export function createLogger(level: string): Logger {
  // Buffers lines, to save system calls; the timer below flushes them.
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
