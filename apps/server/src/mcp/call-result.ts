import {
  type ErrorCode,
  type ExecutionStatus,
  errorCodes,
  type JsonValue,
  type ToolOutcome,
  toModelResult,
} from '@countersign/protocol';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { toAnswer } from '../http/refusals.ts';
import { printedOutcome } from './printed-result.ts';

/** The result of a call for an outside agent: text as a person would print it, and the same as for a model (EX-3) as data. */
export function resultOf(outcome: ToolOutcome): CallToolResult {
  const { tool_call_id: _, ...seen } = toModelResult(outcome);
  const { blocks, left } = asBlocks('result' in seen ? seen.result : undefined);
  const value = { call_id: outcome.tool_id, ...seen, ...(left !== undefined && { result: left }) };
  return answerWith(printedOutcome(outcome), value, { isError: seen.status !== 'success', blocks });
}

/** For a call that has not ended: a person has to decide, or it is being executed. */
export function pendingResult(callId: string, status: ExecutionStatus, page: string): CallToolResult {
  const asks = status === 'awaiting_approval';
  const message = asks
    ? `The person has not decided yet; they decide at ${page}, in their terminal or in their editor. Call wait_for_call with this call_id to go on waiting, or do something else meanwhile. Do not repeat the call.`
    : 'It has not ended yet. Call wait_for_call with this call_id to go on waiting. Do not repeat the call.';
  const seen = asks ? 'pending_approval' : status;
  return answerWith(`${seen}: ${message}\ncall_id: ${callId}`, { status: seen, call_id: callId, message });
}

/** For a call that was cancelled, or was asked to stop. */
export const cancelledResult = (callId: string, status: ExecutionStatus): CallToolResult =>
  answerWith(`${status}\ncall_id: ${callId}`, { status, call_id: callId });

/** For a refused call or an internal error: the error with its stable code. */
export function refusedResult(error: unknown, requestId: string): CallToolResult {
  const { body } = toAnswer(error, requestId);
  const { code, error: message, tool_id } = body;
  const { recoverable } = errorCodes[code as ErrorCode];
  const value = {
    ...(tool_id !== undefined && { call_id: tool_id }),
    status: 'error',
    error: { code, message, recoverable },
  };
  return answerWith(`${code}: ${message}`, value, { isError: true });
}

interface Extra {
  readonly isError?: boolean;
  /** Blocks that are not text. */
  readonly blocks?: readonly ContentBlock[];
}

const answerWith = (
  text: string,
  value: Readonly<Record<string, unknown>>,
  { isError = false, blocks = [] }: Extra = {},
): CallToolResult => ({
  content: [...blocks, { type: 'text', text }],
  structuredContent: value,
  ...(isError && { isError }),
});

const base64Schema = z.literal('base64');
const pictureSchema = z.looseObject({
  encoding: base64Schema,
  media_type: z.string().startsWith('image/'),
  content: z.string().refine(isBase64),
  // Only a whole picture becomes a block; parts stay in the value, where the agent may join them.
  offset: z.literal(0).optional(),
  next_offset: z.never().optional(),
});

/** An item besides text in the result of a custom tool, as packages/tool-runner writes it. */
const itemSchema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.enum(['image', 'audio']),
    mime_type: z.string(),
    encoding: base64Schema,
    content: z.string().refine(isBase64),
  }),
  z.looseObject({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string().optional(),
    mime_type: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('resource'),
    uri: z.string(),
    mime_type: z.string().optional(),
    encoding: base64Schema,
    content: z.string().refine(isBase64),
  }),
]);
type Item = z.output<typeof itemSchema>;

/**
 * Splits a result for MCP: pictures, sound and resources become blocks and are removed from the value. Anything else stays
 * in the value.
 */
function asBlocks(result: JsonValue | undefined): {
  readonly blocks: readonly ContentBlock[];
  readonly left: JsonValue | undefined;
} {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    return { blocks: [], left: result };
  }
  const picture = pictureSchema.safeParse(result);
  if (picture.success) {
    const { content: data, media_type: mimeType } = picture.data;
    return { blocks: [{ type: 'image', data, mimeType }], left: without(result, 'content') };
  }
  const { items } = result as { readonly items?: JsonValue };
  if (!Array.isArray(items)) return { blocks: [], left: result };
  const read = items.map((item) => {
    const known = itemSchema.safeParse(item);
    return known.success
      ? { block: blockOf(known.data), left: without(item as JsonObject, 'content', 'encoding') }
      : { left: item as JsonValue };
  });
  return {
    blocks: read.flatMap(({ block }) => (block ? [block] : [])),
    left: { ...result, items: read.map(({ left }) => left) },
  };
}

function blockOf(item: Item): ContentBlock {
  const mimeType = item.mime_type;
  switch (item.type) {
    case 'image':
    case 'audio':
      return { type: item.type, data: item.content, mimeType: item.mime_type };
    case 'resource_link':
      return {
        type: 'resource_link',
        uri: item.uri,
        name: item.name ?? item.uri,
        ...(mimeType && { mimeType }),
      };
    case 'resource':
      return {
        type: 'resource',
        resource: { uri: item.uri, blob: item.content, ...(mimeType && { mimeType }) },
      };
  }
}

type JsonObject = { readonly [name: string]: JsonValue };

const without = (object: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** Strict, because clients reject the whole result if they cannot decode one block. */
function isBase64(text: string): boolean {
  try {
    atob(text);
    return true;
  } catch {
    return false;
  }
}
