import { setNewest } from '../set-newest.ts';

/** A rate limit: `perSecond` in the long run, `burst` at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Counts one caller's requests, without a timer. */
export class TokenBucket {
  readonly #rate: Rate;
  #left: number;
  #at: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#left = rate.burst;
    this.#at = nowMs;
  }

  /**
   * Takes `cost` and returns 0, or returns the seconds to wait if the bucket is empty. `cost` may exceed what is left; the
   * debt delays the next request.
   */
  take(nowMs: number, cost = 1): number {
    const { perSecond, burst } = this.#rate;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#at) / 1000) * perSecond);
    this.#at = nowMs;
    if (this.#left < 1) return Math.max(1, Math.ceil((1 - this.#left) / perSecond));
    this.#left -= cost;
    return 0;
  }
}

/** Buckets by key, such as an address or a person. Keeps at most `max`; drops the one that was not used for longest. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #max: number;

  constructor(rate: Rate, max = 10_000) {
    this.#rate = rate;
    this.#max = max;
  }

  take(key: string, nowMs: number, cost = 1): number {
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#rate, nowMs);
    setNewest(this.#buckets, key, bucket, this.#max);
    return bucket.take(nowMs, cost);
  }
}
