import type { Clock } from '@countersign/client';

/** UI-6: how long a card must have been in focus before a key or click decides. */
const attentionMs = 500;

/** What the person acts with. A click that Enter or Space made is of the keyboard. */
export type Means = 'keyboard' | 'pointer';

/**
 * Since when the person has had one card before them: by the keyboard's focus inside it, or by the pointer resting on
 * it. A key counts from the focus alone: where the pointer happens to lie is not what a key is meant for. A card whose
 * content changed begins anew.
 */
export class Attention {
  readonly #clock: Clock;
  #focusSince: number | null = null;
  #pointerSince: number | null = null;
  #means: Means = 'keyboard';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  focus(has: boolean): void {
    this.#focusSince = has ? (this.#focusSince ?? this.#clock.monotonic()) : null;
  }

  pointer(has: boolean): void {
    this.#pointerSince = has ? (this.#pointerSince ?? this.#clock.monotonic()) : null;
  }

  /** What the act that is about to come is made with. */
  by(means: Means): void {
    this.#means = means;
  }

  /** What is displayed is another thing now: it has not been looked at yet. */
  restart(): void {
    const now = this.#clock.monotonic();
    if (this.#focusSince !== null) this.#focusSince = now;
    if (this.#pointerSince !== null) this.#pointerSince = now;
  }

  /** Whether the act that has just come may decide. */
  get isGiven(): boolean {
    return this.#isLong(this.#focusSince) || (this.#means === 'pointer' && this.#isLong(this.#pointerSince));
  }

  #isLong(since: number | null): boolean {
    return since !== null && this.#clock.monotonic() - since >= attentionMs;
  }
}
