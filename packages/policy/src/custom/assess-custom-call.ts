import {
  type CustomTool,
  type CustomToolCall,
  type CustomToolName,
  describeError,
  type JsonValue,
  type PolicyRule,
  type Reason,
  type ToolErrorValue,
} from '@countersign/protocol';
import type { CallAssessment } from '../call-assessment.ts';
import { allow } from '../verdict.ts';
import { problemOfParams } from './parameter-schema.ts';

/** The tools that the person registered in one workspace (RN-8). */
export interface CustomTools {
  find(name: string): CustomTool | undefined;
  readonly names: readonly string[];
}

export const customToolsOf = (tools: readonly CustomTool[]): CustomTools => {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return { find: (name) => byName.get(name), names: [...byName.keys()] };
};

export type ParsedCustomCall =
  | { readonly ok: true; readonly call: CustomToolCall; readonly tool: CustomTool }
  | { readonly ok: false; readonly error: ToolErrorValue };

/** Checks the parameters of a call against the tool's own schema. */
export function parseCustomCall(name: CustomToolName, params: unknown, tools: CustomTools): ParsedCustomCall {
  const tool = tools.find(name);
  if (!tool) {
    const known = tools.names.join(', ') || 'no custom tools in this workspace';
    return { ok: false, error: describeError('UNKNOWN_TOOL', { tool: name, known }) };
  }
  const given = params ?? {};
  const problem =
    typeof given !== 'object' || Array.isArray(given)
      ? 'the parameters are no JSON object'
      : problemOfParams(tool.input_schema, given as Record<string, JsonValue>);
  if (problem !== undefined)
    return { ok: false, error: describeError('INVALID_PARAMS', { tool: name, problem }) };
  return { ok: true, call: { tool: name, params: given as CustomToolCall['params'] }, tool };
}

/**
 * The risk of a call of a custom tool. Paths and commands in its parameters are not checked, because only the tool's own
 * program knows what they mean. The tool's description of itself can raise the level but never lower it (RN-8).
 */
export function assessCustomCall(tool: CustomTool): CallAssessment {
  const { name, risk_level, read_only, destructive, network, requires_approval } = tool;
  const [server] = name.split('__', 1);
  const reasons: Reason[] = [
    {
      rule: 'CUSTOM-1',
      why: `a tool of your server "${server}": its own program decides what it touches, so neither paths nor commands in the parameters are checked`,
    },
  ];
  if (destructive) reasons.push({ rule: 'CUSTOM-2', why: 'it says of itself that it may destroy something' });
  if (read_only)
    reasons.push({ rule: 'CUSTOM-3', why: 'it says of itself that it only reads; nobody has checked that' });
  if (requires_approval)
    reasons.push({ rule: 'CUSTOM-4', why: 'it says of itself that it needs your approval' });
  // LOW lets the call run without approval (`implicitAllowRule`). The level stays MEDIUM: repeating it may do harm.
  const level = risk_level === 'HIGH' ? 'HIGH' : 'MEDIUM';
  return { verdict: allow(level, reasons, network), operands: [], commands: [], needsPerson: false };
}

/** Id of the rule that stands for the person's tool configuration; no policy file contains it. */
export const IMPLICIT_ALLOW_RULE = 'mcp.json';

/** Risk LOW in the person's configuration works like an allow rule: an ask or deny rule still beats it. */
export function implicitAllowRule({ name, risk_level }: CustomTool): PolicyRule | undefined {
  if (risk_level !== 'LOW') return undefined;
  const why = 'your tool configuration says that it need not ask';
  return { id: IMPLICIT_ALLOW_RULE, effect: 'allow', tool: name, why };
}
