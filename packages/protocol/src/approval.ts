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
import { offeredScopeSchema } from './grant.ts';
import { previewSchema } from './preview.ts';
import { reasonSchema, riskLevelSchema } from './risk.ts';

/** A request as every front end draws it (AP-1). */
export const approvalSchema = z.object({
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
  network: z.boolean().describe('Whether the call gets network.'),
  status: approvalStatusSchema,
  revision: z.int().min(1).describe('Counts edits and new previews; 1 is the first.'),
  asked_before: z
    .int()
    .min(1)
    .optional()
    .describe(
      'How often this call was allowed before and did not run: it had changed, or needs a person (AP-8).',
    ),
  timeout_seconds: z.int().nonnegative().describe('The whole time to decide.'),
  remaining_ms: z.int().nonnegative().describe('Left when this was sent. Count down from it, by no clock.'),
  expires_at: timestampSchema.describe("The deadline by the server's clock, to be shown only."),
  runner_id: idSchema
    .nullable()
    .describe(
      'Which runner made the preview; null until one has. Whether a runner is connected: /my/runners.',
    ),
  preview: previewSchema.nullable().describe('Null until the runner has computed it.'),
  digest: digestSchema.nullable().describe('Names what is displayed; approving sends it back.'),
  digest_base: digestSchema
    .nullable()
    .describe(
      "The runner's part of the digest; with it a front end checks that the digest fits the preview (AP-8).",
    ),
  offered_scopes: z.array(offeredScopeSchema).describe('Wider approvals that the person may choose.'),
  context: callContextSchema,
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Approval = z.infer<typeof approvalSchema>;
