import type { EventPayload, Message } from '@countersign/protocol';

type Delta = Pick<EventPayload<'message.delta'>, 'offset' | 'text'>;
type Stored = Pick<Message, 'content' | 'complete' | 'omitted'>;

/**
 * The text of one message while it is streamed: `message.created` starts it, each `message.delta` adds to it.
 * Deltas have no id and are not replayed, so after a reconnect they may overlap, which is harmless, or leave a
 * gap. Then `needsRefetch` is true: fetch the message and give it to `replace`.
 */
export class MessageText {
  #text = '';
  #complete = false;
  #contentLeftOut = false;
  /** Deltas after a gap, by offset. A refetch may lag behind them: the server stores text twice a second. */
  #held: Delta[] = [];

  constructor(created: Stored) {
    this.replace(created);
  }

  get text(): string {
    return this.#text;
  }

  get complete(): boolean {
    return this.#complete;
  }

  get needsRefetch(): boolean {
    return this.#contentLeftOut || this.#held.length > 0;
  }

  /** Returns whether the text has grown. */
  add({ offset, text }: Delta): boolean {
    if (this.#complete) return false;
    // Deltas are never replayed, so a second one at offset 0 means that the model started over.
    if (offset === 0 && this.#text !== '' && !this.#text.startsWith(text)) {
      this.#text = '';
      this.#held = [];
    }
    this.#held.push({ offset, text });
    this.#held.sort((a, b) => a.offset - b.offset);
    return this.#appendHeld();
  }

  /** Takes the server's current message. Keeps text that was streamed beyond it, unless the message is complete. */
  replace({ content, complete, omitted }: Stored): void {
    this.#contentLeftOut = omitted?.includes('content') ?? false;
    if (this.#contentLeftOut) return;
    this.#complete = complete;
    if (complete) {
      this.#text = content;
      this.#held = [];
      return;
    }
    this.#text = content + this.#text.slice(content.length);
    this.#appendHeld();
  }

  #appendHeld(): boolean {
    const before = this.#text.length;
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      if (next.offset > this.#text.length) break;
      this.#text += next.text.slice(this.#text.length - next.offset);
      this.#held.shift();
    }
    return this.#text.length > before;
  }
}
