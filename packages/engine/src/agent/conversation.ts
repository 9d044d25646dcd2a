import {
  describeError,
  leftOutBase64,
  leftOutText,
  type ModelResult,
  type LateResult as Reported,
  toModelResult,
} from '@countersign/protocol';
import type { ExecutionRow, Json, MessageRow } from '../rows.ts';
import { storedOutcome } from '../settle/outcomes.ts';
import type { Reading, Unit } from '../store.ts';
import type { HeldUnit } from './held-run.ts';
import {
  assistantMessageId,
  lateNoteId,
  type StoredToolCall,
  toolCallsOf,
  toolMessageId,
} from './messages.ts';
import type { ModelMessage } from './model.ts';

/** The model gets at most this many of the latest messages. */
const MAX_MESSAGES = 1_000;

/**
 * The conversation of a session, in the form that a model takes. Models refuse a tool call without a result, so each
 * call is followed by exactly one. A call that a crash or a stop left without a tool message gets the result from its
 * record, or a cancellation.
 */
export function* readConversation(tx: Reading, sessionId: string): Unit<readonly ModelMessage[]> {
  const rows = yield* tx.latestMessages(sessionId, MAX_MESSAGES);
  const byId = new Map(rows.map((row) => [row.id, row]));
  // The run that is under way. Messages that came while it worked belong to the same turn (AG-5).
  const runId = rows.findLast(({ run_id }) => run_id !== null)?.run_id;
  const messages: ModelMessage[] = [];
  let turnFrom: number | undefined;
  for (const row of rows) {
    if (row.run_id === runId) turnFrom ??= messages.length;
    if (row.role === 'user') messages.push({ role: 'user', text: row.content });
    else if (row.role === 'assistant' && row.complete) yield* addAnswer(tx, row, byId, messages);
    // A system message about a tool is for the model; the others are for the person.
    else if (row.role === 'system' && row.tool_id !== null)
      messages.push({ role: 'note', text: row.content });
  }
  return fitContext(messages, { turnFrom });
}

function* addAnswer(
  tx: Reading,
  row: MessageRow,
  byId: ReadonlyMap<string, MessageRow>,
  messages: ModelMessage[],
): Unit<void> {
  const calls = toolCallsOf(row);
  if (row.content === '' && calls.length === 0) return; // stopped before the first word
  const toolCalls = calls.map((call) => ({
    id: call.tool_call_id,
    name: call.tool_name,
    params: call.tool_params,
  }));
  messages.push({ role: 'assistant', text: row.content, toolCalls });
  for (const call of calls) {
    const answer = byId.get(toolMessageId(row.id, call.index));
    const id = answer?.tool_id ?? toolMessageId(row.id, call.index);
    const content = answer?.content ?? resultText(yield* recordedResult(tx, row.run_id, call));
    const { tool_call_id: toolCallId, tool_name: toolName } = call;
    messages.push({ role: 'tool', toolCallId, toolName, content: asData(id, toolName, content) });
  }
}

/** The stored result of a call that has no tool message. If the call never ended, its result is a cancellation. */
function* recordedResult(tx: Reading, runId: string | null, call: StoredToolCall): Unit<ModelResult> {
  const execution = runId === null ? undefined : yield* tx.executionOfCall(runId, call.step, call.index);
  if (execution) {
    const outcome = yield* storedOutcome(tx, execution);
    if (outcome) return forModel(toModelResult(outcome), execution);
  }
  return {
    status: 'error',
    tool_call_id: call.tool_call_id,
    error: { ...describeError('EXECUTION_CANCELLED'), message: 'The run ended before this call began.' },
    execution_time_ms: 0,
  };
}

/** Rewords "You stopped this run", which addresses the person: the model would think that it is meant. */
function forModel(result: ModelResult, execution: ExecutionRow): ModelResult {
  if (result.status !== 'error' || execution.error !== describeError('RUN_STOPPED').message) return result;
  return {
    ...result,
    error: { ...result.error, message: 'The person stopped the run before this call began.' },
  };
}

/** The longest conversation in characters. It fits common models, with room for tools and an answer. */
const MAX_CHARACTERS = 500_000;
/** The newest results are never shortened, because the model works with them. */
const KEPT_RESULTS = 6;

/**
 * Shortens a conversation to what a model can take. Drops the oldest turns first, then the content of old results in
 * the current turn, which begins at `turnFrom` or else with the person's last message. The person's messages in it always
 * stay, and no call loses its result.
 */
export function fitContext(
  messages: readonly ModelMessage[],
  { limit = MAX_CHARACTERS, turnFrom }: { limit?: number; turnFrom?: number | undefined } = {},
): readonly ModelMessage[] {
  const sizes = messages.map(sizeOf);
  let total = sizes.reduce((sum, size) => sum + size, 0);
  const lastTurn = turnFrom ?? messages.findLastIndex(({ role }) => role === 'user');
  let start = 0;
  while (total > limit && start < lastTurn) {
    do total -= sizes[start++] as number;
    while (start < lastTurn && messages[start]?.role !== 'user');
  }
  const kept = messages.slice(start);
  if (total <= limit) return kept;
  let results = kept.filter(({ role }) => role === 'tool').length;
  return kept.map((message) => {
    if (message.role !== 'tool' || total <= limit || results-- <= KEPT_RESULTS) return message;
    const shortened = {
      ...message,
      content: '[left out: an old result; call the tool again if you need it]',
    };
    total -= sizeOf(message) - sizeOf(shortened);
    return shortened;
  });
}

