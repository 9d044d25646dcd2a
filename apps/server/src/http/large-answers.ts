import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Rate, RateLimiter } from '../auth/token-bucket.ts';
import { RateLimited } from './refusals.ts';

/** Smaller answers are not counted against the rate limit. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Answers that may contain whole files. Making one blocks the event loop for a moment, so those of one person are made one
 * after the other and limited by bytes. A client that does not read its answers gets no more, because unread answers stay
 * in memory.
 */
export class LargeAnswers {
  readonly #limiter: RateLimiter;
  /** By person and scope: the last answer in the queue. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** By person and scope: bytes that were not sent yet. */
  readonly #unsent = new Map<string, number>();
  readonly #maxUnsent: number;

  /** `maxUnsent`: bytes of one person's answers that may be unsent before the next one is made. */
  constructor(rate: Rate, maxUnsent: number) {
    this.#limiter = new RateLimiter(rate);
    this.#maxUnsent = maxUnsent;
  }

  /**
   * Makes an answer and returns its JSON as bytes (a string would be encoded twice, for its length and for sending).
   * `response` is what sends it. Throws RateLimited.
   */
  async write(of: string, response: ServerResponse, make: () => Promise<unknown>): Promise<Buffer> {
    const before = this.#turns.get(of) ?? Promise.resolve();
    const mine = before.then(() => this.#make(of, response, make));
    const turn = mine.catch(() => {}); // the caller gets the error
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
    if ((this.#unsent.get(of) ?? 0) >= this.#maxUnsent) throw new RateLimited(STALLED_MS / 1000);
    const made = await make();
    await yieldToEventLoop(); // reading it took as long as writing it will
    const bytes = Buffer.from(JSON.stringify(made));
    if (bytes.length > SMALL_BYTES) this.#limiter.take(of, performance.now(), bytes.length);
    this.#count(of, bytes.length, response);
    return bytes;
  }

  /** Counts the bytes as unsent until the response is closed. */
  #count(of: string, bytes: number, response: ServerResponse): void {
    if (response.destroyed) return;
    this.#unsent.set(of, (this.#unsent.get(of) ?? 0) + bytes);
    response.once('close', () => {
      const left = (this.#unsent.get(of) ?? 0) - bytes;
      if (left > 0) this.#unsent.set(of, left);
      else this.#unsent.delete(of);
    });
  }
}

/** A client that reads nothing of its answer for so long is cut off. */
export const STALLED_MS = 30_000;

/**
 * For the `timeout` event of a response: its connection was idle for `STALLED_MS`. Ends it if there are unread bytes, which
 * would stay in memory for ever. A held call or a quiet stream has none and goes on.
 */
export function endIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

/**
 * Between two pieces of long work: lets other requests be served first. It waits for two turns, because the first one comes
 * before the sockets are polled again.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
