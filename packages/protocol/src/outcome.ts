import { z } from 'zod';
import { idSchema, toolParamsSchema } from './common.ts';
import { toolErrorSchema } from './errors.ts';
import { jsonValueSchema } from './json-value.ts';

const answer = {
  tool_id: idSchema,
  tool_call_id: z.string(),
  tool_name: z.string(),
  approval_id: idSchema.nullable(),
  execution_time_ms: z.int().nonnegative().nullable().describe('Null when nothing ran.'),
  /** The parameters that ran, if the person edited them; the agent is told (AP-6). */
  executed_params: toolParamsSchema.nullable(),
};

/** The answer to the agent (EX-3): always a final state, with what exists in it. */
export const toolOutcomeSchema = z.discriminatedUnion('status', [
  z.object({ ...answer, status: z.literal('completed'), result: jsonValueSchema, error: z.null() }),
  z.object({
    ...answer,
    status: z.literal('rejected'),
    result: z.null(),
    error: toolErrorSchema,
    /** What the person said (AP-5). */
    reason: z.string().nullable(),
    user_message: z.string().nullable(),
  }),
  z.object({
    ...answer,
    status: z.enum(['failed', 'timeout', 'cancelled']),
    /** Partial result, e.g. the output of a command that was stopped. */
    result: jsonValueSchema.nullable(),
    error: toolErrorSchema,
  }),
]);
export type ToolOutcome = z.infer<typeof toolOutcomeSchema>;

const seen = { tool_call_id: z.string(), executed_params: toolParamsSchema.optional() };

/** What the model sees: the shapes of the founding documents, and what ran if the person edited it. */
export const modelResultSchema = z.discriminatedUnion('status', [
  z.object({ ...seen, status: z.literal('success'), result: jsonValueSchema, execution_time_ms: z.int() }),
  z.object({
    ...seen,
    status: z.literal('error'),
    error: toolErrorSchema,
    result: jsonValueSchema.optional(),
    execution_time_ms: z.int(),
  }),
  z.object({
    status: z.literal('rejected'),
    tool_call_id: z.string(),
    reason: z.string(),
    user_message: z.string().nullable(),
  }),
]);
export type ModelResult = z.infer<typeof modelResultSchema>;

/** Completed becomes success, rejected keeps the person's words, all else is an error. */
export function toModelResult(outcome: ToolOutcome): ModelResult {
  const { tool_call_id } = outcome;
  if (outcome.status === 'rejected') {
    const reason = outcome.reason ?? 'User rejected the operation';
    return { status: 'rejected', tool_call_id, reason, user_message: outcome.user_message };
  }
  const ran = {
    tool_call_id,
    execution_time_ms: outcome.execution_time_ms ?? 0,
    ...(outcome.executed_params === null ? {} : { executed_params: outcome.executed_params }),
  };
  if (outcome.status === 'completed') return { status: 'success', ...ran, result: outcome.result };
  const output = outcome.result === null ? {} : { result: outcome.result };
  return { status: 'error', ...ran, error: outcome.error, ...output };
}
