import { z } from 'zod';
import { idSchema, timestampSchema } from './common.ts';
import { policyRuleSchema } from './policy-file.ts';
import { riskLevelSchema } from './risk.ts';

/** How far one approval reaches (AP-4). */
export const approvalScopeSchema = z.enum(['once', 'class', 'session', 'always']);
export type ApprovalScope = z.infer<typeof approvalScopeSchema>;

/** A wider approval that a front end may offer beside "this one". Approving sends scope and pattern back. */
export const offeredScopeSchema = z.object({
  scope: approvalScopeSchema.exclude(['once']),
  pattern: z.string().nullable().describe('Null covers every call.'),
  label: z.string().describe('What it means, for the person: "Harmless npm commands in this session".'),
  warning: z.string().nullable().describe('To show before it is chosen.'),
  max_risk: riskLevelSchema.describe('The grant covers calls up to this level.'),
  rule: policyRuleSchema
    .omit({ why: true, matches: true, does_not_match: true })
    .required({ max_risk: true })
    .describe('What it would allow, as a rule: to be tried on the history before it is granted (RK-5).'),
});
export type OfferedScope = z.infer<typeof offeredScopeSchema>;

/** The predicate of a grant, checked by server and runner (AP-4). It replaces the person, not the digest. */
export const grantPredicateSchema = z.object({
  tool: z.string().describe('A tool name, {a,b} for several, or * for all tools.'),
  pattern: z
    .string()
    .nullable()
    .describe('Path glob or command pattern, as the tool has it; null covers every call of the tool.'),
  max_risk: riskLevelSchema,
  session_id: idSchema.nullable(),
  workspace: z.string(),
  expires_at: timestampSchema.nullable(),
});

export const grantSchema = grantPredicateSchema.extend({
  grant_id: idSchema,
  project_id: idSchema,
  scope: approvalScopeSchema.exclude(['once']),
  uses: z.int().nonnegative(),
  created_at: timestampSchema,
  revoked_at: timestampSchema.nullable(),
});
export type Grant = z.infer<typeof grantSchema>;
