/** Pieces of long work that one turn of the event loop does, for whichever work they are. */
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
    // One that is asked for here runs after the sockets have been looked at.
    if (this.#waiting.length > 0) setImmediate(() => this.#turn());
    for (const resolve of first) resolve();
  }
}
