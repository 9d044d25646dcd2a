import { z } from 'zod';
import { approvalSchema, decidedBySchema } from '../approval.ts';
import { digestSchema, idSchema, omittedSchema, timestampSchema, toolParamsSchema } from '../common.ts';
import { errorCodeSchema, toolErrorSchema } from '../error-codes.ts';
import { approvedBySchema, executionStatusSchema } from '../execution-status.ts';
import { previewSchema } from '../preview.ts';
import { reasonSchema, riskLevelSchema } from '../risk.ts';
import { availableToolSchema } from '../tools/catalogue.ts';

/** Every error answer (RE-3). */
export const errorBodySchema = z.strictObject({
  success: z.literal(false),
  error: z.string().describe('What happened and what to do next.'),
  code: errorCodeSchema,
  /** For 409 on an approval: the decision that stands (AP-2). */
  standing: z.strictObject({ status: z.string(), device: z.string().nullable() }).optional(),
  request_id: z.string().optional(),
});

export const executeBodySchema = z.strictObject({
  tool_name: z.string().min(1).max(128),
  tool_params: toolParamsSchema.default({}),
  session_id: idSchema.optional(),
});

export const executeResponseSchema = z.strictObject({
  success: z.literal(true),
  tool_id: idSchema,
  approval_id: idSchema.nullable(),
  status: executionStatusSchema,
  result: z.json().nullable(),
  error: toolErrorSchema.nullable(),
});

/** One execution as history and detail show it (DA-1). Parameters are masked here, in full in the detail. */
export const executionSchema = z.strictObject({
  tool_id: idSchema,
  project_id: idSchema,
  session_id: idSchema,
  tool_call_id: z.string(),
  tool_name: z.string(),
  tool_params: toolParamsSchema,
  status: executionStatusSchema,
  risk_level: riskLevelSchema.nullable(),
  reasons: z.array(reasonSchema),
  requires_approval: z.boolean(),
  approval_id: idSchema.nullable(),
  approved_by: approvedBySchema.nullable(),
  grant_id: idSchema.nullable(),
  runner_id: idSchema.nullable(),
  digest: digestSchema.nullable(),
  attempt: z.int().nonnegative(),
  error: toolErrorSchema.nullable(),
  execution_time_ms: z.int().nonnegative().nullable(),
  undoable: z.boolean(),
  created_at: timestampSchema,
  approved_at: timestampSchema.nullable(),
  completed_at: timestampSchema.nullable(),
});
export type Execution = z.infer<typeof executionSchema>;

export const executionDetailSchema = z.strictObject({
  success: z.literal(true),
  execution: executionSchema,
  result: z.json().nullable(),
  /** Full parameters; what ran, when the person edited them, and what was asked first. */
  requested_params: toolParamsSchema,
  preview: previewSchema.nullable(),
  decision: z
    .strictObject({
      status: z.string(),
      by: decidedBySchema.nullable(),
      reason: z.string().nullable(),
      message: z.string().nullable(),
    })
    .nullable(),
  omitted: omittedSchema.optional(),
});

export const availableToolsResponseSchema = z.strictObject({
  success: z.literal(true),
  tools: z.array(availableToolSchema),
  total_count: z.int(),
});

/** Body of `POST …/result`, from the runner (RE-3). */
export const resultBodySchema = z.strictObject({
  status: z.enum(['completed', 'failed', 'cancelled']),
  result: z.json().optional(),
  error: z
    .union([
      z.string().max(10_000),
      z.strictObject({
        code: z.string().max(64),
        message: z.string().max(10_000),
        recoverable: z.boolean().default(false),
      }),
    ])
    .optional(),
  execution_time_ms: z.int().nonnegative().optional(),
  attempt: z.int().min(1).optional(),
  runner_id: idSchema.optional(),
  digest: digestSchema.optional(),
});

export const resultResponseSchema = z.strictObject({
  success: z.literal(true),
  tool_id: idSchema,
  status: executionStatusSchema,
  message: z.string(),
  audit_head: z.string().optional(),
});

export const startBodySchema = z.strictObject({
  digest: digestSchema.nullable().describe('Recomputed by the runner just before it starts.'),
  runner_id: idSchema,
  attempt: z.int().min(1),
});

export const startResponseSchema = z.strictObject({
  success: z.literal(true),
  tool_id: idSchema,
  status: z.literal('executing'),
  attempt: z.int().min(1),
});

export const progressBodySchema = z.strictObject({
  progress: z.number().min(0).max(100).nullable().default(null),
  message: z.string().max(1000).nullable().default(null),
  output: z
    .strictObject({ stream: z.enum(['stdout', 'stderr']), chunk: z.string().max(32 * 1024) })
    .nullable()
    .default(null),
  runner_id: idSchema.optional(),
});

export const heartbeatBodySchema = z.strictObject({
  queued: z.array(idSchema).max(1100),
  executing: z.array(idSchema).max(1100),
  unacknowledged: z.array(idSchema).max(10_000),
});

/** For each call the runner named: what it should do with it (EX-7). */
export const heartbeatResponseSchema = z.strictObject({
  success: z.literal(true),
  calls: z.record(idSchema, z.enum(['go_on', 'cancel', 'acknowledged'])),
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

export const historyResponseSchema = z.strictObject({
  success: z.literal(true),
  executions: z.array(executionSchema),
  next_cursor: z.string().nullable(),
});

export const cancelBodySchema = z.strictObject({
  reason: z.string().max(1000).default('cancelled by the person'),
});
export const undoBodySchema = z.strictObject({ force: z.boolean().default(false) });

export const callStateResponseSchema = z.strictObject({
  success: z.literal(true),
  tool_id: idSchema,
  status: executionStatusSchema,
});

export const toolMetricsSchema = z.strictObject({
  tool_name: z.string(),
  total_calls: z.int(),
  success_count: z.int(),
  error_count: z.int(),
  rejected_count: z.int(),
  avg_execution_time_ms: z.number().nullable(),
  p50_execution_time_ms: z.number().nullable(),
  p95_execution_time_ms: z.number().nullable(),
  avg_approval_wait_ms: z.number().nullable(),
  p95_approval_wait_ms: z.number().nullable(),
});

export const metricsResponseSchema = z.strictObject({
  success: z.literal(true),
  tools: z.array(toolMetricsSchema),
  since: timestampSchema,
});

export const approvalsResponseSchema = z.strictObject({
  success: z.literal(true),
  approvals: z.array(approvalSchema),
});
export const approvalResponseSchema = z.strictObject({ success: z.literal(true), approval: approvalSchema });
