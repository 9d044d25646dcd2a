import type { Bus } from '../store.ts';
import { type Clock, orAborted, pause } from '../waiting.ts';
import type { HeldRun } from './held-run.ts';
import { deltaEvents } from './messages.ts';
import { type Model, ModelError, type ModelPart, type ModelRequest } from './model.ts';

/** A complete answer of a model. */
export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly Extract<ModelPart, { type: 'tool_call' }>[];
  /** Of all attempts: a call that was cut off is paid for as well. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface ModelCallOptions {
  readonly clock: Clock;
  /** A model that says nothing for so long is asked again. */
  readonly stallMs: number;
}

/** Before the first, second and third retry. */
const RETRY_AFTER_MS = [500, 1000, 2000] as const;
/** Added to an answer that the model could not finish, by the reason it gave. */
const cutOff: Readonly<Record<string, string>> = {
  length: '\n\n[The model reached the longest answer it can give; this one is cut off here.]',
  'content-filter': '\n\n[The provider’s content filter ended this answer here.]',
};
/** Characters, several times what models give: it is kept in memory and stored whole twice a second. */
const MAX_ANSWER = 2_000_000;
/** More than any model takes or gives; what a server says beyond that is no count. */
const MAX_TOKENS = 1e9;
/** A provider may ask for more patience than that, up to this. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * One model call, streamed into the draft. What may pass (an overloaded server, a connection cut in mid-stream) is
 * tried again; anything else, and the fourth failure, is thrown as a `ModelError`.
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
      if (!(error instanceof ModelError) || !error.passing || delay === undefined) throw error;
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
  for await (const part of partsOf(model, request, options)) {
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
        break;
    }
    if (draft.text.length >= MAX_ANSWER) {
      finish = 'length';
      break; // a server that never ends; leaving tells it
    }
  }
  // A call whose parameters were cut off is no call; and a text that ends in mid-sentence should say why.
  const cut = cutOff[finish];
  if (cut !== undefined) {
    if (toolCalls.length > 0)
      throw new ModelError('its answer was cut off within a tool call', { passing: false });
    await draft.add(cut);
  }
  if (draft.text === '' && toolCalls.length === 0) {
    throw new ModelError('it gave an empty answer', { passing: true });
  }
  return { text: draft.text, toolCalls };
}

/** A server may say anything (a fraction, less than nothing): it is stored, and counted against the budget (AG-3). */
const tokensOf = (said: number): number => Math.min(Math.max(0, Math.ceil(said) || 0), MAX_TOKENS);

/**
 * The parts of one answer. Ends with the signal's reason as soon as it is aborted, whether the model heeds it or not;
 * a failure of the model, and only that, is thrown as a `ModelError`.
 */
async function* partsOf(
  model: Model,
  request: ModelRequest,
  { clock, stallMs }: ModelCallOptions,
): AsyncGenerator<ModelPart> {
  const stall = new AbortController();
  const signal = AbortSignal.any([request.signal, stall.signal]);
  const parts = model.call({ ...request, signal })[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const stopTimer = clock.after(stallMs, () =>
        stall.abort(new ModelError('it said nothing for too long', { passing: true })),
      );
      let next: IteratorResult<ModelPart>;
      try {
        next = await orAborted(parts.next(), signal);
      } catch (error) {
        ended = !signal.aborted;
        throw request.signal.aborted ? request.signal.reason : asModelError(error);
      } finally {
        stopTimer();
      }
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    // Left early: the model is told, and nobody waits for it.
    if (!ended) void Promise.resolve(parts.return?.()).catch(() => {});
  }
}

/** A failure that the model itself could not name is mostly a connection that broke: worth another try. */
function asModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  const problem = error instanceof Error ? error.message : String(error);
  return new ModelError(problem || 'the connection broke', { passing: true, cause: error });
}

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
