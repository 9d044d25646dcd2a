import { z } from 'zod';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Deeper values are refused: real data is not nested so deeply, and deep nesting can overflow the stack of recursive code. */
const maxDepth = 200;

/**
 * Any JSON value. `z.json()` would not do: it recurses, so a body of a hundred kilobytes of `[` would throw instead of
 * being refused, and its JSON Schema refers to itself.
 */
export const jsonValueSchema = z
  .unknown()
  .refine(isJsonValue, `not a JSON value, or nested deeper than ${maxDepth}`) as z.ZodType<JsonValue>;

function isJsonValue(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false;
    const below: unknown[] = [];
    for (const item of level) {
      if (item === null || typeof item === 'string' || typeof item === 'boolean') continue;
      if (typeof item === 'number' && Number.isFinite(item)) continue;
      if (!isPlain(item)) return false;
      for (const inner of Array.isArray(item) ? item : Object.values(item)) below.push(inner);
    }
    level = below;
  }
  return true;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/**
 * The maximum number of JSON values, lists and objects included, in the parameters of a call. Each value costs time on
 * the event loop, even a small one.
 */
export const maxParamValues = 50_000;

/** Whether a parsed JSON value respects the limits on depth and on the number of values. */
export function isWithinJsonLimits(value: unknown, maxValues: number = maxParamValues): boolean {
  let count = 0;
  let level: unknown[] = [value];
  // Ten levels more than `maxDepth`, because the value is inside a message.
  for (let depth = 0; level.length > 0; depth += 1) {
    count += level.length;
    if (count > maxValues || depth > maxDepth + 10) return false;
    const below: unknown[] = [];
    for (const item of level) {
      if (item === null || typeof item !== 'object') continue;
      for (const inner of Array.isArray(item) ? item : Object.values(item)) below.push(inner);
      if (count + below.length > maxValues) return false;
    }
    level = below;
  }
  return true;
}

/** Parses JSON from outside; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
