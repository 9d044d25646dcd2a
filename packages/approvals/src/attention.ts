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
 * Tracks how long one card has been wholly in sight without moving or changing. This is the same for keys, clicks and
 * taps: they count if the card was in sight for long enough, and not if it just appeared, moved or changed.
 */
export class Attention {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since: number | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Call when it is known whether the card is wholly in sight, at the same place as before. */
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
