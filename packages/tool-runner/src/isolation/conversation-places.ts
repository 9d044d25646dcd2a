import { ConversationPlace, type PlaceOptions, type PlaceTools } from './conversation-place.ts';

/** What is in an idle conversation's `/tmp` stays in memory, so only this many are kept. */
const maxPlaces = 8;

/** A machine that failed so often cannot make places. `countersign doctor` says why. */
const maxFailures = 3;

/** The places of the conversations of one runner. */
export class ConversationPlaces {
  readonly #tools: PlaceTools;
  readonly #options: () => PlaceOptions;
  /** The least recently used first. */
  readonly #places = new Map<string, Promise<ConversationPlace | undefined>>();
  #failures = 0;

  /** `options` is asked for each new place. */
  constructor(tools: PlaceTools, options: () => PlaceOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  /** Returns the conversation's place, made at its first use. Undefined if this machine cannot make one. */
  async open(session: string): Promise<ConversationPlace | undefined> {
    const place = this.#places.get(session) ?? this.#make(session);
    this.#places.delete(session);
    this.#places.set(session, place);
    await this.#forgetOldest();
    return place;
  }

  /** Returns the place if the conversation has one. */
  async find(session: string): Promise<ConversationPlace | undefined> {
    return this.#places.get(session);
  }

  /** Forgets the place of a conversation that has ended. */
  async end(session: string): Promise<void> {
    const place = this.#places.get(session);
    this.#places.delete(session);
    (await place)?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#places.keys()].map((session) => this.end(session)));
  }

  async #make(session: string): Promise<ConversationPlace | undefined> {
    if (this.#failures >= maxFailures) return undefined;
    try {
      return await ConversationPlace.make(this.#tools, this.#options());
    } catch {
      this.#failures += 1;
      this.#places.delete(session);
      return undefined;
    }
  }

  /** A place in which a program runs is kept. */
  async #forgetOldest(): Promise<void> {
    for (const [session, made] of [...this.#places].slice(0, -1)) {
      if (this.#places.size <= maxPlaces) return;
      const place = await made;
      if (!place?.isUsed) await this.end(session);
    }
  }
}
