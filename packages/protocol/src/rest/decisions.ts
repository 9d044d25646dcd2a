import { z } from 'zod';
import { approvalSchema } from '../approval.ts';
import { digestSchema, idSchema, instanceSchema, toolParamsSchema } from '../common.ts';
import { errorCodeSchema } from '../errors.ts';
import { approvalStatusSchema } from '../execution-status.ts';
import { approvalScopeSchema } from '../grant.ts';
import { previewSchema } from '../preview.ts';
import { reasonBounds, reasonSchema, riskLevelSchema } from '../risk.ts';

const device = z.string().max(100).optional().describe('Where the person is, in their words: "phone".');

/** Body of `POST …/approve` and of `POST /my/approvals/{id}/confirm`. The seeds' `{"decision": "approved"}` is enough. */
export const approveBodySchema = z.strictObject({
  decision: z.literal('approved').optional(),
  digest: digestSchema
    .optional()
    .describe('Of what was displayed. Required once there has been more than one revision.'),
  scope: approvalScopeSchema.default('once'),
  pattern: z.string().max(1000).optional().describe('Of the offered scope that was chosen.'),
  include_high: z.boolean().default(false).describe('Said explicitly: the grant covers HIGH calls too.'),
  tool_params: toolParamsSchema
    .optional()
    .describe('Edited: a new revision, approved in the same step only if the risk did not rise.'),
  device,
});

export const rejectBodySchema = z.strictObject({
  decision: z.literal('rejected').optional(),
  reason: z.string().max(1000).optional(),
  message: z.string().max(4000).optional().describe('For the agent: what to do instead.'),
  device,
});

export const decisionResponseSchema = z.object({
  success: z.literal(true),
  approval_id: idSchema,
  status: approvalStatusSchema,
  grant_id: idSchema.optional().describe('The grant that a wider scope made.'),
  rule_id: z.string().optional().describe('The rule that scope always saved.'),
});

/** Bounded, so that the event that carries them stays under 64 KB (EV-2). */
const givenReasons = z
  .array(
    reasonSchema.extend({
      rule: z.string().min(1).max(reasonBounds.rule),
      why: z.string().min(1).max(reasonBounds.text),
      operand: z.string().max(reasonBounds.text).optional(),
    }),
  )
  .max(reasonBounds.reasons);
/** Longest sentence that says why a runner refuses a call. */
export const maxRefusalText = 10_000;
const previewed = {
  runner_id: idSchema,
  instance: instanceSchema,
  revision: z.int().min(1),
  reasons: givenReasons,
};

/** Body of `POST …/preview`: the runner's preview and verdict, which can only be stricter (AP-7, AP-8, VA-8). */
export const previewBodySchema = z.union([
  z.strictObject({
    ...previewed,
    preview: previewSchema,
    digest_base: digestSchema.describe('Of the call, its directory and the files, as the runner found them.'),
    digest: digestSchema
      .optional()
      .describe('Of what is shown. The server computes it too, and refuses another one.'),
    risk_level: riskLevelSchema,
    network: z.boolean(),
  }),
  /** The runner refuses what the server would have asked about: the call fails, and the card is withdrawn. */
  z.strictObject({
    ...previewed,
    refused: z.strictObject({ code: errorCodeSchema, message: z.string().max(maxRefusalText) }),
  }),
]);

export const approvalsResponseSchema = z.object({
  success: z.literal(true),
  approvals: z.array(approvalSchema),
});
export const approvalResponseSchema = z.object({ success: z.literal(true), approval: approvalSchema });
