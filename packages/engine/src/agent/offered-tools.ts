import { parseGlob } from '@countersign/policy';
import {
  type AvailableTool,
  catalogue,
  describeTool,
  type PolicyFile,
  type PolicyRule,
} from '@countersign/protocol';

/** The catalogue as it is listed and offered. Each schema is made once: a run asks for all of them at every step. */
const everyTool: readonly { readonly listed: AvailableTool; readonly offered: OfferedTool }[] = catalogue.map(
  (tool) => {
    const listed = describeTool(tool);
    const { name, description, input_schema: inputSchema } = listed;
    return { listed, offered: { name, description, inputSchema } };
  },
);

/** A tool as the model is told of it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its parameters. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/**
 * The catalogue without what the policy denies for any arguments (AG-4). A rule with a path or a command denies some
 * calls only: such a tool is offered, and those calls are refused.
 */
export const offeredTools = (policy: PolicyFile): readonly OfferedTool[] =>
  notDenied(policy).map(({ offered }) => offered);

/** The same tools as `GET …/tools/available` lists them. */
export const availableTools = (policy: PolicyFile): readonly AvailableTool[] =>
  notDenied(policy).map(({ listed }) => listed);

function notDenied(policy: PolicyFile): typeof everyTool {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  return everyTool.filter(({ listed }) => !denied.some((denies) => denies(listed.name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
