/**
 * Promises by key, for those who wait for a row to change. The row is the truth: a waiter that missed the hint is
 * woken by the owner's slow tick, which looks at the keys.
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

  /** Answers everybody who waits for this key. */
  settle(key: string, value: T): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    this.#waiting.delete(key);
    for (const resolve of waiting) resolve(value);
  }

  /** Those who wait for this key are not answered. */
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
