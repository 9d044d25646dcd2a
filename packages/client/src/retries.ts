import { ApiError } from './api-error.ts';
import { type Clock, wait } from './clock.ts';

export interface Retries {
  /** How often to resend after no response or a temporary refusal: after 0.5, 1, 2 s and so on. */
  readonly times: number;
  /** Which failures to retry; by default all retryable ones. */
  readonly after?: (error: ApiError) => boolean;
}

/**
 * Default for GET requests: retry when the server asks to wait, or when the connection broke. It may have been idle and
 * closed by the server at the same moment, or led to a node that is being replaced.
 */
export const defaultGetRetries: Retries = {
  times: 2,
  after: (error) => error.isInterrupted || (error.retryAfterMs ?? Number.POSITIVE_INFINITY) <= shortWaitMs,
};
const shortWaitMs = 5_000;

/** Backoff of EX-5, with jitter. */
const pause = { firstMs: 500, maxMs: 20_000 };

/** If the server asks to wait longer than this, do not retry: the caller gets the error and decides. */
const longestWaitMs = 60_000;

/** Sends once, then retries at most `times` times. Any response ends it. */
export async function withRetries<T>(
  send: () => Promise<T>,
  { times, after = () => true }: Retries,
  { clock, random, signal }: { clock: Clock; random: () => number; signal: AbortSignal | undefined },
): Promise<T> {
  for (let failed = 1; ; failed += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isRetryable || failed > times || !after(error)) throw error;
      const askedMs = error.retryAfterMs ?? 0;
      if (askedMs > longestWaitMs) throw error;
      await wait(clock, backoffMs(pause, failed, askedMs, random()), signal);
    }
  }
}

/** How long to wait before the next attempt. Jitter only adds, so we never come sooner than the server asked. */
export interface Backoff {
  readonly firstMs: number;
  /** Without jitter. */
  readonly maxMs: number;
}

const jitterShare = 0.5;

/** `tries` counts failed attempts, from 1; `atLeastMs` is what the server asked for; `random` is in 0…1. */
export function backoffMs(
  { firstMs, maxMs }: Backoff,
  tries: number,
  atLeastMs: number,
  random: number,
): number {
  const doubled = Math.min(firstMs * 2 ** (tries - 1), maxMs);
  return Math.round(Math.max(doubled, atLeastMs) * (1 + jitterShare * random));
}
