import { AddressLimiter, type Rate } from '../auth/token-bucket.ts';
import { RateLimited } from './refusals.ts';

/** Smaller answers are not counted. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Answers in which whole files may stand. Those of one person are made one after the other, and who has been sent much
 * waits before the next: making one takes a moment in which nobody else is answered.
 */
export class LargeAnswers {
  readonly #limiter: AddressLimiter;
  /** By person: ends with the last answer that was asked for. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(rate: Rate) {
    this.#limiter = new AddressLimiter(rate);
  }

  /** The answer as JSON. Throws RateLimited. */
  async write(userId: string, make: () => Promise<unknown>): Promise<string> {
    const before = this.#turns.get(userId) ?? Promise.resolve();
    const mine = before.then(() => this.#make(userId, make));
    const turn = mine.catch(() => {}); // who asked is told
    this.#turns.set(userId, turn);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(userId) === turn) this.#turns.delete(userId);
    }
  }

  async #make(userId: string, make: () => Promise<unknown>): Promise<string> {
    const owed = this.#limiter.take(userId, performance.now(), 0);
    if (owed > 0) throw new RateLimited(owed);
    const text = JSON.stringify(await make());
    if (text.length > SMALL_BYTES) this.#limiter.take(userId, performance.now(), text.length);
    return text;
  }
}
