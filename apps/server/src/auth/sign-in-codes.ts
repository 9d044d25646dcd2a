import { hash, randomBytes } from 'node:crypto';

/** A code is good for this long, once. */
const GOOD_FOR_MS = 60_000;
const MAX_CODES = 100;

/**
 * Single-use codes for the sign-in link, the only secret that ever stands in a URL (RE-5). Kept as hashes, in
 * memory: a code does not outlive the process that printed it.
 */
export class SignInCodes {
  readonly #byHash = new Map<string, { userId: string; until: number }>();
  readonly #now: () => number;

  /** `now` is monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  create(userId: string): string {
    const now = this.#now();
    for (const [key, { until }] of this.#byHash) {
      if (until <= now || this.#byHash.size >= MAX_CODES) this.#byHash.delete(key);
    }
    const code = randomBytes(32).toString('base64url');
    this.#byHash.set(hash('sha256', code), { userId, until: now + GOOD_FOR_MS });
    return code;
  }

  /** Whose code it is, if it is one; it is used up. */
  redeem(code: string): string | undefined {
    const key = hash('sha256', code);
    const found = this.#byHash.get(key);
    this.#byHash.delete(key);
    return found && found.until > this.#now() ? found.userId : undefined;
  }
}
