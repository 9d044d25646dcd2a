import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** A code is good for this long, once. */
const GOOD_FOR_MS = 60_000;
const HEAD_BYTES = 24;
/** Used ones that are remembered; whoever makes them is the operator. */
const MOST_USED = 10_000;

/**
 * Single-use codes for the sign-in link, the only secret that ever stands in a URL (RE-5). A code says when it was made
 * and is signed with the server's secret, so that `countersign serve --link`, a process beside the server, can make one
 * too. It is redeemed once, and only by a server that was there when it was made: none outlives the process.
 */
export class SignInCodes {
  readonly #key: Buffer;
  readonly #userId: string;
  readonly #now: () => number;
  #begunAt: number;
  /** By their signature, the latest last. Not by their age: to a clock that is set back they would be new again. */
  readonly #used = new Set<string>();

  /** Codes that sign this person in. `now` is the time of day in milliseconds, which both processes share. */
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

  /** Whose code it is, if it is one; it is used up. */
  redeem(code: string): string | undefined {
    const bytes = Buffer.from(code, 'base64url');
    const head = bytes.subarray(0, HEAD_BYTES);
    const signature = bytes.subarray(HEAD_BYTES);
    const expected = this.#sign(head);
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
    const now = this.#now();
    // The clock was set back since: no link would be good until it has caught up, which may take hours.
    if (now < this.#begunAt) this.#begunAt = now - GOOD_FOR_MS;
    const madeAt = Number(head.readBigUInt64BE());
    const key = signature.toString('base64url');
    const isGood = madeAt >= this.#begunAt && madeAt > now - GOOD_FOR_MS && madeAt <= now;
    if (!isGood || this.#used.has(key)) return undefined;
    this.#used.add(key);
    if (this.#used.size > MOST_USED) this.#used.delete(this.#used.values().next().value as string);
    return this.#userId;
  }

  #sign(head: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(head).update(this.#userId).digest();
  }
}
