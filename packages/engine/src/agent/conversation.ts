import { describeError, type ModelResult, toModelResult } from '@countersign/protocol';
import type { MessageRow } from '../rows.ts';
import { storedOutcome } from '../settle/outcomes.ts';
import type { Reading, Unit } from '../store.ts';
import { fitContext } from './context-window.ts';
import { toolMessageId } from './message-ids.ts';
import type { ModelMessage } from './model.ts';
import { asData, resultText } from './model-visible-result.ts';
import { type StoredToolCall, toolCallsOf } from './stored-tool-call.ts';

/** A conversation of more messages is given from here on back. */
const MAX_MESSAGES = 1_000;

/**
 * The conversation of a session as a model takes it. Each tool call is followed by exactly one result: one that a
 * crash or a stop left open is answered from its record, or as cancelled, because a model refuses a dangling call.
 */
export function* readConversation(tx: Reading, sessionId: string): Unit<readonly ModelMessage[]> {
  const last = yield* tx.lastPosition(sessionId);
  const rows = yield* tx.messagesOf(sessionId, { after: last - MAX_MESSAGES, limit: MAX_MESSAGES });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const messages: ModelMessage[] = [];
  for (const row of rows) {
    if (row.role === 'user') messages.push({ role: 'user', text: row.content });
    else if (row.role === 'assistant' && row.complete) yield* addAnswer(tx, row, byId, messages);
    // Other system messages are for the person; this one is about a tool.
    else if (row.role === 'system' && row.tool_id !== null)
      messages.push({ role: 'note', text: row.content });
  }
  return fitContext(messages);
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

/** How a call that has no tool message ended, as far as the store knows. */
function* recordedResult(tx: Reading, runId: string | null, call: StoredToolCall): Unit<ModelResult> {
  const execution = runId === null ? undefined : yield* tx.executionOfCall(runId, call.step, call.index);
  if (execution) {
    const outcome = yield* storedOutcome(tx, execution);
    if (outcome) return toModelResult(outcome);
  }
  return {
    status: 'error',
    tool_call_id: call.tool_call_id,
    error: describeError('EXECUTION_CANCELLED'),
    execution_time_ms: 0,
  };
}
