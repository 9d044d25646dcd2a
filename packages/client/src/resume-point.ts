/** Where in the person's events a client stands, so that each is delivered once and in order (EV-2). */
export class ResumePoint {
  #lastId: string | undefined;

  constructor(lastId: string | undefined) {
    this.#lastId = lastId;
  }

  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** False for what was delivered already. Ids are one rising number; of any other kind only the same is old. */
  isNew(id: string): boolean {
    const last = this.#lastId;
    if (last === undefined) return true;
    return isNumber(id) && isNumber(last) ? BigInt(id) > BigInt(last) : id !== last;
  }

  /** An empty id is the standard's way to say "forget it". */
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
