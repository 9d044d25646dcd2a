import { z } from 'zod';
import { type ErrorCode, errorCodes } from './error-codes.ts';

export const errorCodeSchema = z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]);

/** An expected failure, as a value (docs/style.md). */
export const toolErrorSchema = z.object({
  code: errorCodeSchema,
  message: z.string().describe('What happened and what to do next.'),
  recoverable: z.boolean().describe('Whether the caller itself can get further, by repeating or changing.'),
});
export type ToolErrorValue = z.infer<typeof toolErrorSchema>;

/** What fills the placeholders of a template. */
export type ErrorValues = Readonly<Record<string, string | number>>;

/** Builds the error for `code`, filling its template. A placeholder without a value is left readable. */
export function describeError(code: ErrorCode, values: ErrorValues = {}): ToolErrorValue {
  const { message, recoverable } = errorCodes[code];
  const text = message.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  );
  return { code, message: text, recoverable };
}

/** A promise we could not keep (the disk failed, the store is gone), thrown with its stable code. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError';
  readonly code: ErrorCode;
  /** What the message was filled with. */
  readonly values: ErrorValues;

  constructor(code: ErrorCode, values: ErrorValues = {}, options?: { cause?: unknown }) {
    super(describeError(code, values).message, options);
    this.code = code;
    this.values = values;
  }
}
