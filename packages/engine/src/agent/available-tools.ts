import { parseGlob } from '@countersign/policy';
import {
  type AvailableTool,
  catalogue,
  describeCustomTool,
  describeTool,
  type Limits,
  type PolicyFile,
  type PolicyRule,
} from '@countersign/protocol';
import type { RunnerFacts } from '../approve/stored-policies.ts';

/** The catalogue under the limits that were used last, cached because a run asks at every step. */
let cached: { readonly limits: string; readonly tools: readonly AvailableTool[] } | undefined;

function catalogueUnder(limits: Limits): readonly AvailableTool[] {
  const key = JSON.stringify(limits);
  if (cached?.limits !== key)
    cached = { limits: key, tools: catalogue.map((tool) => describeTool(tool, limits)) };
  return cached.tools;
}

/**
 * The catalogue and the workspace's custom tools, without tools that the policy always denies (AG-4). A rule with a path
 * or a command denies only some calls: its tool is offered, and those calls are refused. Models get the same list as
 * `GET …/tools/available`.
 */
export function availableTools(policy: PolicyFile, { tools, limits }: RunnerFacts): readonly AvailableTool[] {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  const all = [...catalogueUnder(limits), ...tools.map(describeCustomTool)];
  return all.filter(({ name }) => !denied.some((denies) => denies(name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
