export type LogLevel = 'debug' | 'info' | 'error';

/** Fields of a log line; one of them may be an Error. */
export type LogDetails = Readonly<Record<string, unknown>>;

/** The runner's log. ToolHandler masks messages and details before they get here (OB-2). */
export interface Logger {
  debug(message: string, details?: LogDetails): void;
  info(message: string, details?: LogDetails): void;
  error(message: string, details?: LogDetails): void;
  /** False: debug lines are dropped, so arguments and results need not be masked for them. True by default. */
  readonly isDebugEnabled?: boolean;
}
