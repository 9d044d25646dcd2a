import type { Json, JsonObject, MessageRow } from '../rows.ts';

/** A tool call as an assistant message keeps it. */
export interface StoredToolCall {
  readonly tool_call_id: string;
  /** The execution, once the call has its result. */
  readonly tool_id: string | null;
  readonly tool_name: string;
  readonly tool_params: JsonObject;
  readonly step: number;
  readonly index: number;
}

/** The calls of an assistant message; none for any other. */
export const toolCallsOf = (message: Pick<MessageRow, 'tool_calls'>): readonly StoredToolCall[] =>
  // Only this package writes the column, through `toJson`.
  Array.isArray(message.tool_calls) ? (message.tool_calls as unknown as StoredToolCall[]) : [];

export const toJson = (calls: readonly StoredToolCall[]): Json =>
  calls.length === 0 ? null : (calls as unknown as Json);

/** The one parameter of a call whose parameters were no JSON object. No tool has it, so the call is refused. */
export const unparsableParameter = 'invalid_json';
