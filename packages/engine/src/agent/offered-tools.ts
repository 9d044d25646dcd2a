import { parseGlob } from '@countersign/policy';
import {
  type AvailableTool,
  type CustomTool,
  catalogue,
  describeCustomTool,
  describeTool,
  type PolicyFile,
  type PolicyRule,
} from '@countersign/protocol';

interface ToolViews {
  readonly listed: AvailableTool;
  readonly offered: OfferedTool;
}

/** The catalogue as it is listed and offered. Each schema is made once: a run asks for all of them at every step. */
const everyTool: readonly ToolViews[] = catalogue.map((tool) => viewsOf(describeTool(tool)));

function viewsOf(listed: AvailableTool): ToolViews {
  const { name, description, input_schema: inputSchema } = listed;
  return { listed, offered: { name, description, inputSchema } };
}

/** A tool as the model is told of it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its parameters. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/**
 * The catalogue and the workspace's custom tools, without what the policy denies for any arguments (AG-4). A rule with
 * a path or a command denies some calls only: such a tool is offered, and those calls are refused.
 */
export const offeredTools = (policy: PolicyFile, custom: readonly CustomTool[]): readonly OfferedTool[] =>
  notDenied(policy, custom).map(({ offered }) => offered);

/** The same tools as `GET …/tools/available` lists them. */
export const availableTools = (policy: PolicyFile, custom: readonly CustomTool[]): readonly AvailableTool[] =>
  notDenied(policy, custom).map(({ listed }) => listed);

function notDenied(policy: PolicyFile, custom: readonly CustomTool[]): readonly ToolViews[] {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  const all = [...everyTool, ...custom.map((tool) => viewsOf(describeCustomTool(tool)))];
  return all.filter(({ listed }) => !denied.some((denies) => denies(listed.name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
