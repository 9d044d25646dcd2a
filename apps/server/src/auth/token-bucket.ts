/** How many requests: `perSecond` in the long run, `burst` at once. */
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
   * Takes `cost` and answers 0, or answers in how many seconds there will be something. More than there is may be taken,
   * once: then it is owed.
   */
  take({ perSecond, burst }: Rate, nowMs: number, cost = 1): number {
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#at) / 1000) * perSecond);
    this.#at = nowMs;
    if (this.#left < 1) return Math.max(1, Math.ceil((1 - this.#left) / perSecond));
    this.#left -= cost;
    return 0;
  }
}

/** The buckets of addresses that came without a valid token, or of people. At most so many: the longest unused one goes. */
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
