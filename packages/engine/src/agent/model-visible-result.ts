import type { ModelResult } from '@countersign/protocol';
import type { Json } from '../rows.ts';

/** Longer texts in a result are cut for the model; the full result stays with the call. */
const MAX_TEXT = 50_000;
const HEAD = 40_000;

/** A result as the conversation keeps it: the shape of EX-3 as JSON, long texts cut. */
export function resultText(result: ModelResult): string {
  return JSON.stringify(clip(result as unknown as Json));
}

/**
 * Tool output is data (AG-4): it stands between two lines that carry the call's own id, which nobody could know who
 * wrote that output, so nothing in it can end the data early. `content` is JSON, so it has no line breaks of its own.
 */
export function asData(id: string, toolName: string, content: string): string {
  return `<tool_output id="${id}" tool="${toolName.replaceAll(/[^\w.-]/g, '?')}">\n${content}\n</tool_output id="${id}">`;
}

function clip(value: Json): Json {
  if (typeof value === 'string') return clipText(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(clip);
  const object = value as { readonly [key: string]: Json };
  if (object.encoding === 'base64' && typeof object.content === 'string') {
    return { ...object, content: `[${object.content.length} characters of base64 are left out]` };
  }
  return Object.fromEntries(Object.entries(object).map(([name, inner]) => [name, clip(inner)]));
}

function clipText(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const tail = MAX_TEXT - HEAD;
  const left = text.length - MAX_TEXT;
  return `${text.slice(0, HEAD)}\n[… ${left} characters are left out here; ask for a part of it …]\n${text.slice(-tail)}`;
}
