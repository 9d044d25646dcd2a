import { CountersignError, errorCodes } from '@countersign/protocol';
import type { LogDetails, Logger } from './logger.ts';
import { RefusedByServer } from './runner-errors.ts';

/** Time as the runner sees it. Waiting is monotonic; only what is stored has a date. */
export interface RunnerClock {
  /** Milliseconds, never going back. */
  monotonic(): number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: RunnerClock = {
  monotonic: () => performance.now(),
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when the signal is aborted. */
export function pause(clock: RunnerClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done);
  });
}

export interface RetryOptions {
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** The log line of a failure that is tried again; the number of the try is added. */
  readonly failing: string;
  readonly details?: LogDetails;
  /** Aborting it stops trying: the last failure is thrown. */
  readonly signal: AbortSignal;
  /** How many retries; unlimited by default. */
  readonly times?: number;
  /** Whether a retry is pointless. By default: the server refused with a code that does not ask to repeat. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Aborting the signal that it returns ends the pause before the next try. */
  readonly hurry?: () => AbortSignal;
}

/** Sends something until it works, until the failure is final, or until its signal is aborted. */
export async function retry<T>(send: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, logger, failing, details, signal, hurry } = options;
  const { times = Number.POSITIVE_INFINITY, isFinal = isRefusal } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await send();
    } catch (error) {
      if (signal.aborted || isFinal(error) || failures > times) throw error;
      logger.error(`${failing}, try ${failures}`, { ...details, error });
      const pauseMs = Math.max(backoffMs(failures), askedPauseMs(error));
      await pause(clock, pauseMs, hurry ? AbortSignal.any([signal, hurry()]) : signal);
      if (signal.aborted) throw error;
    }
  }
}

/** The server answered, and would answer the same again. */
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
