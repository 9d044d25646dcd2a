import { type Rate, RateLimiter } from '../auth/token-bucket.ts';
import { othersFirst } from './others-first.ts';
import { RateLimited } from './refusals.ts';

/** Smaller answers are not counted. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Answers in which whole files may stand. Those of one person are made one after the other, and who has been sent much
 * waits before the next: making one takes a moment in which nobody else is answered.
 */
export class LargeAnswers {
  readonly #limiter: RateLimiter;
  /** By person and scope: ends with the last answer that was asked for. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(rate: Rate) {
    this.#limiter = new RateLimiter(rate);
  }

  /** The answer as the bytes of its JSON: a text would be encoded twice, to know its length and to send it. Throws RateLimited. */
  async write(of: string, make: () => Promise<unknown>): Promise<Buffer> {
    const before = this.#turns.get(of) ?? Promise.resolve();
    const mine = before.then(() => this.#make(of, make));
    const turn = mine.catch(() => {}); // who asked is told
    this.#turns.set(of, turn);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(of) === turn) this.#turns.delete(of);
    }
  }

  async #make(of: string, make: () => Promise<unknown>): Promise<Buffer> {
    const owed = this.#limiter.take(of, performance.now(), 0);
    if (owed > 0) throw new RateLimited(owed);
    const made = await make();
    await othersFirst(); // reading it took as long as writing it will
    const bytes = Buffer.from(JSON.stringify(made));
    if (bytes.length > SMALL_BYTES) this.#limiter.take(of, performance.now(), bytes.length);
    return bytes;
  }
}
