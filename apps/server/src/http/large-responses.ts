import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Rate, RateLimiter } from '../auth/token-bucket.ts';
import { RateLimited } from './refusals.ts';

/** Smaller responses are not counted against the rate limit. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Limits responses that may contain whole files. Making one blocks the event loop for a moment, so those of one person are
 * made one after the other and limited by bytes. A client that does not read its responses gets no more, because unread
 * responses stay in memory.
 */
export class LargeResponses {
  readonly #limiter: RateLimiter;
  /** The last response in the queue, by person and scope. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Bytes that were not sent yet, by person and scope. */
  readonly #unsent = new Map<string, number>();
  readonly #maxUnsent: number;

  /** `maxUnsent`: how many bytes for one person may be unsent before the next response is refused. */
  constructor(rate: Rate, maxUnsent: number) {
    this.#limiter = new RateLimiter(rate);
    this.#maxUnsent = maxUnsent;
  }

  /**
   * Makes a response and returns its JSON as bytes (a string would be encoded twice, for its length and for sending). The
   * bytes count as unsent until `response` is closed. Throws RateLimited.
   */
  async write(key: string, response: ServerResponse, make: () => Promise<unknown>): Promise<Buffer> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const mine = before.then(() => this.#make(key, response, make));
    const turn = mine.catch(() => {}); // the caller gets the error
    this.#turns.set(key, turn);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }

  async #make(key: string, response: ServerResponse, make: () => Promise<unknown>): Promise<Buffer> {
    const owed = this.#limiter.take(key, performance.now(), 0);
    if (owed > 0) throw new RateLimited(owed);
    if ((this.#unsent.get(key) ?? 0) >= this.#maxUnsent) throw new RateLimited(STALLED_MS / 1000);
    const made = await make();
    await yieldToEventLoop(); // reading the data took a while, and so will encoding it
    const bytes = Buffer.from(JSON.stringify(made));
    if (bytes.length > SMALL_BYTES) this.#limiter.take(key, performance.now(), bytes.length);
    this.#count(key, bytes.length, response);
    return bytes;
  }

  #count(key: string, bytes: number, response: ServerResponse): void {
    if (response.destroyed) return;
    this.#unsent.set(key, (this.#unsent.get(key) ?? 0) + bytes);
    response.once('close', () => {
      const left = (this.#unsent.get(key) ?? 0) - bytes;
      if (left > 0) this.#unsent.set(key, left);
      else this.#unsent.delete(key);
    });
  }
}

/** A client that reads nothing of its response for this long is cut off. */
export const STALLED_MS = 30_000;

/**
 * For the `timeout` event of a response: its connection was idle for `STALLED_MS`. Ends it if it has unread bytes, which
 * would stay in memory. A held call or a quiet stream has no unread bytes and continues.
 */
export function endIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

/** Lets other requests be served between two pieces of long work. Node polls sockets only after the first turn. */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
