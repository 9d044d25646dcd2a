import { z } from 'zod';
import { approvalSchema } from '../approval.ts';
import { digestSchema, idSchema, instanceSchema, successSchema, toolParamsSchema } from '../common.ts';
import { errorCodeSchema } from '../errors.ts';
import { approvalStatusSchema } from '../execution-status.ts';
import { approvalScopeSchema } from '../grant.ts';
import { previewSchema } from '../preview.ts';
import { reasonBounds, reasonSchema, riskLevelSchema } from '../risk.ts';

const device = z.string().max(100).optional().describe('The person\'s device, in their words: "phone".');

/** Body of `POST …/approve` and `POST /my/approvals/{id}/confirm`. Every field is optional. */
export const approveBodySchema = z.strictObject({
  decision: z.literal('approved').optional(),
  digest: digestSchema
    .optional()
    .describe('The digest of what was displayed. Required from the second revision on.'),
  scope: approvalScopeSchema.default('once'),
  pattern: z
    .string()
    .max(10_000)
    .optional()
    .describe(
      'The pattern of the offered scope that was chosen. For a line of several commands: one pattern a command, each on a line of its own, from any of the offers.',
    ),
  only_here: z
    .boolean()
    .default(false)
    .describe('With the scope always: in this project, and not everywhere. It is a grant without an end.'),
  include_high: z.boolean().default(false).describe('True: the grant also covers HIGH calls.'),
  tool_params: toolParamsSchema
    .optional()
    .describe('Edited parameters: a new revision, approved at once only if the risk did not rise.'),
  device,
});

export const rejectBodySchema = z.strictObject({
  decision: z.literal('rejected').optional(),
  reason: z.string().max(1000).optional(),
  message: z.string().max(4000).optional().describe('For the agent: what to do instead.'),
  device,
});

export const tryBodySchema = z.strictObject({ device });

export const decisionResponseSchema = successSchema.extend({
  approval_id: idSchema,
  status: approvalStatusSchema,
  grant_id: idSchema.optional().describe('The grant that was created for a wider scope.'),
  rule_id: z.string().optional().describe('The policy rule that was saved for the scope always.'),
});

/** Limited in number and length, so the event that contains them stays under 64 KB (EV-2). */
const givenReasons = z
  .array(
    reasonSchema.extend({
      rule: z.string().min(1).max(reasonBounds.rule),
      why: z.string().min(1).max(reasonBounds.text),
      operand: z.string().max(reasonBounds.text).optional(),
    }),
  )
  .max(reasonBounds.reasons);
/** The longest sentence with which a runner refuses a call, in characters. */
export const maxRefusalText = 10_000;
const previewBodyFields = {
  runner_id: idSchema,
  instance: instanceSchema,
  revision: z.int().min(1),
  reasons: givenReasons,
};

/** Body of `POST …/preview`: the runner's preview and verdict, which can only make the server's stricter (AP-7, AP-8, VA-8). */
export const previewBodySchema = z.union([
  z.strictObject({
    ...previewBodyFields,
    preview: previewSchema,
    digest_base: digestSchema.describe(
      'Digest of the call, its directory and the files, as the runner found them.',
    ),
    digest: digestSchema
      .optional()
      .describe('The digest of what is shown. The server computes it too, and refuses a different one.'),
    risk_level: riskLevelSchema,
    network: z.boolean(),
  }),
  /** The runner refuses the call: it fails, and the card is withdrawn. */
  z.strictObject({
    ...previewBodyFields,
    refused: z.strictObject({ code: errorCodeSchema, message: z.string().max(maxRefusalText) }),
  }),
]);

export const approvalsResponseSchema = successSchema.extend({
  approvals: z.array(approvalSchema),
});
export const approvalResponseSchema = successSchema.extend({ approval: approvalSchema });
