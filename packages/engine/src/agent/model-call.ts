import { messageOf } from '@countersign/protocol';
import type { Bus } from '../store.ts';
import { type Clock, orAborted, pause } from '../waiting.ts';
import type { HeldRun } from './held-run.ts';
import { deltaEvents } from './messages.ts';
import { type Model, ModelError, type ModelPart, type ModelRequest } from './model.ts';

export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly Extract<ModelPart, { type: 'tool_call' }>[];
  /** Tokens of all attempts: a call that was cut off is paid for as well. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface ModelCallOptions {
  readonly clock: Clock;
  /** If the model sends nothing for this long, the call is retried. */
  readonly stallMs: number;
}

/** Delays before the first, second and third retry. */
const RETRY_AFTER_MS = [500, 1000, 2000] as const;
/** The note at the end of an unfinished answer, by the model's finish reason. */
const cutOffNotes: Readonly<Record<string, string>> = {
  length: '\n\n[The model reached the longest answer it can give; this one is cut off here.]',
  'content-filter': '\n\n[The provider’s content filter ended this answer here.]',
};
/**
 * Longest answer in characters, several times what models give. The answer is kept in memory and stored twice a second.
 */
const MAX_ANSWER = 2_000_000;
/** No model call has more tokens than this: a provider that reports more is wrong. */
const MAX_TOKENS = 1e9;
/** The longest wait that a provider may ask for. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * One model call, streamed into the draft. Retries temporary failures (an overloaded server, a cut connection) up to
 * three times; any other failure is thrown as a `ModelError`.
 */
export async function callModel(
  model: Model,
  request: ModelRequest,
  draft: Draft,
  options: ModelCallOptions,
): Promise<ModelAnswer> {
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await readAnswer(model, request, draft, options, usage);
      return { ...answer, ...usage };
    } catch (error) {
      const delay = RETRY_AFTER_MS[attempt];
      if (!(error instanceof ModelError) || !error.retryable || delay === undefined) throw error;
      const asked = Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
      await pause(options.clock, Math.max(delay, asked), request.signal);
      draft.startOver();
    }
  }
}

async function readAnswer(
  model: Model,
  request: ModelRequest,
  draft: Draft,
  options: ModelCallOptions,
  usage: { inputTokens: number; outputTokens: number },
): Promise<Pick<ModelAnswer, 'text' | 'toolCalls'>> {
  const toolCalls: Extract<ModelPart, { type: 'tool_call' }>[] = [];
  let finish = '';
  for await (const part of partsOf(model, request, options, () => draft.store())) {
    switch (part.type) {
      case 'text':
        await draft.add(part.text.slice(0, MAX_ANSWER - draft.text.length));
        break;
      case 'tool_call':
        toolCalls.push(part);
        break;
      case 'usage':
        usage.inputTokens += tokensOf(part.inputTokens);
        usage.outputTokens += tokensOf(part.outputTokens);
        break;
      case 'finish':
        finish = part.reason;
        break;
      case 'alive':
        await draft.storeIfDue();
        break;
    }
    if (draft.text.length >= MAX_ANSWER) {
      finish = 'length';
      break; // the server does not stop; leaving the loop cancels the request
    }
  }
  // A tool call with cut-off parameters must not run, and a text that ends in mid-sentence should say why.
  const cut = cutOffNotes[finish];
  if (cut !== undefined) {
    if (toolCalls.length > 0)
      throw new ModelError('its answer was cut off within a tool call', { retryable: false });
    await draft.add(cut);
  }
  if (draft.text === '' && toolCalls.length === 0) {
    throw new ModelError('it gave an empty answer', { retryable: true });
  }
  return { text: draft.text, toolCalls };
}

/** A valid token count from what a server reports, which may be a fraction or negative (AG-3). */
const tokensOf = (reported: number): number => Math.min(Math.max(0, Math.ceil(reported) || 0), MAX_TOKENS);

/**
 * Yields the parts of one answer. Throws the signal's reason as soon as it is aborted, even if the model does not stop.
 * A failure of the model is thrown as a `ModelError`. When the model pauses, `onPause` is called once, and is done before
 * the next part.
 */
async function* partsOf(
  model: Model,
  request: ModelRequest,
  { clock, stallMs }: ModelCallOptions,
  onPause: () => Promise<void>,
): AsyncGenerator<ModelPart> {
  const stall = new AbortController();
  const signal = AbortSignal.any([request.signal, stall.signal]);
  const parts = model.call({ ...request, signal })[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const stopTimer = clock.after(stallMs, () =>
        stall.abort(new ModelError('it said nothing for too long', { retryable: true })),
      );
      let paused: Promise<void> | undefined;
      const stopPause = clock.after(STORE_EVERY_MS, () => {
        paused = onPause();
        paused.catch(() => {}); // thrown below
      });
      let next: IteratorResult<ModelPart>;
      try {
        next = await orAborted(parts.next(), signal);
      } catch (error) {
        ended = !signal.aborted;
        throw request.signal.aborted ? request.signal.reason : asModelError(error);
      } finally {
        stopTimer();
        stopPause();
        await paused?.catch(() => {});
      }
      await paused;
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    // The caller stopped early: tell the model, and do not wait for it.
    if (!ended) void Promise.resolve(parts.return?.()).catch(() => {});
  }
}

/** An unknown failure is usually a broken connection, so it is worth a retry. */
function asModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  const problem = messageOf(error);
  return new ModelError(problem || 'the connection broke', { retryable: true, cause: error });
}

/** How often the text of a streaming message is stored (EV-4). */
const STORE_EVERY_MS = 500;

/**
 * The assistant message of one step while the model writes it. Clients get each piece at once; the text is stored twice a
 * second. A retry starts over with the same message, at offset 0.
 */
export class Draft {
  readonly messageId: string;
  readonly #run: HeldRun;
  readonly #bus: Bus;
  readonly #clock: Clock;
  #text = '';
  #stored = '';
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

  async add(piece: string): Promise<void> {
    if (piece === '') return;
    const offset = this.#text.length;
    this.#text += piece;
    const now = this.#clock.monotonic();
    const isFirst = offset === 0;
    // Store the message before its first delta, so that clients know which message a delta belongs to.
    if (this.#storedAt === undefined) await this.#store(isFirst ? '' : this.#text, now);
    for (const event of deltaEvents(this.#run, this.messageId, offset, piece)) {
      this.#bus.publish({
        kind: 'transient',
        userId: this.#run.userId,
        projectId: this.#run.projectId,
        event,
      });
    }
    await this.storeIfDue();
  }

  /** Stores the text if it was not stored lately. */
  async storeIfDue(): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - (this.#storedAt ?? now) >= STORE_EVERY_MS) await this.store();
  }

  /** Stores what has not been stored yet, so that a client that joins now gets it. */
  async store(): Promise<void> {
    if (this.#text !== this.#stored) await this.#store(this.#text, this.#clock.monotonic());
  }

  /** Drops the text, before the model is called again. */
  startOver(): void {
    this.#text = '';
  }

  async #store(content: string, at: number): Promise<void> {
    this.#storedAt = at;
    this.#stored = content;
    const { messageId } = this;
    await this.#run.write(function* ({ tx, add }) {
      // The message exists if this step was stored before, even before a crash.
      if (yield* tx.update('messages', messageId, { content })) return;
      yield* add({ id: messageId, role: 'assistant', content, complete: false });
    });
  }
}
