import { z } from 'zod';
import { type ErrorCode, errorCodes } from './error-codes.ts';

export const errorCodeSchema = z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]);

/** An expected failure, returned as a value (docs/style.md). */
export const toolErrorSchema = z.object({
  code: errorCodeSchema,
  message: z.string().describe('What happened and what to do next.'),
  recoverable: z
    .boolean()
    .describe('Whether the caller itself can fix it, by repeating or changing the call.'),
});
export type ToolErrorValue = z.infer<typeof toolErrorSchema>;

/** Values for the placeholders of an error message. */
type ErrorValues = Readonly<Record<string, string | number>>;

/** The error of `code`, with its message filled in. A placeholder without a value stays as it is. */
export function describeError(code: ErrorCode, values: ErrorValues = {}): ToolErrorValue {
  const { message, recoverable } = errorCodes[code];
  const text = message.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  );
  return { code, message: text, recoverable };
}

/** An unexpected failure (the disk failed, the store is gone), thrown with a stable code. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError';
  readonly code: ErrorCode;
  readonly values: ErrorValues;

  constructor(code: ErrorCode, values: ErrorValues = {}, options?: { cause?: unknown }) {
    super(describeError(code, values).message, options);
    this.code = code;
    this.values = values;
  }
}

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
