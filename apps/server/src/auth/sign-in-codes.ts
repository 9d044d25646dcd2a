import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const GOOD_FOR_MS = 60_000;
const HEAD_BYTES = 24;
/** How many used codes are remembered. Only the operator can make codes, so this is plenty. */
const MAX_USED_CODES = 10_000;

/**
 * Single-use codes for the sign-in link, the only secret that is ever in a URL (RE-5). A code holds the time when it was
 * made and is signed with the server's secret, so that `countersign serve --link`, another process, can make one too. It
 * is redeemed once, and only by a server that was running when it was made.
 */
export class SignInCodes {
  readonly #key: Buffer;
  readonly #userId: string;
  readonly #now: () => number;
  #begunAt: number;
  /** Signatures of used codes, newest last. Checking only the age would accept a used code after a clock was set back. */
  readonly #used = new Set<string>();

  /** `userId` is the person who is signed in. `now` is the wall clock in milliseconds, which both processes share. */
  constructor(secret: Uint8Array, userId: string, now: () => number = Date.now) {
    this.#key = createHmac('sha256', secret).update('sign-in link').digest();
    this.#userId = userId;
    this.#now = now;
    this.#begunAt = now();
  }

  create(): string {
    const head = randomBytes(HEAD_BYTES);
    head.writeBigUInt64BE(BigInt(this.#now()));
    return Buffer.concat([head, this.#sign(head)]).toString('base64url');
  }

  /** Uses up a code and returns its person. Returns undefined if the code is not valid. */
  redeem(code: string): string | undefined {
    const bytes = Buffer.from(code, 'base64url');
    const head = bytes.subarray(0, HEAD_BYTES);
    const signature = bytes.subarray(HEAD_BYTES);
    const expected = this.#sign(head);
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
    const now = this.#now();
    // If the clock was set back, no link would be valid until it has caught up, which may take hours.
    if (now < this.#begunAt) this.#begunAt = now - GOOD_FOR_MS;
    const madeAt = Number(head.readBigUInt64BE());
    const key = signature.toString('base64url');
    const isGood = madeAt >= this.#begunAt && madeAt > now - GOOD_FOR_MS && madeAt <= now;
    if (!isGood || this.#used.has(key)) return undefined;
    this.#used.add(key);
    if (this.#used.size > MAX_USED_CODES) this.#used.delete(this.#used.values().next().value as string);
    return this.#userId;
  }

  #sign(head: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(head).update(this.#userId).digest();
  }
}
