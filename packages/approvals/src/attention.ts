import type { Clock } from '@countersign/client';

/** UI-6: how long a card must have been before the person until a key, a click or an answer decides. */
export const attentionMs = 500;

/** Whether that time has passed since a card, or a question on it, was shown. */
export const isSeenLongEnough = (
  since: number | null | undefined,
  clock: Pick<Clock, 'monotonic'>,
  ms = attentionMs,
): boolean => since !== null && since !== undefined && clock.monotonic() - since >= ms;

interface DeliberateOptions<T> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Answers that decide nothing need no time; by default each one decides. */
  readonly decides?: (answer: T) => boolean;
  /** Called before the question is shown again. */
  readonly onTooSoon?: () => void;
  readonly ms?: number | undefined;
}

/** Asks again when a question was answered sooner than anybody can read. Undefined: not answered. */
export async function askDeliberately<T>(
  ask: () => PromiseLike<T | undefined>,
  { clock, decides = () => true, onTooSoon, ms }: DeliberateOptions<T>,
): Promise<T | undefined> {
  for (;;) {
    const shownAt = clock.monotonic();
    const answer = await ask();
    if (answer === undefined || !decides(answer) || isSeenLongEnough(shownAt, clock, ms)) return answer;
    onTooSoon?.();
  }
}

/** The device of an act. A click that Enter or Space made counts as the keyboard. */
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

  /** Names the device of the act that is about to come. */
  by(means: Means): void {
    this.#means = means;
  }

  /** The card shows something else now, which has not been looked at yet. */
  restart(): void {
    const now = this.#clock.monotonic();
    if (this.#focusSince !== null) this.#focusSince = now;
    if (this.#pointerSince !== null) this.#pointerSince = now;
    if (this.#viewSince !== null) this.#viewSince = now;
  }

  /** Whether the act that has just come may decide. */
  get isGiven(): boolean {
    if (isSeenLongEnough(this.#focusSince, this.#clock)) return true;
    if (this.#means === 'pointer') return isSeenLongEnough(this.#pointerSince, this.#clock);
    return this.#means === 'touch' && isSeenLongEnough(this.#viewSince, this.#clock);
  }
}
