import { type JsonValue, jsonValueSchema } from '@countersign/protocol';
import { z } from 'zod';
import { KeptOutput } from '../commands/command-output.ts';
import type { ToolResult } from '../executor.ts';
import { maskedJson } from './server-entry.ts';

/** The longest error message that is sent to the server. */
const MAX_ERROR = 8_000;
const MAX_ITEMS = 200;

const resourceSchema = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const itemSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('audio'), data: z.string(), mimeType: z.string() }),
  z.looseObject({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string().optional(),
    mimeType: z.string().optional(),
  }),
  z.looseObject({ type: z.literal('resource'), resource: resourceSchema }),
]);
type Item = z.output<typeof itemSchema>;

const answerSchema = z.looseObject({
  content: z.array(z.unknown()).default([]),
  structuredContent: jsonValueSchema.optional(),
  isError: z.boolean().default(false),
});

export interface AnswerBounds {
  /** Limit for the text, and again for everything else together. */
  readonly outputBytes: number;
  /** Masks the values that the person configured as secrets. */
  readonly mask: (text: string) => string;
}

/**
 * Turns a tool's MCP result into ours: `content` is all of its text, or head and tail of a long one; `items` are
 * pictures, sound and resources; `structured_content` is its JSON. If the tool reports an error, the call fails
 * with that message.
 */
export function resultOfAnswer(answer: unknown, { outputBytes, mask }: AnswerBounds): ToolResult {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success)
    return {
      success: false,
      error: 'The tool answered what the protocol does not know.',
      code: 'EXECUTION_FAILED',
    };
  const { content, structuredContent, isError } = parsed.data;
  const known = content.slice(0, MAX_ITEMS).map((item) => itemSchema.safeParse(item));
  const items = known.flatMap((item) => (item.success ? [item.data] : []));
  const text = boundedText(items.flatMap(textOf), outputBytes, mask);
  const room = { bytes: outputBytes };
  const others = items.flatMap((item) => otherItem(item, room, mask));
  const unknown = content.length - items.length;
  const structured = structuredContent === undefined ? undefined : fitting(structuredContent, room, mask);
  return {
    success: !isError,
    content: text,
    ...(others.length > 0 && { items: others }),
    ...(structured !== undefined && { structured_content: structured }),
    ...(unknown > 0 && { left_out: `${unknown} items that are unknown or too many` }),
    ...(isError && {
      error: text.slice(0, MAX_ERROR) || 'The tool says that it failed, and not why.',
      code: 'EXECUTION_FAILED',
    }),
  };
}

function textOf(item: Item): string[] {
  if (item.type === 'text') return [item.text];
  return item.type === 'resource' && item.resource.text !== undefined ? [item.resource.text] : [];
}

function boundedText(texts: readonly string[], bytes: number, mask: AnswerBounds['mask']): string {
  const kept = new KeptOutput(bytes);
  for (const [index, text] of texts.entries()) kept.push(Buffer.from(index === 0 ? text : `\n${text}`));
  return mask(kept.text());
}

function otherItem(item: Item, room: { bytes: number }, mask: AnswerBounds['mask']): JsonValue[] {
  switch (item.type) {
    case 'text':
      return [];
    case 'image':
    case 'audio':
      return [{ type: item.type, mime_type: short(item.mimeType), ...base64(item.data, room) }];
    case 'resource_link':
      return [
        {
          type: 'resource_link',
          uri: mask(short(item.uri)),
          ...(item.name !== undefined && { name: mask(short(item.name)) }),
          ...(item.mimeType !== undefined && { mime_type: short(item.mimeType) }),
        },
      ];
    case 'resource': {
      const { uri, mimeType, blob } = item.resource;
      return [
        {
          type: 'resource',
          uri: mask(short(uri)),
          ...(mimeType !== undefined && { mime_type: short(mimeType) }),
          ...(blob !== undefined && base64(blob, room)),
        },
      ];
    }
  }
}

/** `encoding` tells the server not to send the data to the model, as with binary files. */
function base64(data: string, room: { bytes: number }): { [key: string]: JsonValue } {
  // One character class, so no backtracking: the text may be very long.
  if (/[^A-Za-z0-9+/=\r\n]/.test(data)) return { left_out: 'it is not base64' };
  if (data.length > room.bytes) return { left_out: `${data.length} characters of base64` };
  room.bytes -= data.length;
  return { encoding: 'base64', content: data };
}

function fitting(value: JsonValue, room: { bytes: number }, mask: AnswerBounds['mask']): JsonValue {
  const text = JSON.stringify(value);
  if (text.length > room.bytes) return { left_out: `${text.length} characters of JSON` };
  room.bytes -= text.length;
  return maskedJson(value, mask);
}

const short = (text: string): string => text.slice(0, 2_000);
