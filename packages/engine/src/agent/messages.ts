import {
  isWithinJsonLimits,
  type JsonValue,
  jsonValueSchema,
  type Message,
  piecesOf,
} from '@countersign/protocol';
import { type EventData, fits, isoTime, makeEvent, type ServerEvent } from '../record/announcements.ts';
import type { Json, JsonObject, MessageRow, RunRow } from '../rows.ts';
import { type ModelMessage, type ModelPart, UnparsableParams } from './model.ts';

export type AgentState = EventData<'agent.state'>['state'];

export interface RunPlace {
  readonly runId: string;
  readonly projectId: string;
  readonly sessionId: string;
}

/** A message as clients get it. `model` is the model of its run. */
export function messageView(row: MessageRow, model: string | undefined): Message {
  const calls = toolCallsOf(row);
  return {
    message_id: row.id,
    session_id: row.session_id,
    run_id: row.run_id,
    ...(model !== undefined && { model }),
    role: row.role,
    content: row.content,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ tool_call_id, tool_id, tool_name, tool_params, not_started }) => ({
        tool_call_id,
        tool_id,
        tool_name,
        tool_params: tool_params as Record<string, JsonValue>,
        ...(not_started && { not_started }),
      })),
    }),
    ...(row.tool_id !== null && { tool_id: row.tool_id }),
    complete: row.complete,
    ...(row.rewound_at !== null && { rewound: true }),
    created_at: isoTime(row.created_at),
  };
}

export const messageCreatedEvent = (
  row: MessageRow,
  { project_id, model }: Pick<RunRow, 'project_id' | 'model'>,
  now: number,
): ServerEvent =>
  makeEvent('message.created', fit({ ...messageView(row, model), project_id, timestamp: isoTime(now) }));

export const stateEvent = (
  { id, project_id, session_id }: Pick<RunRow, 'id' | 'project_id' | 'session_id'>,
  state: AgentState,
  now: number,
): ServerEvent =>
  makeEvent('agent.state', {
    project_id,
    session_id,
    run_id: id,
    state,
    timestamp: isoTime(now),
  });

/** Longest text of a delta, in UTF-16 units. Each takes at most six bytes as JSON, so the event stays under 64 KB. */
const MAX_DELTA = 8_000;

/** The events for a text that was added to a message at `offset`. */
export function deltaEvents(place: RunPlace, messageId: string, offset: number, text: string): ServerEvent[] {
  let end = offset;
  return [...piecesOf(text, MAX_DELTA)].map((piece) => {
    const start = end;
    end += piece.length;
    return makeEvent('message.delta', {
      project_id: place.projectId,
      session_id: place.sessionId,
      message_id: messageId,
      offset: start,
      text: piece,
    });
  });
}

/** Leaves out what is too large for an event; clients fetch it with the message (EV-2). */
function fit(data: EventData<'message.created'>): EventData<'message.created'> {
  if (fits(data)) return data;
  const withoutContent = { ...data, content: '', omitted: ['content' as const] };
  if (fits(withoutContent) || !data.tool_calls) return withoutContent;
  return {
    ...withoutContent,
    tool_calls: data.tool_calls.map((call) => ({ ...call, tool_params: {} })),
    omitted: ['content', 'tool_params'],
  };
}

/**
 * Ids of the messages that a run writes. An id is derived from (run, step) or (run, step, index), so that a resumed run
 * finds the messages that it wrote and cannot write one twice (AG-2).
 */

export const assistantMessageId = (runId: string, step: number): string => `${runId}-${step}`;

export const toolMessageId = (assistantId: string, index: number): string => `${assistantId}-${index}`;

/** The note about a late result (EX-7), written once. */
export const lateNoteId = (toolId: string): string => `late-${toolId}`;

/** The message that tells the person why a run ended without an answer. */
export const endNoteId = (runId: string): string => `${runId}-end`;

export interface StoredToolCall {
  readonly tool_call_id: string;
  /** The execution's id, set once the call has its result. */
  readonly tool_id: string | null;
  readonly tool_name: string;
  readonly tool_params: JsonObject;
  readonly step: number;
  readonly index: number;
  /** The step ended before this call was made: it has no execution. */
  readonly not_started?: boolean;
}

/** The calls of an assistant message; empty for any other. */
export const toolCallsOf = (message: Pick<MessageRow, 'tool_calls'>): readonly StoredToolCall[] =>
  // Only this package writes the column, through `toJson`.
  Array.isArray(message.tool_calls) ? (message.tool_calls as unknown as StoredToolCall[]) : [];

export const toJson = (calls: readonly StoredToolCall[]): Json =>
  calls.length === 0 ? null : (calls as unknown as Json);

/** Holds the text of parameters that are not a JSON object. No tool has such a parameter, so the call is refused. */
export const unparsableParameter = 'invalid_json';

type ToolCallPart = Extract<ModelPart, { type: 'tool_call' }>;

/** Longer names and ids are cut, so that an event can hold both (EV-2). No tool or provider has longer ones. */
const longestName = 128;

/**
 * A model's tool calls as they are stored. Some providers send `call_0` in every step, or no id at all, so each call gets
 * an id that is unique in the conversation.
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

/** Parameters that our HTTP routes would refuse too (nested too deep, too many values) are replaced, so the call is refused. */
function storedParams(params: ToolCallPart['params']): StoredToolCall['tool_params'] {
  if (params instanceof UnparsableParams) return { [unparsableParameter]: params.text };
  if (isWithinJsonLimits(params) && jsonValueSchema.safeParse(params).success) return params;
  return { [unparsableParameter]: 'nested too deep, or too many values' };
}

function unusedId(wanted: string, used: ReadonlySet<string>): string {
  let id = wanted;
  for (let count = 2; used.has(id); count++) id = `${wanted}_${count}`;
  return id;
}
