import { z } from 'zod';
import {
  digestSchema,
  idSchema,
  omittedSchema,
  searchTextSchema,
  successSchema,
  timestampSchema,
  toolParamsSchema,
} from '../common.ts';
import { toolErrorSchema } from '../errors.ts';
import { approvalStatusSchema, approvedBySchema, executionStatusSchema } from '../execution-status.ts';
import { decidedScopeSchema } from '../grant.ts';
import { jsonValueSchema } from '../json-value.ts';
import { previewSchema } from '../preview.ts';
import { reasonSchema, riskLevelSchema } from '../risk.ts';
import { availableToolSchema } from '../tools/available-tool.ts';
import { exitCodeSchema } from '../tools/command.ts';

export const availableToolsResponseSchema = successSchema.extend({
  tools: z.array(availableToolSchema),
  total_count: z.int(),
});

export const executeBodySchema = z.strictObject({
  tool_name: z.string().min(1).max(128),
  tool_params: toolParamsSchema.default({}),
  session_id: idSchema
    .optional()
    .describe(
      "Default: a new session of the person's only project; PROJECT_REQUIRED if there are several. The session is listed as a conversation once it has a message. Send its id with further calls that belong together.",
    ),
});

/** The response to a call that was accepted. A refused call gets an error response instead. */
export const executeResponseSchema = successSchema.extend({
  tool_id: idSchema,
  session_id: idSchema,
  approval_id: idSchema.nullable(),
  status: executionStatusSchema,
  result: jsonValueSchema.nullable(),
  error: toolErrorSchema.nullable(),
});

/** How a call was decided, so that a transcript reads the same after a reload. */
const callDecisionSchema = z.object({
  status: approvalStatusSchema.exclude(['pending']),
  scope: decidedScopeSchema
    .nullable()
    .describe(
      'What the person chose, or the scope of the grant that covered the call; null if not approved.',
    ),
  device: z.string().nullable().describe('Where the person decided; null if a grant or a timer did.'),
  reason: z.string().nullable(),
  message: z.string().nullable().describe('What the person told the agent.'),
  decided_at: timestampSchema.nullable(),
});
export type CallDecision = z.infer<typeof callDecisionSchema>;

/** One tool execution, in the history and in detail (DA-1). */
export const executionSchema = z.object({
  tool_id: idSchema,
  project_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.nullable(),
  tool_call_id: z.string(),
  tool_name: z.string(),
  tool_params: toolParamsSchema.describe(
    'The parameters that ran or would run: masked in the history, complete in the detail.',
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
  not_started: z.boolean().optional().describe('True when it was cancelled before it began.'),
  undoable: z.boolean(),
  created_at: timestampSchema,
  approved_at: timestampSchema.nullable(),
  completed_at: timestampSchema.nullable(),
  undone_at: timestampSchema.nullable(),
  decision: callDecisionSchema
    .nullable()
    .optional()
    .describe('Null: nobody was asked and no grant covered it, or it still waits.'),
});
export type Execution = z.infer<typeof executionSchema>;

/** How an approval was settled (AP-5, AP-9). */
const decisionSchema = z.object({
  status: approvalStatusSchema,
  by: z.object({ device: z.string(), token_id: idSchema }).nullable().describe('Null if no person decided.'),
  reason: z.string().nullable(),
  message: z.string().nullable(),
});

/** A result that a runner reported after the call had ended. It does not change the status of the call. */
const lateResultSchema = z.object({
  status: z.enum(['completed', 'failed', 'cancelled']),
  result: jsonValueSchema.nullable(),
  error: toolErrorSchema.nullable(),
});
export type LateResult = z.infer<typeof lateResultSchema>;

export const executionDetailResponseSchema = successSchema.extend({
  execution: executionSchema,
  result: jsonValueSchema.nullable(),
  late_result: lateResultSchema.optional().describe('A result that came after the call had ended (EX-7).'),
  requested_params: toolParamsSchema
    .optional()
    .describe("The agent's parameters. Left out if the person did not edit them."),
  preview: previewSchema.nullable(),
  decision: decisionSchema.nullable(),
  omitted: omittedSchema.optional().describe('Fields that are no longer kept (DA-3).'),
});

export const historyQuerySchema = z.strictObject({
  q: searchTextSchema
    .optional()
    .describe('Words that all occur in the tool, its parameters, its result or its error.'),
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

export const historyResponseSchema = successSchema.extend({
  executions: z.array(executionSchema),
  next_cursor: z.string().nullable(),
});

export const cancelBodySchema = z.strictObject({
  reason: z.string().max(1000).default('cancelled by the person'),
});

export const cancelResponseSchema = successSchema.extend({
  tool_id: idSchema,
  status: executionStatusSchema.describe(
    'If still executing: the runner was asked to stop, and its report decides.',
  ),
});

export const undoBodySchema = z.strictObject({
  force: z.boolean().default(false).describe('Undo even if the file was changed after the call.'),
});

export const undoResponseSchema = successSchema.extend({
  tool_id: idSchema,
  undo_id: idSchema.describe('The runner was asked; the outcome comes as tool.result with this id.'),
});

export const metricsQuerySchema = z.strictObject({
  project_id: idSchema.optional(),
  since: timestampSchema.optional(),
});

/** Metrics of one tool (OB-1). Times are null until there is a first value. */
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

/** Metrics of one tool's calls that began within one interval, for a chart over time. */
const metricsPointSchema = toolMetricsSchema
  .omit({
    p50_execution_time_ms: true,
    p95_execution_time_ms: true,
    p50_approval_wait_ms: true,
    p95_approval_wait_ms: true,
  })
  .extend({ from: timestampSchema });

export const metricsResponseSchema = successSchema.extend({
  tools: z.array(toolMetricsSchema),
  since: timestampSchema,
  bucket_seconds: z.int().describe('The length of each interval of the series.'),
  series: z.array(metricsPointSchema).describe('In order of time; intervals without calls are left out.'),
});
