/** Where the runner writes what it does. Details are masked before they get here. */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}
