/** A rate limit: `perSecond` in the long run, `burst` at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Counts one caller's requests. Two numbers, no timer. */
export class TokenBucket {
  #left: number;
  #at: number;

  constructor({ burst }: Rate, nowMs: number) {
    this.#left = burst;
    this.#at = nowMs;
  }

  /**
   * Takes `cost` and returns 0, or returns the seconds to wait if the bucket is empty. The last taking may exceed what is
   * left; the debt delays the next one.
   */
  take({ perSecond, burst }: Rate, nowMs: number, cost = 1): number {
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#at) / 1000) * perSecond);
    this.#at = nowMs;
    if (this.#left < 1) return Math.max(1, Math.ceil((1 - this.#left) / perSecond));
    this.#left -= cost;
    return 0;
  }
}

/** Buckets by key: addresses without a valid token, or people. Keeps at most `max`; drops the longest unused one. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #max: number;

  constructor(rate: Rate, max = 10_000) {
    this.#rate = rate;
    this.#max = max;
  }

  take(address: string, nowMs: number, cost = 1): number {
    const bucket = this.#buckets.get(address) ?? new TokenBucket(this.#rate, nowMs);
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    if (this.#buckets.size > this.#max) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest);
        break;
      }
    }
    return bucket.take(this.#rate, nowMs, cost);
  }
}
