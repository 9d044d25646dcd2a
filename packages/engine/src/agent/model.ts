import { type AvailableTool, describeError } from '@countersign/protocol';
import type { JsonObject } from '../rows.ts';

/** A language model of any provider (AG-1). It is stateless: each request has the whole conversation. */
export interface Model {
  /** As the run records it, such as `anthropic:claude-…` or `manual`. */
  readonly name: string;
  /**
   * Streams one answer. The iterator throws on failure; a `ModelError` also says whether to retry. Aborting the signal
   * ends the iterator, and its error is then ignored.
   */
  call(request: ModelRequest): AsyncIterable<ModelPart>;
}

export interface Models {
  /** The model for messages that do not name one. */
  readonly defaultName: string;
  /** Throws a `Refusal` that says what to set when there is no such model, or no key for it. */
  find(name: string): Model;
}

export type OfferedTool = Pick<AvailableTool, 'name' | 'description' | 'input_schema'>;

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly signal: AbortSignal;
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly toolCalls: readonly ModelToolCall[] }
  /** The one result of a tool call. It follows the assistant message. `content` is delimited data. */
  | {
      readonly role: 'tool';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly content: string;
    }
  /** A note from the system, such as a late result. Not the person's words. */
  | { readonly role: 'note'; readonly text: string };

export interface ModelToolCall {
  /** Unique in the conversation, even if the provider repeats its ids. */
  readonly id: string;
  readonly name: string;
  readonly params: JsonObject;
}

export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call';
      /** The provider's own id; may be empty or repeated. */
      readonly id: string;
      readonly name: string;
      readonly params: JsonObject | UnparsableParams;
    }
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  | { readonly type: 'finish'; readonly reason: string }
  /** No content, only a sign that the model is still working. */
  | { readonly type: 'alive' };

/** Parameters from a model that are not a JSON object. */
export class UnparsableParams {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The model did not answer. `message` is for the person. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code = 'MODEL_FAILED';
  /** Whether asking again may help: an overloaded server, a cut connection. */
  readonly retryable: boolean;
  /** How long the provider asked us to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    problem: string,
    options: {
      readonly retryable: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(describeError('MODEL_FAILED', { problem }).message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}
