/** Pieces of long work in one turn of the event loop, over all kinds of work together. */
const PIECES_A_TURN = 4;

/**
 * Shares the event loop between long pieces of work and everybody else. The work waits for `next` before each piece. A
 * turn of the loop lets a few pieces run, those that waited longest first; then sockets and timers are served.
 */
export class EventLoopTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the caller may do one more piece. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#turn());
    });
  }

  #turn(): void {
    const first = this.#waiting.splice(0, PIECES_A_TURN);
    // An immediate that is queued here runs after the sockets were served.
    if (this.#waiting.length > 0) setImmediate(() => this.#turn());
    for (const resolve of first) resolve();
  }
}
