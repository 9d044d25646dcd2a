/** Tracks the last delivered event, so that each is delivered once and in order (EV-2). */
export class ResumePoint {
  #lastId: string | undefined;

  constructor(lastId: string | undefined) {
    this.#lastId = lastId;
  }

  get lastId(): string | undefined {
    return this.#lastId;
  }

  /**
   * False for an event that was delivered already. Ids rise; an id that is not a number is old only if it equals the
   * last one.
   */
  isNew(id: string): boolean {
    const last = this.#lastId;
    if (last === undefined) return true;
    return isNumber(id) && isNumber(last) ? BigInt(id) > BigInt(last) : id !== last;
  }

  /** By the standard, an empty id resets the last event id. */
  moveTo(id: string): void {
    this.#lastId = id === '' ? undefined : id;
  }

  forget(): void {
    this.#lastId = undefined;
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,64}$/.test(id);
}
