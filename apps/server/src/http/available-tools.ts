import { compileRule } from '@countersign/policy';
import { type AvailableTool, catalogue, describeTool, type PolicyFile } from '@countersign/protocol';

/** The catalogue as the API lists it, made once. */
const everyTool: readonly AvailableTool[] = Object.values(catalogue).map(describeTool);

/**
 * The tools that an agent is offered: the catalogue without those that the person's own policy denies whatever the
 * arguments (AG-4). A rule that denies by path or command leaves the tool in: each call is decided.
 */
export function availableTools(policy: PolicyFile): readonly AvailableTool[] {
  const denied = policy.rules
    .filter(({ effect, path, command }) => effect === 'deny' && path === undefined && command === undefined)
    .map((rule) => compileRule(rule, 'person'))
    .filter((rule) => typeof rule !== 'string');
  if (denied.length === 0) return everyTool;
  return everyTool.filter(({ name }) => !denied.some((rule) => matchesTool(rule, name)));
}

/** A rule without path and command looks at the tool's name alone. */
const matchesTool = (rule: { matches(call: never, assessment: never): boolean }, tool: string): boolean =>
  rule.matches({ tool, params: {} } as never, { operands: [], commands: [] } as never);
