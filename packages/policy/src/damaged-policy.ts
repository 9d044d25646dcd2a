import { type PolicyRule, policyRuleSchema } from '@countersign/protocol';
import { type CompiledRule, compileRule, type LoadedPolicy, type PolicyOwner } from './policy-rules.ts';

/**
 * What still counts of a policy that is not valid as a whole (RK-5): nothing of it loosens, and nothing that it
 * forbade becomes possible. Its allow rules, programs and lifted paths are left out. Its deny and ask rules stand; one
 * that cannot be read stands for every call of its tool, and where even the tool is unknown, for every call.
 */
export function readDamagedPolicy(file: unknown, owner: PolicyOwner, problem: string): LoadedPolicy {
  const { rules } = (file ?? {}) as { rules?: unknown };
  const entries: readonly unknown[] = Array.isArray(rules) ? rules : [{ effect: 'deny' }];
  const standing = entries.flatMap((entry, index) => strictestReading(entry, index, owner) ?? []);
  return {
    owner,
    file: { version: 1, rules: standing.map(({ rule }) => rule) },
    rules: standing,
    ignored: [problem],
  };
}

function strictestReading(entry: unknown, index: number, owner: PolicyOwner): CompiledRule | undefined {
  const parsed = policyRuleSchema.safeParse(entry);
  if (parsed.success) {
    if (parsed.data.effect === 'allow') return undefined;
    const compiled = compileRule(parsed.data, owner);
    if (typeof compiled !== 'string') return compiled;
  }
  const { effect, tool } = (entry ?? {}) as { effect?: unknown; tool?: unknown };
  if (effect === 'allow') return undefined;
  const forAll: PolicyRule = {
    id: `unreadable-${index + 1}`,
    effect: effect === 'ask' ? 'ask' : 'deny',
    tool: '*',
    why: `rule ${index + 1} of the policy cannot be read, so it counts for every call; save the policy again`,
  };
  const forTool = typeof tool === 'string' ? compileRule({ ...forAll, tool }, owner) : undefined;
  if (forTool !== undefined && typeof forTool !== 'string') return forTool;
  return compileRule(forAll, owner) as CompiledRule;
}
