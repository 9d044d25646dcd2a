import { z } from 'zod';
import { idSchema } from './common.ts';
import { toolErrorSchema } from './error-codes.ts';
import { executionStatusSchema } from './execution-status.ts';

/** The answer to the agent (EX-3): always a final state. */
export const toolOutcomeSchema = z.strictObject({
  tool_id: idSchema,
  tool_call_id: z.string(),
  tool_name: z.string(),
  status: executionStatusSchema.extract(['completed', 'failed', 'rejected', 'timeout', 'cancelled']),
  result: z.json().nullable(),
  error: toolErrorSchema.nullable(),
  approval_id: idSchema.nullable(),
  execution_time_ms: z.int().nonnegative().nullable(),
  /** What the person said when rejecting (AP-5). */
  reason: z.string().nullable(),
  user_message: z.string().nullable(),
});
export type ToolOutcome = z.infer<typeof toolOutcomeSchema>;

/** What the model sees, in the shapes of the seeds. */
export const modelResultSchema = z.discriminatedUnion('status', [
  z.strictObject({
    status: z.literal('success'),
    tool_call_id: z.string(),
    result: z.json(),
    execution_time_ms: z.int(),
  }),
  z.strictObject({
    status: z.literal('error'),
    tool_call_id: z.string(),
    error: toolErrorSchema,
    execution_time_ms: z.int(),
  }),
  z.strictObject({
    status: z.literal('rejected'),
    tool_call_id: z.string(),
    reason: z.string(),
    user_message: z.string().nullable(),
  }),
]);
export type ModelResult = z.infer<typeof modelResultSchema>;

/** Completed becomes success, rejected keeps the person's words, all else is an error. */
export function toModelResult(outcome: ToolOutcome): ModelResult {
  const { tool_call_id, execution_time_ms } = outcome;
  if (outcome.status === 'completed') {
    return {
      status: 'success',
      tool_call_id,
      result: outcome.result,
      execution_time_ms: execution_time_ms ?? 0,
    };
  }
  if (outcome.status === 'rejected') {
    const reason = outcome.reason ?? 'User rejected the operation';
    return { status: 'rejected', tool_call_id, reason, user_message: outcome.user_message };
  }
  const error = outcome.error ?? {
    code: 'EXECUTION_FAILED' as const,
    message: `The call ended as ${outcome.status}.`,
    recoverable: false,
  };
  return { status: 'error', tool_call_id, error, execution_time_ms: execution_time_ms ?? 0 };
}
