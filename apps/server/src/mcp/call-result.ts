import {
  type ErrorCode,
  type ExecutionStatus,
  errorCodes,
  type ToolOutcome,
  toModelResult,
} from '@countersign/protocol';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { toAnswer } from '../http/refusals.ts';
import { asBlocks } from './content-blocks.ts';

/** How a call ended, as an agent reads it: the shapes that every model gets (EX-3), as text and as a value. */
export function resultOf(outcome: ToolOutcome): CallToolResult {
  const { tool_call_id: _, ...seen } = toModelResult(outcome);
  const { blocks, left } = asBlocks('result' in seen ? seen.result : undefined);
  const value = { call_id: outcome.tool_id, ...seen, ...(left !== undefined && { result: left }) };
  return answerWith(value, { isError: seen.status !== 'success', blocks });
}

/** It has not ended: a person has to decide, or it is being executed. */
export function pendingResult(callId: string, status: ExecutionStatus, inbox: string): CallToolResult {
  const asks = status === 'awaiting_approval';
  const message = asks
    ? `The person has not decided yet; they decide at ${inbox}, in their terminal or in their editor. Call wait_for_call with this call_id to go on waiting, or do something else meanwhile. Do not repeat the call.`
    : 'It has not ended yet. Call wait_for_call with this call_id to go on waiting. Do not repeat the call.';
  return answerWith({ status: asks ? 'pending_approval' : status, call_id: callId, message });
}

/** A call that was cancelled, or is being asked to stop. */
export const cancelledResult = (callId: string, status: ExecutionStatus): CallToolResult =>
  answerWith({ status, call_id: callId });

/** What was refused, or failed on our side: what happened and what to do, with its stable code. */
export function refusedResult(error: unknown, requestId: string): CallToolResult {
  const { body } = toAnswer(error, requestId);
  const { code, error: message, tool_id } = body;
  const { recoverable } = errorCodes[code as ErrorCode];
  const value = {
    ...(tool_id !== undefined && { call_id: tool_id }),
    status: 'error',
    error: { code, message, recoverable },
  };
  return answerWith(value, { isError: true });
}

interface Extra {
  readonly isError?: boolean;
  /** What is no text, beside it. */
  readonly blocks?: readonly ContentBlock[];
}

const answerWith = (
  value: Readonly<Record<string, unknown>>,
  { isError = false, blocks = [] }: Extra = {},
): CallToolResult => ({
  content: [...blocks, { type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
  ...(isError && { isError }),
});
