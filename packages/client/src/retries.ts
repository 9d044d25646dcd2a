import { ApiError } from './api-error.ts';
import { backoffMs } from './backoff.ts';
import { type Clock, wait } from './clock.ts';

export interface Retries {
  /** How many more times to send when no answer came, or "not now": after 0.5, 1, 2 s and so on. */
  readonly times: number;
  /** Which failures are worth another try; all that may pass unless told. */
  readonly after?: (error: ApiError) => boolean;
}

/**
 * For what only reads, unless the caller says otherwise. A server that asks for a moment gets it. A connection that broke
 * may have been an idle one that the server closed in the same moment, or one to a node that is being replaced.
 */
export const readAgain: Retries = {
  times: 2,
  after: (error) => error.isInterrupted || (error.retryAfterMs ?? Number.POSITIVE_INFINITY) <= aMomentMs,
};
const aMomentMs = 5_000;

/** EX-5's rhythm, with jitter. */
const pause = { firstMs: 500, maxMs: 20_000 };

/** A server that asks to be left alone for longer gets its wish: the caller learns it and decides. */
const timeoutMs = 60_000;

/** Sends until there is an answer, whatever it says, at most `times` more times than once. */
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
      if (askedMs > timeoutMs) throw error;
      await wait(clock, backoffMs(pause, failed, askedMs, random()), signal);
    }
  }
}
