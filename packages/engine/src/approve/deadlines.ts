import type { Clock } from '../clock.ts';

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
