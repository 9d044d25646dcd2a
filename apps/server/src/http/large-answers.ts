import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Rate, RateLimiter } from '../auth/token-bucket.ts';
import { RateLimited } from './refusals.ts';

/** Smaller answers are not counted against the rate. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Answers in which whole files may stand. Those of one person are made one after the other, and who has been sent much
 * waits before the next: making one takes a moment in which nobody else is answered. Who does not take what it was
 * sent gets no more: answers that nobody reads stay in memory.
 */
export class LargeAnswers {
  readonly #limiter: RateLimiter;
  /** By person and scope: ends with the last answer that was asked for. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** By person and scope: how much of their answers is under way. */
  readonly #untaken = new Map<string, number>();
  readonly #maxUntaken: number;

  /** `maxUntaken`: so much of one person's answers may be under way before another one is made. */
  constructor(rate: Rate, maxUntaken: number) {
    this.#limiter = new RateLimiter(rate);
    this.#maxUntaken = maxUntaken;
  }

  /**
   * The answer as the bytes of its JSON (a text would be encoded twice, to know its length and to send it); it is sent by
   * `response`. Throws RateLimited.
   */
  async write(of: string, response: ServerResponse, make: () => Promise<unknown>): Promise<Buffer> {
    const before = this.#turns.get(of) ?? Promise.resolve();
    const mine = before.then(() => this.#make(of, response, make));
    const turn = mine.catch(() => {}); // who asked is told
    this.#turns.set(of, turn);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(of) === turn) this.#turns.delete(of);
    }
  }

  async #make(of: string, response: ServerResponse, make: () => Promise<unknown>): Promise<Buffer> {
    const owed = this.#limiter.take(of, performance.now(), 0);
    if (owed > 0) throw new RateLimited(owed);
    if ((this.#untaken.get(of) ?? 0) >= this.#maxUntaken) throw new RateLimited(STALLED_MS / 1000);
    const made = await make();
    await yieldToEventLoop(); // reading it took as long as writing it will
    const bytes = Buffer.from(JSON.stringify(made));
    if (bytes.length > SMALL_BYTES) this.#limiter.take(of, performance.now(), bytes.length);
    this.#count(of, bytes.length, response);
    return bytes;
  }

  /** Under way until the last byte is out of our hands, or its reader is gone. */
  #count(of: string, bytes: number, response: ServerResponse): void {
    if (response.destroyed) return;
    this.#untaken.set(of, (this.#untaken.get(of) ?? 0) + bytes);
    response.once('close', () => {
      const left = (this.#untaken.get(of) ?? 0) - bytes;
      if (left > 0) this.#untaken.set(of, left);
      else this.#untaken.delete(of);
    });
  }
}

/** A client that takes nothing of its answer for so long is cut off. */
export const STALLED_MS = 30_000;

/**
 * For the `timeout` of a response: nothing was read or taken on its connection for `STALLED_MS`. What nobody takes stays
 * in memory, and nothing else would end it. An answer that only waits, such as a held call or a quiet stream, has
 * nothing to be taken and goes on.
 */
export function endIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

/**
 * Between two pieces of work that take long: whatever came in meanwhile is served first. One turn alone would come before
 * the sockets are looked at again.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
