import { z } from 'zod';
import { toolParamsSchema } from './common.ts';
import { riskLevelSchema } from './risk.ts';

/** An example of a call, which `policy check` tests the rule with. */
const policyExampleSchema = z.strictObject({
  tool: z.string().min(1),
  args: toolParamsSchema,
});

/**
 * One rule of a policy file (RK-5). A call matches if every given part of the rule matches.
 *
 * - `path` is a glob on paths relative to the workspace. To allow, it must match every path of the call except the source
 *   of a copy; to ask or deny, one path is enough.
 * - `command` is a pattern of words such as `git commit *`. To allow a shell line, it must match every command in the line;
 *   to deny it, one command is enough.
 */
export const policyRuleSchema = z.strictObject({
  id: z.string().min(1).max(100),
  effect: z.enum(['allow', 'ask', 'deny']),
  tool: z.string().min(1).max(200).describe('A tool name or a glob on tool names, such as git_*.'),
  path: z.string().min(1).max(1000).optional().describe('Glob on paths relative to the workspace.'),
  command: z.string().min(1).max(1000).optional().describe('Pattern of words, such as git commit *.'),
  max_risk: riskLevelSchema
    .optional()
    .describe('An allow rule covers calls up to this level; MEDIUM by default.'),
  harmless_only: z
    .boolean()
    .optional()
    .describe(
      'An allow rule for commands covers only harmless commands that match (AP-4), or the exact line that it gives. Set on rules that the scope always saves.',
    ),
  why: z.string().min(1).max(500).optional().describe('For the person.'),
  matches: z.array(policyExampleSchema).max(50).optional(),
  does_not_match: z.array(policyExampleSchema).max(50).optional(),
});
export type PolicyRule = z.infer<typeof policyRuleSchema>;

export const policyFileSchema = z.strictObject({
  version: z.literal(1),
  rules: z.array(policyRuleSchema).max(1000).default([]),
  sensitive_paths: z
    .array(z.string().min(1).max(4096))
    .max(100)
    .optional()
    .describe(
      "Only in the person's own file: exact paths of sensitive files that are HIGH instead of refused.",
    ),
  programs: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, 'not a program name'),
        risk: riskLevelSchema.default('MEDIUM'),
      }),
    )
    .max(100)
    .optional()
    .describe("Only in the person's own file: further programs for execute_command."),
});
export type PolicyFile = z.infer<typeof policyFileSchema>;

/** The policy file of a runner's machine, as the runner reports it (RK-5): its content, or why it cannot be used. */
export const machinePolicySchema = z.strictObject({
  policy: policyFileSchema.optional(),
  problem: z.string().max(2000).optional(),
});
export type MachinePolicy = z.infer<typeof machinePolicySchema>;

/** A policy without the examples of its rules, which are for people who edit it. */
export const withoutExamples = (policy: PolicyFile): PolicyFile => ({
  ...policy,
  rules: policy.rules.map(ruleWithoutExamples),
});

export const ruleWithoutExamples = ({ matches: _m, does_not_match: _d, ...rule }: PolicyRule): PolicyRule =>
  rule;

/**
 * The id of a rule of a machine's own policy file, where the server names it. The machine that executes the call must find
 * the rule in its own file.
 */
export const machineRuleId = (id: string): string => `${MACHINE_RULES}${id}`.slice(0, 100);

const MACHINE_RULES = 'policy.json: ';

export const isMachineRule = ({ id }: PolicyRule): boolean => id.startsWith(MACHINE_RULES);

/** Whether two rules mean the same. Their ids are not enough: a person may turn a rule into a denial. */
export const areSameRules = (a: PolicyRule, b: PolicyRule): boolean =>
  (['id', 'effect', 'tool', 'path', 'command', 'max_risk', 'harmless_only'] as const).every(
    (part) => a[part] === b[part],
  );
