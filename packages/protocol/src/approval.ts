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

/** An approval request, with everything that a front end shows (AP-1). */
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
      'How many times this call was approved before without running, because it had changed or needed a person (AP-8).',
    ),
  timeout_seconds: z.int().nonnegative().describe('The total time to decide.'),
  remaining_ms: z
    .int()
    .nonnegative()
    .describe('Time left when this was sent. Count down from it; do not compare clocks.'),
  expires_at: timestampSchema.describe("The deadline by the server's clock, for display only."),
  runner_id: idSchema
    .nullable()
    .describe(
      'The runner that made the preview; null before that. /my/runners says whether it is connected.',
    ),
  trying: z
    .boolean()
    .optional()
    .describe(
      'True while the runner tries the call (RN-13): the preview with its outcome, and another digest, follow.',
    ),
  preview: previewSchema.nullable().describe('Null until the runner has computed it.'),
  digest: digestSchema.nullable().describe('Identifies what is displayed; send it back when approving.'),
  digest_base: digestSchema
    .nullable()
    .describe(
      "The runner's part of the digest. A front end uses it to check that the digest matches the preview (AP-8).",
    ),
  offered_scopes: z.array(offeredScopeSchema).describe('Wider approvals that the person may choose.'),
  context: callContextSchema,
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Approval = z.infer<typeof approvalSchema>;
