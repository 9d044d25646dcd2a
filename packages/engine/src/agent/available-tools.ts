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

interface ToolViews {
  readonly listed: AvailableTool;
  readonly offered: OfferedTool;
}

/** The catalogue under the limits that were used last, cached because a run asks at every step. */
let everyTool: { readonly limits: string; readonly views: readonly ToolViews[] } | undefined;

function catalogueViews(limits: Limits): readonly ToolViews[] {
  const key = JSON.stringify(limits);
  if (everyTool?.limits !== key)
    everyTool = { limits: key, views: catalogue.map((tool) => viewsOf(describeTool(tool, limits))) };
  return everyTool.views;
}

function viewsOf(listed: AvailableTool): ToolViews {
  const { name, description, input_schema: inputSchema } = listed;
  return { listed, offered: { name, description, inputSchema } };
}

/** A tool as the model sees it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its parameters. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/**
 * The catalogue and the workspace's custom tools, without tools that the policy always denies (AG-4). A rule with a path
 * or a command denies only some calls: its tool is offered, and those calls are refused.
 */
export const offeredTools = (policy: PolicyFile, facts: RunnerFacts): readonly OfferedTool[] =>
  notDenied(policy, facts).map(({ offered }) => offered);

/** The same tools as `GET …/tools/available` lists them. */
export const availableTools = (policy: PolicyFile, facts: RunnerFacts): readonly AvailableTool[] =>
  notDenied(policy, facts).map(({ listed }) => listed);

function notDenied(policy: PolicyFile, { tools, limits }: RunnerFacts): readonly ToolViews[] {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  const all = [...catalogueViews(limits), ...tools.map((tool) => viewsOf(describeCustomTool(tool)))];
  return all.filter(({ listed }) => !denied.some((denies) => denies(listed.name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
