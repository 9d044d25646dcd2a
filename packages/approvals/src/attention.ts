import type { Clock } from '@countersign/client';

/** UI-6: how long a card must be in sight before a key, a click or an answer counts. */
export const attentionMs = 500;

/** Whether that time has passed since a card, or a question on it, was shown. */
export const isSeenLongEnough = (
  since: number | null | undefined,
  clock: Pick<Clock, 'monotonic'>,
  ms = attentionMs,
): boolean => since !== null && since !== undefined && clock.monotonic() - since >= ms;

interface DeliberateOptions<T> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Whether an answer decides something; others may come at any time. By default all do. */
  readonly decides?: (answer: T) => boolean;
  /** Called before the question is shown again. */
  readonly onTooSoon?: () => void;
  readonly ms?: number | undefined;
}

/** Repeats a question that was answered before anybody could read it. Undefined: not answered. */
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

/** The input device of an action. A click made by Enter or Space counts as the keyboard. */
export type InputDevice = 'keyboard' | 'pointer' | 'touch';

/**
 * Tracks since when the person has looked at one card: the keyboard's focus is in it, the pointer rests on it or, for
 * touch, it is in sight. A key counts by the focus alone, wherever the pointer is. A changed card starts again.
 */
export class Attention {
  readonly #clock: Clock;
  #focusSince: number | null = null;
  #pointerSince: number | null = null;
  #viewSince: number | null = null;
  #device: InputDevice = 'keyboard';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  focus(has: boolean): void {
    this.#focusSince = has ? (this.#focusSince ?? this.#clock.monotonic()) : null;
  }

  pointer(has: boolean): void {
    this.#pointerSince = has ? (this.#pointerSince ?? this.#clock.monotonic()) : null;
  }

  /** Tells whether the card is in sight without moving. */
  view(has: boolean): void {
    this.#viewSince = has ? (this.#viewSince ?? this.#clock.monotonic()) : null;
  }

  /** Tells how the next action is made. */
  by(device: InputDevice): void {
    this.#device = device;
  }

  /** Starts again: the card has changed, and nobody has looked at it yet. */
  restart(): void {
    const now = this.#clock.monotonic();
    if (this.#focusSince !== null) this.#focusSince = now;
    if (this.#pointerSince !== null) this.#pointerSince = now;
    if (this.#viewSince !== null) this.#viewSince = now;
  }

  /** Whether the current action counts. */
  get isGiven(): boolean {
    if (isSeenLongEnough(this.#focusSince, this.#clock)) return true;
    if (this.#device === 'pointer') return isSeenLongEnough(this.#pointerSince, this.#clock);
    return this.#device === 'touch' && isSeenLongEnough(this.#viewSince, this.#clock);
  }
}
