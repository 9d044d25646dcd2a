import { z } from 'zod';
import { idSchema, successSchema, timestampSchema } from '../common.ts';
import { grantSchema } from '../grant.ts';
import { policyFileSchema, policyRuleSchema } from '../policy-file.ts';

export const grantsResponseSchema = successSchema.extend({
  grants: z.array(grantSchema),
});
export const grantResponseSchema = successSchema.extend({ grant: grantSchema });

export const policyResponseSchema = successSchema.extend({
  policy: policyFileSchema,
  file: z
    .object({ path: z.string(), problem: z.string().optional() })
    .optional()
    .describe(
      "The file on the server's machine that the rules are kept in, and why it cannot be used. If left out, they are kept at the server.",
    ),
});
export const policyBodySchema = policyFileSchema.extend({
  replaces: policyFileSchema
    .optional()
    .describe('The policy that was changed: 409 POLICY_CHANGED if it is another one by now.'),
});

/** Tests a new rule on the recorded history before it is saved (RK-5). */
export const backtestBodySchema = z.strictObject({
  rule: policyRuleSchema,
  further_rules: z
    .array(policyRuleSchema)
    .max(8)
    .optional()
    .describe('Rules that are tested together with the first.'),
  since: timestampSchema.optional(),
});
export const backtestResponseSchema = successSchema.extend({
  considered: z.int(),
  matched: z.int(),
  would_change: z.int(),
  approved_before: z.int(),
  rejected_before: z.int(),
  examples: z.array(
    z.object({ tool_id: idSchema, description: z.string(), before: z.string(), after: z.string() }),
  ),
});

/** What a token may do (AP-9). */
const tokenScopeSchema = z.enum(['person', 'front_end', 'runner', 'agent']);
export type TokenScope = z.infer<typeof tokenScopeSchema>;

export const tokenSchema = z.object({
  token_id: idSchema,
  name: z.string(),
  scope: tokenScopeSchema,
  project_id: idSchema.nullable().describe("The only project that an agent's token reaches; null: all."),
  created_at: timestampSchema,
  expires_at: timestampSchema.nullable(),
  last_used_at: timestampSchema.nullable(),
  revoked_at: timestampSchema.nullable(),
});

/** Whether a token was neither revoked nor has expired. */
export const isLiveToken = ({
  revoked_at,
  expires_at,
}: Pick<z.infer<typeof tokenSchema>, 'revoked_at' | 'expires_at'>): boolean =>
  revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now());

export const tokenBodySchema = z.strictObject({
  name: z.string().min(1).max(100),
  scope: tokenScopeSchema,
  project_id: idSchema
    .optional()
    .describe("Binds an agent's token to one project; not allowed for other scopes."),
  expires_in_seconds: z
    .int()
    .min(60)
    .max(366 * 24 * 3600)
    .optional(),
});
/** The only response that contains the token itself. */
export const tokenCreatedResponseSchema = successSchema.extend({
  token: z.string(),
  details: tokenSchema,
});
export const tokensResponseSchema = successSchema.extend({
  tokens: z.array(tokenSchema),
});
export const signInBodySchema = z.strictObject({ code: z.string().min(16).max(200) });
export const signInResponseSchema = successSchema.extend({
  token: z.string(),
  expires_at: timestampSchema,
});
