import { isManageable, jsonValueSchema } from '@countersign/protocol';
import type { Json, JsonObject, MessageRow } from '../rows.ts';
import { type ModelMessage, type ModelPart, UnparsableParams } from './model.ts';

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

type ToolCallPart = Extract<ModelPart, { type: 'tool_call' }>;

/** No tool and no provider's id is longer; an event must hold both (EV-2). */
const longestName = 128;

/**
 * A model's tool calls as they are stored. Some providers send `call_0` in every step, or no id at all: a call is
 * (run, step, index) to us, and gets an id of its own in the conversation.
 */
export function toStoredCalls(
  calls: readonly ToolCallPart[],
  step: number,
  conversation: readonly ModelMessage[],
): readonly StoredToolCall[] {
  const used = new Set(
    conversation.flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
    ),
  );
  return calls.map(({ id, name, params }, index) => {
    const tool_call_id = unusedId(id === '' ? `call_${step}_${index}` : id.slice(0, longestName), used);
    used.add(tool_call_id);
    const tool_name = name.slice(0, longestName);
    return { tool_call_id, tool_id: null, tool_name, tool_params: storedParams(params), step, index };
  });
}

/** Parameters that nobody could send us over HTTP either, nested too deep or of too many values: the call is refused. */
function storedParams(params: ToolCallPart['params']): StoredToolCall['tool_params'] {
  if (params instanceof UnparsableParams) return { [unparsableParameter]: params.text };
  if (isManageable(params) && jsonValueSchema.safeParse(params).success) return params;
  return { [unparsableParameter]: 'nested too deep, or too many values' };
}

function unusedId(wanted: string, used: ReadonlySet<string>): string {
  let id = wanted;
  for (let count = 2; used.has(id); count++) id = `${wanted}_${count}`;
  return id;
}
