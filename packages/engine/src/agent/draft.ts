import type { Clock } from '../clock.ts';
import type { Bus } from '../store.ts';
import type { HeldRun } from './held-run.ts';
import { deltaEvents } from './message-events.ts';

/** Text that is still being streamed is stored at most this often (EV-4). */
const STORE_EVERY_MS = 500;

/**
 * The assistant message of one step while the model writes it: each piece is passed on to clients at once, the text
 * is stored twice a second. A retry starts over with the same message; its first piece has the offset 0 again.
 */
export class Draft {
  readonly messageId: string;
  readonly #run: HeldRun;
  readonly #bus: Bus;
  readonly #clock: Clock;
  #text = '';
  #storedAt: number | undefined;

  constructor(run: HeldRun, messageId: string, { bus, clock }: { bus: Bus; clock: Clock }) {
    this.#run = run;
    this.messageId = messageId;
    this.#bus = bus;
    this.#clock = clock;
  }

  get text(): string {
    return this.#text;
  }

  /** A piece of text from the model. */
  async add(piece: string): Promise<void> {
    if (piece === '') return;
    const offset = this.#text.length;
    this.#text += piece;
    const now = this.#clock.monotonic();
    const isFirst = offset === 0;
    // The message is there before its first delta, so that no client has to guess what a delta belongs to.
    if (this.#storedAt === undefined) await this.#store(isFirst ? '' : this.#text, now);
    for (const event of deltaEvents(this.#run, this.messageId, offset, piece)) {
      this.#bus.publish({
        kind: 'passing',
        userId: this.#run.userId,
        projectId: this.#run.projectId,
        event,
      });
    }
    if (now - (this.#storedAt ?? now) >= STORE_EVERY_MS) await this.#store(this.#text, now);
  }

  /** The model is asked again: what it had written counts no more. */
  startOver(): void {
    this.#text = '';
  }

  async #store(content: string, at: number): Promise<void> {
    this.#storedAt = at;
    const { messageId } = this;
    await this.#run.write(function* ({ tx, add }) {
      // It is there when this step was being written before a crash.
      if (yield* tx.update('messages', messageId, { content })) return;
      yield* add({
        id: messageId,
        role: 'assistant',
        content,
        tool_calls: null,
        tool_id: null,
        complete: false,
      });
    });
  }
}
