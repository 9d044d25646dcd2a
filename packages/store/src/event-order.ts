import type { Hint, StoredEvent } from '@countersign/engine';

/** For at most this many people the newest event is cached. For others a hint has no events, and listeners read them. */
const MAX_PEOPLE = 10_000;

/**
 * Makes hints in the order of events, although commits of several connections finish in any order. A hint carries its
 * events only if they directly follow the previous hint; otherwise it only says how far to read. Events older than the
 * previous hint get no hint.
 */
export class EventOrder {
  readonly #newest = new Map<string, number>();

  hintFor(events: readonly StoredEvent[]): Extract<Hint, { kind: 'events' }> | undefined {
    const first = events[0];
    const last = events.at(-1);
    if (first === undefined || last === undefined) return undefined;
    const userId = first.user_id;
    const known = this.#newest.get(userId);
    if (known !== undefined && last.id <= known) return undefined;
    this.#newest.delete(userId);
    this.#newest.set(userId, last.id);
    if (this.#newest.size > MAX_PEOPLE) this.#newest.delete(this.#newest.keys().next().value as string);
    const follows = known === undefined ? first.id === 1 : first.id === known + 1;
    return { kind: 'events', userId, newest: last.id, ...(follows ? { events } : {}) };
  }
}
