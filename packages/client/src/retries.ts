import { ApiError } from './api-error.ts';
import { type Clock, wait } from './clock.ts';

export interface Retries {
  /** How often to resend after no response or a temporary refusal: after 0.5, 1, 2 s and so on. */
  readonly times: number;
  /** Which failures to retry; by default all retryable ones. */
  readonly after?: (error: ApiError) => boolean;
}

/**
 * Default for GET requests: retry if the server asks for a short wait, or if the connection broke, for example because the
 * server closed an idle connection just then, or because a node was replaced.
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

/** Sends once, then retries at most `times` times while the failure is retryable. */
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

export interface Backoff {
  readonly firstMs: number;
  /** Without jitter. */
  readonly maxMs: number;
}

const jitterShare = 0.5;

/**
 * The pause before the next attempt. `tries` counts failed attempts, from 1; `random` is in 0…1. Jitter only adds, so the
 * pause is never shorter than `atLeastMs`, for which the server asked.
 */
export function backoffMs(
  { firstMs, maxMs }: Backoff,
  tries: number,
  atLeastMs: number,
  random: number,
): number {
  const doubled = Math.min(firstMs * 2 ** (tries - 1), maxMs);
  return Math.round(Math.max(doubled, atLeastMs) * (1 + jitterShare * random));
}
