import type { JsonObject, Model, ModelPart, ModelRequest } from '@countersign/engine';

/**
 * One step of a scripted model: say some text, send a part, fail with an error, or await a function.
 */
export type ScriptedPart = string | ModelPart | Error | ((signal: AbortSignal) => unknown);
export type ScriptedTurn = readonly ScriptedPart[];

/**
 * A model that plays a script. The turn is chosen by the number of the model's messages in the conversation, so a call
 * that is repeated after a crash gets the same turn. `attempts` scripts a turn that differs on each attempt.
 */
export class ScriptedModel implements Model {
  readonly name = 'scripted';
  /** Every request in order, with the turn that answered it. */
  readonly requests: { readonly turn: number; readonly request: ModelRequest }[] = [];
  /** The turns that were sent completely. */
  readonly answered: number[] = [];
  readonly #turns: readonly (ScriptedTurn | { readonly attempts: readonly ScriptedTurn[] })[];

  constructor(turns: readonly (ScriptedTurn | { readonly attempts: readonly ScriptedTurn[] })[]) {
    this.#turns = turns;
  }

  async *call(request: ModelRequest): AsyncGenerator<ModelPart> {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    const attempt = this.requests.filter((before) => before.turn === turn).length;
    this.requests.push({ turn, request });
    for (const part of this.#partsOf(turn, attempt)) {
      request.signal.throwIfAborted();
      if (part instanceof Error) throw part;
      if (typeof part === 'function') await part(request.signal);
      else yield typeof part === 'string' ? { type: 'text', text: part } : part;
    }
    this.answered.push(turn);
  }

  #partsOf(turn: number, attempt: number): ScriptedTurn {
    const scripted = this.#turns[turn];
    if (scripted === undefined) throw new Error(`The script has no turn ${turn}.`);
    if (!('attempts' in scripted)) return scripted;
    const parts = scripted.attempts[attempt];
    if (parts === undefined) throw new Error(`The script has no attempt ${attempt} of turn ${turn}.`);
    return parts;
  }
}

/** A tool call in a script. The default id is that of providers that count from 0 in every step. */
export const toolCall = (name: string, params: JsonObject, id = 'call_0'): ModelPart => ({
  type: 'tool_call',
  id,
  name,
  params,
});

/** In a script: never sends anything again, and ignores the signal. */
export const hangs = (): Promise<never> => new Promise(() => {});
