import { CountersignError, errorCodes } from '@countersign/protocol';
import { pause, type RunnerClock } from './clock.ts';
import type { LogDetails, Logger } from './logger.ts';
import { RefusedByServer } from './runner-errors.ts';

export interface RetryOptions {
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** The log message of a failed try; the number of the try is appended. */
  readonly failureMessage: string;
  readonly details?: LogDetails;
  /** Aborting it stops the retries: the last failure is thrown. */
  readonly signal: AbortSignal;
  /** How many retries; unlimited by default. */
  readonly times?: number;
  /** Whether a retry is pointless. By default: the server refused with a code that does not ask to repeat. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Returns a signal; aborting that signal ends the current pause and retries at once. */
  readonly retryNow?: () => AbortSignal;
}

/** Calls `send` until it succeeds. Throws its error if that is final, if all retries failed, or if the signal is aborted. */
export async function retry<T>(send: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, logger, failureMessage, details, signal, retryNow } = options;
  const { times = Number.POSITIVE_INFINITY, isFinal = isRefusal } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await send();
    } catch (error) {
      if (signal.aborted || isFinal(error) || failures > times) throw error;
      logger.error(`${failureMessage}, try ${failures}`, { ...details, error });
      const pauseMs = Math.max(backoffMs(failures), askedPauseMs(error));
      await pause(clock, pauseMs, retryNow ? AbortSignal.any([signal, retryNow()]) : signal);
      if (signal.aborted) throw error;
    }
  }
}

/** Whether the server refused, and would refuse again. */
export const isRefusal = (error: unknown): error is CountersignError =>
  error instanceof CountersignError &&
  (errorCodes[error.code].remedy !== 'repeat' || (error instanceof RefusedByServer && error.isFinal));

/** How long to wait before the next try, in milliseconds: 0.5 s, doubled each time, at most 30 s. */
const backoffMs = (failures: number): number => Math.min(500 * 2 ** (failures - 1), 30_000);

/** The pause that the server asked for (Retry-After, which the client's error has), but at most a minute. */
function askedPauseMs(error: unknown): number {
  const { cause } = error as { readonly cause?: { readonly retryAfterMs?: unknown } };
  const asked = cause?.retryAfterMs;
  return typeof asked === 'number' ? Math.min(asked, 60_000) : 0;
}
