import { z } from 'zod';
import { idSchema, timestampSchema } from './common.ts';
import { policyRuleSchema } from './policy-file.ts';
import { riskLevelSchema } from './risk.ts';

/** Which calls an approval covers (AP-4). */
export const approvalScopeSchema = z.enum(['once', 'class', 'session', 'always']);
export type ApprovalScope = z.infer<typeof approvalScopeSchema>;

/** The scopes of grants: those that a card offers, and `mode` for the mode of a conversation. */
const grantScopeSchema = z.enum([...approvalScopeSchema.exclude(['once']).options, 'mode']);
export type GrantScope = z.infer<typeof grantScopeSchema>;

/** The scope of a decision, made by a person on a card or by the grant that covered the call. */
export const decidedScopeSchema = z.enum(['once', ...grantScopeSchema.options]);

/** A wider approval that a front end may offer beside `once`. Approving sends its scope and pattern back. */
export const offeredScopeSchema = z.object({
  scope: approvalScopeSchema.exclude(['once']),
  pattern: z
    .string()
    .nullable()
    .describe(
      'Null covers every call. A line of several commands has a pattern for each, on a line of its own, in their order.',
    ),
  label: z.string().describe('What it means, for the person: "Harmless npm commands in this session".'),
  warning: z.string().nullable().describe('Show this before the person chooses the scope.'),
  max_risk: riskLevelSchema.describe('The grant covers calls up to this level.'),
  rules: z
    .array(
      policyRuleSchema.omit({ why: true, matches: true, does_not_match: true }).required({ max_risk: true }),
    )
    .describe('The scope as policy rules, to test on the history before it is granted (RK-5).'),
});
export type OfferedScope = z.infer<typeof offeredScopeSchema>;

/** The calls that a grant covers, checked by server and runner (AP-4). A granted call still needs a matching digest. */
export const grantPredicateSchema = z.object({
  scope: grantScopeSchema.optional().describe('mode: a rule that asks still asks, on either side.'),
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
  scope: grantScopeSchema.describe(
    'mode: the switch of a conversation to accept_edits made it; revoking it switches back to ask.',
  ),
  uses: z.int().nonnegative(),
  created_at: timestampSchema,
  revoked_at: timestampSchema.nullable(),
});
export type Grant = z.infer<typeof grantSchema>;
