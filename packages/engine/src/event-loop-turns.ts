/** Pieces of long work that run in one turn of the event loop. */
const PIECES_A_TURN = 4;

/**
 * Spreads long work over turns of the event loop, so that sockets and timers are served in between. Long work awaits
 * `next` before each piece. A turn lets a few pieces run, those that waited longest first.
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
