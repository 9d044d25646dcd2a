import type { Hint, StoredEvent } from '@countersign/engine';

/** Most people whose newest event is cached. For others a hint has no events, and listeners read them. */
const remembered = 10_000;

/**
 * Commits of several connections finish in any order. A hint carries its events only if they follow those of the hint
 * before; otherwise it only says how far to read. A hint without news is left out.
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
    if (this.#newest.size > remembered) this.#forgetOldest();
    const follows = known === undefined ? first.id === 1 : first.id === known + 1;
    return { kind: 'events', userId, newest: last.id, ...(follows ? { events } : {}) };
  }

  #forgetOldest(): void {
    for (const userId of this.#newest.keys()) {
      this.#newest.delete(userId);
      return;
    }
  }
}
