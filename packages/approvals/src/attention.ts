import type { Clock } from '@countersign/client';

/** UI-6: how long a card must be in sight before a key, a click or an answer counts. */
export const attentionMs = 500;

/** Whether a card or question that was shown at `since` has been in sight for `ms`. False if it was not shown. */
export const isSeenLongEnough = (
  since: number | null | undefined,
  clock: Pick<Clock, 'monotonic'>,
  ms = attentionMs,
): boolean => since !== null && since !== undefined && clock.monotonic() - since >= ms;

interface DeliberateOptions<T> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Whether an answer is a decision. Other answers are accepted at any time. By default, all are decisions. */
  readonly decides?: (answer: T) => boolean;
  /** Called before the question is shown again. */
  readonly onTooSoon?: () => void;
  readonly ms?: number | undefined;
}

/** Asks again if the answer came too soon for the person to have read the question. Returns undefined if dismissed. */
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

/**
 * Tracks since when one card has been wholly in sight, unmoved and unchanged. Keys, clicks and taps count alike: a card
 * that was read for nine seconds is never too quick, and one that just came or moved always is.
 */
export class Attention {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since: number | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Tells whether the card is wholly in sight, where it was before. */
  setInSight(isInSight: boolean): void {
    this.#since = isInSight ? (this.#since ?? this.#clock.monotonic()) : null;
  }

  /** Starts again: the card has changed, and nobody has looked at it yet. */
  restart(): void {
    if (this.#since !== null) this.#since = this.#clock.monotonic();
  }

  /** Whether an action on the card counts now. */
  get isGiven(): boolean {
    return isSeenLongEnough(this.#since, this.#clock);
  }
}
