import { z } from 'zod';
import {
  callContextSchema,
  digestSchema,
  idSchema,
  omittedSchema,
  timestampSchema,
  toolParamsSchema,
} from './common.ts';
import { approvalStatusSchema } from './execution-status.ts';
import { previewSchema } from './preview.ts';
import { reasonSchema, riskLevelSchema } from './risk.ts';

/** How far one approval reaches (AP-4). */
export const approvalScopeSchema = z.enum(['once', 'class', 'session', 'always']);
export type ApprovalScope = z.infer<typeof approvalScopeSchema>;

/** Who decided, from where (AP-9). */
export const decidedBySchema = z.strictObject({ device: z.string(), token_id: z.string() });

/** A request as every front end draws it (AP-1). Times left are in `remaining_ms`, never by the client's clock. */
export const approvalSchema = z.strictObject({
  approval_id: idSchema,
  tool_id: idSchema,
  tool_call_id: z.string(),
  project_id: idSchema,
  session_id: idSchema,
  agent: z.string(),
  tool_name: z.string(),
  description: z.string().describe('One sentence: "Agent wants to change config.json".'),
  tool_params: toolParamsSchema,
  risk_level: riskLevelSchema,
  reasons: z.array(reasonSchema),
  network: z.boolean(),
  status: approvalStatusSchema,
  revision: z.int().min(1).describe('Counts edits and new previews; 1 is the first.'),
  timeout_seconds: z.int().nonnegative(),
  remaining_ms: z.int().nonnegative(),
  preview: previewSchema.nullable().describe('Null until the runner has computed it.'),
  digest: digestSchema.nullable().describe('Names what was displayed; approving sends it back.'),
  context: callContextSchema,
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Approval = z.infer<typeof approvalSchema>;

/** Body of `POST …/approve` and `POST /my/approvals/{id}/confirm`. The seeds' `{"decision": "approved"}` is enough. */
export const approveBodySchema = z.strictObject({
  decision: z.literal('approved').optional(),
  digest: digestSchema
    .optional()
    .describe('Of what was displayed. Required once there has been more than one revision.'),
  scope: approvalScopeSchema.default('once'),
  /** Which class, for scope class or always: one of the offered patterns. */
  pattern: z.string().max(1000).optional(),
  /** Said explicitly: the grant may cover HIGH calls too. */
  include_high: z.boolean().default(false),
  /** Edited parameters: a new revision, approved in the same step only if the risk did not rise (AP-6). */
  tool_params: toolParamsSchema.optional(),
  device: z.string().max(100).optional(),
});

export const rejectBodySchema = z.strictObject({
  decision: z.literal('rejected').optional(),
  reason: z.string().max(1000).optional(),
  message: z.string().max(4000).optional().describe('For the agent: what to do instead.'),
  device: z.string().max(100).optional(),
});

/** Body of `POST …/preview`, from the runner (AP-7, AP-8, VA-8). */
export const previewBodySchema = z.strictObject({
  runner_id: idSchema,
  revision: z.int().min(1),
  preview: previewSchema,
  digest: digestSchema,
  /** The runner's own verdict; it can only be stricter than the server's. */
  risk_level: riskLevelSchema,
  reasons: z.array(reasonSchema),
  network: z.boolean(),
});

export const decisionResponseSchema = z.strictObject({
  success: z.literal(true),
  approval_id: idSchema,
  status: approvalStatusSchema,
  grant_id: idSchema.optional(),
});
