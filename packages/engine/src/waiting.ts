/** How the engine waits: for time, for a deadline, for a row to change. */

/** The engine's clock. Waiting uses monotonic time, because a wall clock may jump (AP-3). */
export interface Clock {
  /** Milliseconds, never going back. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. The timer does not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves with the promise, or rejects as soon as the signal is aborted, whichever is first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      promise.catch(() => {}); // its rejection must not count as unhandled
      return abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Waits in monotonic time. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = () => {};
  try {
    await orAborted(new Promise<void>((resolve) => (cancel = clock.after(ms, resolve))), signal);
  } finally {
    cancel();
  }
}

/**
 * Many deadlines on one timer, in monotonic time: ten thousand pending approvals must not be ten thousand timers.
 * A heap of (due, id); an id that was set again or cleared leaves a stale entry behind, which is skipped.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #onDue: (id: string) => void;
  readonly #due = new Map<string, number>();
  readonly #heap: { due: number; id: string }[] = [];
  #stopTimer: (() => void) | undefined;
  #closed = false;

  constructor(clock: Clock, onDue: (id: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  set(id: string, afterMs: number): void {
    const due = this.#clock.monotonic() + Math.max(0, afterMs);
    this.#due.set(id, due);
    this.#push({ due, id });
    if (this.#heap[0]?.id === id) this.#arm();
  }

  clear(id: string): void {
    this.#due.delete(id);
  }

  has(id: string): boolean {
    return this.#due.has(id);
  }

  close(): void {
    this.#closed = true;
    this.#stopTimer?.();
    this.#due.clear();
    this.#heap.length = 0;
  }

  #arm(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const next = this.#heap[0];
    if (!next || this.#closed) return;
    this.#stopTimer = this.#clock.after(Math.max(0, next.due - this.#clock.monotonic()), () => this.#fire());
  }

  #fire(): void {
    const now = this.#clock.monotonic();
    for (let next = this.#heap[0]; next && next.due <= now; next = this.#heap[0]) {
      this.#pop();
      if (this.#due.get(next.id) !== next.due) continue; // cleared, or set again
      this.#due.delete(next.id);
      this.#onDue(next.id);
    }
    this.#arm();
  }

  #push(entry: { due: number; id: string }): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as { due: number }).due <= entry.due) break;
      heap[at] = heap[parent] as { due: number; id: string };
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right && right.due < (heap[child] as { due: number }).due) child++;
      const smaller = heap[child] as { due: number; id: string };
      if (smaller.due >= last.due) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
  }
}

/**
 * Promises by key, for callers that wait for a row to change. The row is the truth: if a hint was lost, the owner's slow
 * tick reads the rows of all `keys`.
 */
export class Waiters<T> {
  readonly #waiting = new Map<string, ((value: T) => void)[]>();

  wait(key: string): Promise<T> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(key);
      if (others) others.push(resolve);
      else this.#waiting.set(key, [resolve]);
    });
  }

  /** Resolves every promise of this key. */
  settle(key: string, value: T): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    this.#waiting.delete(key);
    for (const resolve of waiting) resolve(value);
  }

  /** Drops the promises of this key; they never resolve. */
  forget(key: string): void {
    this.#waiting.delete(key);
  }

  has(key: string): boolean {
    return this.#waiting.has(key);
  }

  keys(): string[] {
    return [...this.#waiting.keys()];
  }
}
