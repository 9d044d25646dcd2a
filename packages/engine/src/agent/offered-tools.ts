import { parseGlob } from '@countersign/policy';
import {
  catalogue,
  type PolicyFile,
  type PolicyRule,
  parametersJsonSchema,
  type ToolDefinition,
} from '@countersign/protocol';

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
export function offeredTools(policy: PolicyFile): readonly OfferedTool[] {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  return catalogue.filter(({ name }) => !denied.some((denies) => denies(name))).map(toOffer);
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}

const offers = new Map<string, OfferedTool>();

/** Each schema is made once: a run asks for all of them at every step. */
function toOffer(tool: ToolDefinition): OfferedTool {
  const known = offers.get(tool.name);
  if (known) return known;
  const { name, description } = tool;
  const offer = { name, description, inputSchema: parametersJsonSchema(tool) };
  offers.set(name, offer);
  return offer;
}
