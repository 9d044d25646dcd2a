import { z } from 'zod';
import { digestSchema, idSchema, omittedSchema, timestampSchema, toolParamsSchema } from '../common.ts';
import { toolErrorSchema } from '../errors.ts';
import { approvalStatusSchema, approvedBySchema, executionStatusSchema } from '../execution-status.ts';
import { jsonValueSchema } from '../json-value.ts';
import { previewSchema } from '../preview.ts';
import { reasonSchema, riskLevelSchema } from '../risk.ts';
import { availableToolSchema } from '../tools/available-tool.ts';
import { exitCodeSchema } from '../tools/command.ts';

export const availableToolsResponseSchema = z.object({
  success: z.literal(true),
  tools: z.array(availableToolSchema),
  total_count: z.int(),
});

export const executeBodySchema = z.strictObject({
  tool_name: z.string().min(1).max(128),
  tool_params: toolParamsSchema.default({}),
  session_id: idSchema
    .optional()
    .describe(
      "Left out: a new session of the person's only project; PROJECT_REQUIRED when there are several. It is listed among the conversations once somebody has spoken there; name it in further calls that belong together.",
    ),
});

/** The call was taken; `status` says how far it is. A refused one is answered with its error instead. */
export const executeResponseSchema = z.object({
  success: z.literal(true),
  tool_id: idSchema,
  session_id: idSchema,
  approval_id: idSchema.nullable(),
  status: executionStatusSchema,
  result: jsonValueSchema.nullable(),
  error: toolErrorSchema.nullable(),
});

/** One execution as history and detail show it (DA-1). */
export const executionSchema = z.object({
  tool_id: idSchema,
  project_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.nullable(),
  tool_call_id: z.string(),
  tool_name: z.string(),
  tool_params: toolParamsSchema.describe(
    'What ran or would run: masked in the history, in full in the detail.',
  ),
  status: executionStatusSchema,
  risk_level: riskLevelSchema.nullable(),
  reasons: z.array(reasonSchema),
  requires_approval: z.boolean(),
  approval_id: idSchema.nullable(),
  approved_by: approvedBySchema.nullable(),
  grant_id: idSchema.nullable(),
  runner_id: idSchema.nullable(),
  digest: digestSchema.nullable(),
  attempt: z.int().nonnegative().describe('0 before the first.'),
  error: toolErrorSchema.nullable(),
  execution_time_ms: z.int().nonnegative().nullable(),
  exit_code: exitCodeSchema.optional(),
  undoable: z.boolean(),
  created_at: timestampSchema,
  approved_at: timestampSchema.nullable(),
  completed_at: timestampSchema.nullable(),
  undone_at: timestampSchema.nullable(),
});
export type Execution = z.infer<typeof executionSchema>;

/** Who settled an approval, from where, and what they said (AP-5, AP-9). */
const decisionSchema = z.object({
  status: approvalStatusSchema,
  by: z.object({ device: z.string(), token_id: idSchema }).nullable().describe('Null when no person did.'),
  reason: z.string().nullable(),
  message: z.string().nullable(),
});

/** What a runner reported after the call had ended: the status of the call stays as it was. */
const lateResultSchema = z.object({
  status: z.enum(['completed', 'failed', 'cancelled']),
  result: jsonValueSchema.nullable(),
  error: toolErrorSchema.nullable(),
});
export type LateResult = z.infer<typeof lateResultSchema>;

export const executionDetailResponseSchema = z.object({
  success: z.literal(true),
  execution: executionSchema,
  result: jsonValueSchema.nullable(),
  late_result: lateResultSchema.optional().describe('What came after the call had ended (EX-7).'),
  requested_params: toolParamsSchema
    .optional()
    .describe('What the agent asked, where the person edited it; otherwise it is what the call has.'),
  preview: previewSchema.nullable(),
  decision: decisionSchema.nullable(),
  omitted: omittedSchema.optional().describe('What is no longer kept (DA-3).'),
});

export const historyQuerySchema = z.strictObject({
  project_id: idSchema.optional(),
  session_id: idSchema.optional(),
  run_id: idSchema.optional(),
  tool_name: z.string().max(128).optional(),
  status: executionStatusSchema.optional(),
  risk_level: riskLevelSchema.optional(),
  since: timestampSchema.optional(),
  until: timestampSchema.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
});

export const historyResponseSchema = z.object({
  success: z.literal(true),
  executions: z.array(executionSchema),
  next_cursor: z.string().nullable(),
});

export const cancelBodySchema = z.strictObject({
  reason: z.string().max(1000).default('cancelled by the person'),
});

export const cancelResponseSchema = z.object({
  success: z.literal(true),
  tool_id: idSchema,
  status: executionStatusSchema.describe('Still executing: the runner was asked, and its report decides.'),
});

export const undoBodySchema = z.strictObject({
  force: z.boolean().default(false).describe('Also where the file was changed after the call.'),
});

export const undoResponseSchema = z.object({
  success: z.literal(true),
  tool_id: idSchema,
  undo_id: idSchema.describe('The runner was asked; its outcome comes as tool.result with this id.'),
});

export const metricsQuerySchema = z.strictObject({
  project_id: idSchema.optional(),
  since: timestampSchema.optional(),
});

/** Per tool (OB-1). Times are null until there is one. */
export const toolMetricsSchema = z.object({
  tool_name: z.string(),
  total_calls: z.int(),
  success_count: z.int(),
  error_count: z.int(),
  rejected_count: z.int(),
  avg_execution_time_ms: z.number().nullable(),
  p50_execution_time_ms: z.number().nullable(),
  p95_execution_time_ms: z.number().nullable(),
  avg_approval_wait_ms: z.number().nullable(),
  p50_approval_wait_ms: z.number().nullable(),
  p95_approval_wait_ms: z.number().nullable(),
});

/** The calls of one tool that began within one stretch of time, to be drawn over time. */
const metricsPointSchema = toolMetricsSchema
  .pick({
    tool_name: true,
    total_calls: true,
    success_count: true,
    error_count: true,
    rejected_count: true,
    avg_execution_time_ms: true,
    avg_approval_wait_ms: true,
  })
  .extend({ from: timestampSchema });

export const metricsResponseSchema = z.object({
  success: z.literal(true),
  tools: z.array(toolMetricsSchema),
  since: timestampSchema,
  bucket_seconds: z.int().describe('How long each stretch of the series is.'),
  series: z.array(metricsPointSchema).describe('In the order of time; a stretch without calls is left out.'),
});
