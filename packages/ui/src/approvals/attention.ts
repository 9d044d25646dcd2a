import type { Clock } from '@countersign/client';

/** UI-6: how long a card must have been in focus before a key or click decides. */
const attentionMs = 500;

/** What the person acts with. A click that Enter or Space made is of the keyboard. */
export type Means = 'keyboard' | 'pointer' | 'touch';

/**
 * Since when the person has had one card before them: by the keyboard's focus inside it, by the pointer resting on it,
 * or, for a finger, by its being in sight. A key counts from the focus alone: where the pointer happens to lie is not
 * what a key is meant for. A card whose content changed begins anew.
 */
export class Attention {
  readonly #clock: Clock;
  #focusSince: number | null = null;
  #pointerSince: number | null = null;
  #viewSince: number | null = null;
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

  /** Whether it stands still in sight. */
  view(has: boolean): void {
    this.#viewSince = has ? (this.#viewSince ?? this.#clock.monotonic()) : null;
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
    if (this.#viewSince !== null) this.#viewSince = now;
  }

  /** Whether the act that has just come may decide. */
  get isGiven(): boolean {
    if (this.#isLong(this.#focusSince)) return true;
    if (this.#means === 'pointer') return this.#isLong(this.#pointerSince);
    return this.#means === 'touch' && this.#isLong(this.#viewSince);
  }

  #isLong(since: number | null): boolean {
    return since !== null && this.#clock.monotonic() - since >= attentionMs;
  }
}
