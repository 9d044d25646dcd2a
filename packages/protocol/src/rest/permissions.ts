import { z } from 'zod';
import { idSchema, timestampSchema } from '../common.ts';
import { grantSchema } from '../grant.ts';
import { policyFileSchema, policyRuleSchema } from '../policy-file.ts';

export const grantsResponseSchema = z.object({
  success: z.literal(true),
  grants: z.array(grantSchema),
});
export const grantResponseSchema = z.object({ success: z.literal(true), grant: grantSchema });

export const policyResponseSchema = z.object({ success: z.literal(true), policy: policyFileSchema });

/** What a new rule would have decided on the recorded history, before it is saved (RK-5). */
export const backtestBodySchema = z.strictObject({
  rule: policyRuleSchema,
  since: timestampSchema.optional(),
});
export const backtestResponseSchema = z.object({
  success: z.literal(true),
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
const tokenScopes = ['person', 'front_end', 'runner', 'agent'] as const;
const tokenScopeSchema = z.enum(tokenScopes);
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
export const tokenBodySchema = z.strictObject({
  name: z.string().min(1).max(100),
  scope: tokenScopeSchema,
  project_id: idSchema.optional().describe("Binds an agent's token to one project; other scopes take none."),
  expires_in_seconds: z
    .int()
    .min(60)
    .max(366 * 24 * 3600)
    .optional(),
});
/** The only time the token itself is shown. */
export const tokenCreatedResponseSchema = z.object({
  success: z.literal(true),
  token: z.string(),
  details: tokenSchema,
});
export const tokensResponseSchema = z.object({
  success: z.literal(true),
  tokens: z.array(tokenSchema),
});
export const signInBodySchema = z.strictObject({ code: z.string().min(16).max(200) });
export const signInResponseSchema = z.object({
  success: z.literal(true),
  token: z.string(),
  expires_at: timestampSchema,
});

export const doneResponseSchema = z.object({ success: z.literal(true) });
