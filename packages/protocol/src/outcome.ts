import { z } from 'zod';
import { idSchema, toolParamsSchema } from './common.ts';
import { toolErrorSchema } from './errors.ts';
import { jsonValueSchema, parseJson } from './json-value.ts';

const callFields = {
  tool_id: idSchema,
  tool_call_id: z.string(),
  tool_name: z.string(),
  approval_id: idSchema.nullable(),
  execution_time_ms: z.int().nonnegative().nullable().describe('Null when nothing ran.'),
  /** The parameters that ran, if the person edited them (AP-6). */
  executed_params: toolParamsSchema.nullable(),
};

/** How a call ended, for the agent (EX-3). `status` is always a final state. */
export const toolOutcomeSchema = z.discriminatedUnion('status', [
  z.object({ ...callFields, status: z.literal('completed'), result: jsonValueSchema, error: z.null() }),
  z.object({
    ...callFields,
    status: z.literal('rejected'),
    result: z.null(),
    error: toolErrorSchema,
    /** The person's reason and their message for the agent (AP-5). */
    reason: z.string().nullable(),
    user_message: z.string().nullable(),
  }),
  z.object({
    ...callFields,
    status: z.enum(['failed', 'timeout', 'cancelled']),
    /** The partial result, such as the output of a command that was stopped. */
    result: jsonValueSchema.nullable(),
    error: toolErrorSchema,
  }),
]);
export type ToolOutcome = z.infer<typeof toolOutcomeSchema>;

const modelFields = { tool_call_id: z.string(), executed_params: toolParamsSchema.optional() };

/** The result as the model reads it, in the shapes of the founding documents, plus `executed_params`. */
const modelResultSchema = z.discriminatedUnion('status', [
  z.object({
    ...modelFields,
    status: z.literal('success'),
    result: jsonValueSchema,
    execution_time_ms: z.int(),
  }),
  z.object({
    ...modelFields,
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

/** The result in the content of a tool message; undefined if the content was cut or has another format. */
export const readModelResult = (content: string): ModelResult | undefined =>
  modelResultSchema.safeParse(parseJson(content)).data;

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

/** Stands in a model's result for the middle of a long text. The whole result stays with the call. */
export const leftOutText = (characters: number): string =>
  `[… ${characters} characters are left out here; ask for a part of it …]`;

/** Stands in a model's result for the content of a binary file. */
export const leftOutBase64 = (characters: number): string =>
  `[${characters} characters of base64 are left out]`;

/** Whether a tool message may lack a part of the call's result. */
export const isShortened = (content: string): boolean =>
  /\[(?:… )?\d+ characters (?:of base64 )?are left out/.test(content);