function sizeOf(message: ModelMessage): number {
  if (message.role === 'tool') return message.content.length;
  const calls = message.role === 'assistant' ? message.toolCalls : [];
  return message.text.length + calls.reduce((sum, { params }) => sum + JSON.stringify(params).length, 0);
}

/** Longer texts in a result are cut for the model; the full result stays with the call. */
const MAX_TEXT = 50_000;
const HEAD_CHARACTERS = 40_000;

/** The JSON of a result as the conversation stores it (EX-3), with long texts cut. */
export function resultText(result: ModelResult): string {
  return JSON.stringify(clip(result as unknown as Json));
}

/**
 * Marks tool output as data (AG-4): encloses it in two lines that carry the call's id. The author of the output cannot
 * know that id, so the output cannot end the data early. `content` is JSON and has no line breaks.
 */
function asData(id: string, toolName: string, content: string): string {
  return `<tool_output id="${id}" tool="${toolName.replaceAll(/[^\w.-]/g, '?')}">\n${content}\n</tool_output id="${id}">`;
}

function clip(value: Json): Json {
  if (typeof value === 'string') return clipText(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(clip);
  const object = value as { readonly [key: string]: Json };
  if (object.encoding === 'base64' && typeof object.content === 'string') {
    return { ...object, content: leftOutBase64(object.content.length) };
  }
  return Object.fromEntries(Object.entries(object).map(([name, inner]) => [name, clip(inner)]));
}

function clipText(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const tail = MAX_TEXT - HEAD_CHARACTERS;
  const left = text.length - MAX_TEXT;
  return `${text.slice(0, HEAD_CHARACTERS)}\n${leftOutText(left)}\n${text.slice(-tail)}`;
}

/** How many of a session's latest calls are searched. */
const LATEST_CALLS = 200;

/** A result that arrived after its call had ended, and that the model has not been told yet (EX-7). */
export interface LateResult {
  readonly execution: ExecutionRow;
  readonly reported: Reported;
}

export function* findLateResults(
  tx: Reading,
  { userId, sessionId }: { userId: string; sessionId: string },
): Unit<readonly LateResult[]> {
  const late: LateResult[] = [];
  const calls = yield* tx.history(userId, { sessionId, limit: LATEST_CALLS });
  for (const execution of calls) {
    // Look only at calls that have a report but did not complete: they failed, or the report came late.
    if (execution.status === 'completed' || execution.result_digest === null) continue;
    const late_result = (yield* tx.get('results', execution.id))?.late_result ?? null;
    if (late_result === null) continue;
    if (yield* tx.get('messages', lateNoteId(execution.id))) continue;
    if (yield* isRewound(tx, execution)) continue;
    late.push({ execution, reported: late_result as Reported });
  }
  return late.reverse();
}

/** Whether the conversation went back to before the step that made the call. */
function* isRewound(tx: Reading, { run_id, step }: ExecutionRow): Unit<boolean> {
  if (run_id === null || step === null) return false;
  const message = yield* tx.get('messages', assistantMessageId(run_id, step));
  return message !== undefined && message.rewound_at !== null;
}

/** Adds late results to the end of the conversation, each once. */
export function* addLateResults({ tx, add }: HeldUnit, late: readonly LateResult[]): Unit<void> {
  for (const { execution, reported } of late) {
    const id = lateNoteId(execution.id);
    if (yield* tx.get('messages', id)) continue;
    yield* add({ id, role: 'system', content: noteOf(execution, reported), tool_id: execution.id });
  }
}

function noteOf(execution: ExecutionRow, reported: Reported): string {
  const { id, tool_name, tool_call_id, error } = execution;
  const data = resultText(modelResultOf(execution, reported));
  return (
    `The result of an earlier call of ${tool_name} (${tool_call_id}) came late. The call had ended as ` +
    `${execution.status}${error === null ? '' : ` ("${error}")`}; this is what the runner reported afterwards:\n` +
    asData(id, tool_name, data)
  );
}

/** A late result in the shape that the model gets for any call. */
function modelResultOf(
  { tool_call_id, execution_time_ms }: ExecutionRow,
  { status, result, error }: Reported,
): ModelResult {
  const time = { execution_time_ms: execution_time_ms ?? 0 };
  if (status === 'completed') return { status: 'success', tool_call_id, result: result as never, ...time };
  return {
    status: 'error',
    tool_call_id,
    error: error ?? describeError('EXECUTION_FAILED'),
    ...(result !== null && { result: result as never }),
    ...time,
  };
}
