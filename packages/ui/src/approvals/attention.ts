import type { Clock } from '@countersign/client';

/** UI-6: how long a card must have been in focus before a key or click decides. */
const attentionMs = 500;

/**
 * Since when the person has had one card before them: by the keyboard's focus inside it, or by the pointer resting on
 * it. A card whose content changed, or that slid under a pointer, begins anew.
 */
export class Attention {
  readonly #clock: Clock;
  #hasFocus = false;
  #hasPointer = false;
  #since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  focus(has: boolean): void {
    this.#hasFocus = has;
    this.#note();
  }

  pointer(has: boolean): void {
    this.#hasPointer = has;
    this.#note();
  }

  /** What is displayed is another thing now: it has not been looked at yet. */
  restart(): void {
    this.#since = null;
    this.#note();
  }

  /** Whether a key or click may decide now. */
  get isGiven(): boolean {
    return this.#since !== null && this.#clock.monotonic() - this.#since >= attentionMs;
  }

  #note(): void {
    if (!this.#hasFocus && !this.#hasPointer) this.#since = null;
    else this.#since ??= this.#clock.monotonic();
  }
}
