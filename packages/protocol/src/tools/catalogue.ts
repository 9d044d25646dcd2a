import { z } from 'zod';
import { describeError, type ToolErrorValue } from '../errors.ts';
import { type JsonValue, jsonValueSchema } from '../json-value.ts';
import type { Preview } from '../preview.ts';
import { approvalTimeoutSeconds, riskLevelSchema } from '../risk.ts';
import { describeIssues } from '../schema-issues.ts';
import { visibleLine } from '../visible-text.ts';
import type { AvailableTool } from './available-tool.ts';
import { commandTools } from './command.ts';
import {
  type CallParams,
  customCategorySchema,
  type ToolDefinition,
  toolFailureSchema,
} from './definition.ts';
import { filesystemTools } from './filesystem.ts';
import { gitTools } from './git.ts';
import { lspTools } from './lsp.ts';
import { shellTools } from './shell.ts';

/** All built-in tools (TL-1). Custom tools are not in it; they are named `server__tool`. */
export const catalogue = [
  ...filesystemTools,
  ...commandTools,
  ...shellTools,
  ...gitTools,
  ...lspTools,
] as const;

type Row = (typeof catalogue)[number];
export type BuiltInToolName = Row['name'];
/** The parameters of one tool after validation, with defaults. */
export type ToolParams<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['parameters']>;
/** The result of one tool when it succeeds. */
export type ToolSuccess<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['result']>;
export type ToolCategoryOf<N extends BuiltInToolName> = { [R in Row as R['name']]: R['category'] }[N];

/** A call of a built-in tool whose parameters have been validated. */
export type BuiltInToolCall = { [N in BuiltInToolName]: { tool: N; params: ToolParams<N> } }[BuiltInToolName];

export const builtInToolNames = catalogue.map((tool) => tool.name) as readonly BuiltInToolName[];
const byName: ReadonlyMap<string, ToolDefinition> = new Map(catalogue.map((tool) => [tool.name, tool]));

/**
 * Pattern on the names of tools that a grant for "changes under src/" covers (AP-4). It does not cover deleting; moving is
 * HIGH, because it deletes the source.
 */
export const changingToolsPattern = `{${catalogue
  .filter(({ kind }) => kind === 'edit' || kind === 'move')
  .map(({ name }) => name)
  .join(',')}}`;
/** Pattern on the names of tools that a grant for "git commands" covers (AP-4). Never change it: stored grants contain it. */
export const gitCommandsPattern = '{execute_command,shell_exec,git_branch,git_commit}';
/** Pattern on the names of tools that a grant for a command covers, whether it stands alone or in a shell line (AP-4). */
export const commandToolsPattern = '{execute_command,shell_exec}';

export const findTool = (name: string): ToolDefinition | undefined => byName.get(name);

/** Whether a tool runs a command and waits for it. Such tools take `timeout` and return `exit_code`. */
export const waitsForCommand = (tool: unknown): boolean =>
  typeof tool === 'string' && 'timeout' in (findTool(tool)?.parameters.shape ?? {});

type ParsedCall =
  | { readonly ok: true; readonly call: BuiltInToolCall }
  | { readonly ok: false; readonly error: ToolErrorValue };

/** Validates a call of a built-in tool. Unknown parameters are an error. */
export function parseToolCall(tool: unknown, params: unknown): ParsedCall {
  const definition = typeof tool === 'string' ? byName.get(tool) : undefined;
  if (!definition) {
    const shown = typeof tool === 'string' ? tool.slice(0, 100) : `(${typeof tool})`;
    return {
      ok: false,
      error: describeError('UNKNOWN_TOOL', { tool: shown, known: builtInToolNames.join(', ') }),
    };
  }
  const parsed = definition.parameters.safeParse(params ?? {});
  if (!parsed.success) {
    const problem = describeIssues(parsed.error);
    return { ok: false, error: describeError('INVALID_PARAMS', { tool: definition.name, problem }) };
  }
  return { ok: true, call: { tool: definition.name, params: parsed.data } as BuiltInToolCall };
}

/** The schema of a tool's result on the wire: its success or the common failure. */
export function resultSchemaOf(tool: ToolDefinition): z.ZodType {
  return z.union([tool.result, toolFailureSchema]);
}

/** The card's sentence "AGENT wants to …" (AP-1). Server and runner make the same sentence. */
export function describeCall(
  agent: string,
  tool: string,
  params: CallParams,
  preview: Preview | null = null,
): string {
  const wants = useOf(tool, params, preview)?.wants ?? findTool(tool)?.wants;
  return `${visibleLine(agent)} wants to ${wants?.(params) ?? `use ${visibleLine(tool)}`}`;
}

/** The id by which front ends translate that sentence: the `intent` of the tool's matching use, else the tool's name. */
export const intentOf = (tool: string, params: CallParams, preview: Preview | null): string =>
  useOf(tool, params, preview)?.intent ?? tool;

const useOf = (tool: string, params: CallParams, preview: Preview | null) =>
  findTool(tool)?.uses?.find(({ applies }) => applies(params, preview));

/** The name of a custom tool: its server and its own name, such as `deploy__staging`. No built-in tool has such a name. */
const customToolNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,31}__[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'not a custom tool name');
export type CustomToolName = `${string}__${string}`;
export const isCustomToolName = (name: string): name is CustomToolName =>
  customToolNameSchema.safeParse(name).success;

/** A custom tool as its runner reports it to the server (RN-8). */
export const customToolSchema = z.strictObject({
  name: customToolNameSchema,
  description: z.string().max(4000),
  input_schema: z.record(z.string(), jsonValueSchema).describe('JSON Schema of the parameters.'),
  risk_level: riskLevelSchema
    .default('MEDIUM')
    .describe("As the person's configuration says. LOW: the person is not asked."),
  read_only: z.boolean().default(false).describe('A claim of the tool itself. It does not lower the risk.'),
  destructive: z.boolean().default(false).describe('A claim of the tool itself.'),
  category: customCategorySchema.default('custom').describe('A claim of the tool itself.'),
  requires_approval: z
    .boolean()
    .default(false)
    .describe('A claim of the tool itself. True: calls are never LOW. False changes nothing.'),
  network: z
    .boolean()
    .default(false)
    .describe("Whether the person granted network access to the tool's server."),
});
export type CustomTool = z.output<typeof customToolSchema>;

/** A call of a custom tool. Only the tool's own program knows what the parameters mean. */
export interface CustomToolCall {
  readonly tool: CustomToolName;
  readonly params: Readonly<Record<string, JsonValue>>;
}

/** A validated call of any tool. */
export type ToolCall = BuiltInToolCall | CustomToolCall;

export const isCustomCall = (call: ToolCall): call is CustomToolCall => isCustomToolName(call.tool);

/** A custom tool as `GET …/tools/available` lists it. */
export function describeCustomTool(tool: CustomTool): AvailableTool {
  const { name, description, input_schema, risk_level, read_only, category } = tool;
  const { properties } = input_schema;
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties);
  return {
    name,
    category,
    description,
    parameters: isObject ? properties : {},
    input_schema,
    requires_approval: risk_level !== 'LOW',
    risk_level,
    timeout_seconds: approvalTimeoutSeconds[risk_level],
    read_only,
  };
}
