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

/** The one catalogue of built-in tools (TL-1). Custom tools join it as `server__tool`. */
export const catalogue = [
  ...filesystemTools,
  ...commandTools,
  ...shellTools,
  ...gitTools,
  ...lspTools,
] as const;

type Row = (typeof catalogue)[number];
export type BuiltInToolName = Row['name'];
/** The parameters of one tool after validation, defaults filled in. */
export type ToolParams<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['parameters']>;
/** The result of one tool when it succeeds. */
export type ToolSuccess<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['result']>;
export type ToolCategoryOf<N extends BuiltInToolName> = { [R in Row as R['name']]: R['category'] }[N];

/** A built-in tool call whose parameters have been validated, by name. */
export type BuiltInToolCall = { [N in BuiltInToolName]: { tool: N; params: ToolParams<N> } }[BuiltInToolName];

export const builtInToolNames = catalogue.map((tool) => tool.name) as readonly BuiltInToolName[];
const byName: ReadonlyMap<string, ToolDefinition> = new Map(catalogue.map((tool) => [tool.name, tool]));

/** The tools that an approval of "changes under src/" covers (AP-4), as a pattern on tool names. Deleting is a class of its own. */
export const changingToolsPattern = `{${catalogue
  .filter(({ kind }) => kind === 'edit')
  .map(({ name }) => name)
  .join(',')}}`;
/** Tools that make "git commands" (AP-4), as a pattern on tool names. Stored grants hold this text, so it never changes. */
export const gitCommandsPattern = '{execute_command,shell_exec,git_branch,git_commit}';

export const findTool = (name: string): ToolDefinition | undefined => byName.get(name);

/** Tools that run a command and wait for it: they take `timeout` and return `exit_code`. */
export const waitsForCommand = (tool: unknown): boolean =>
  typeof tool === 'string' && 'timeout' in (findTool(tool)?.parameters.shape ?? {});

export type ParsedCall =
  | { readonly ok: true; readonly call: BuiltInToolCall }
  | { readonly ok: false; readonly error: ToolErrorValue };

/** Checks a call of a built-in tool against the catalogue. Unknown parameters are an error, not ignored. */
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

/** The result of one tool as it crosses the wire: its success or the common failure. */
export function resultSchemaOf(tool: ToolDefinition): z.ZodType {
  return z.union([tool.result, toolFailureSchema]);
}

/** One sentence for the card: who wants to do what (AP-1). Server and runner make the same sentence from the tool's row. */
export function describeCall(
  agent: string,
  tool: string,
  params: CallParams,
  preview: Preview | null = null,
): string {
  const wants = useOf(tool, params, preview)?.wants ?? findTool(tool)?.wants;
  return `${visibleLine(agent)} wants to ${wants?.(params) ?? `use ${visibleLine(tool)}`}`;
}

/** The name by which front ends translate that sentence: the tool's, or that of this use of it. */
export const intentOf = (tool: string, params: CallParams, preview: Preview | null): string =>
  useOf(tool, params, preview)?.intent ?? tool;

const useOf = (tool: string, params: CallParams, preview: Preview | null) =>
  findTool(tool)?.uses?.find(({ applies }) => applies(params, preview));

/** A custom tool is called by its server's name and its own: `deploy__staging`. No built-in name has that form. */
const customToolNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,31}__[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'not a custom tool name');
export type CustomToolName = `${string}__${string}`;
export const isCustomToolName = (name: string): name is CustomToolName =>
  customToolNameSchema.safeParse(name).success;

/** A custom tool as the runner that has it tells the server (RN-8). */
export const customToolSchema = z.strictObject({
  name: customToolNameSchema,
  description: z.string().max(4000),
  input_schema: z.record(z.string(), jsonValueSchema).describe('JSON Schema of the parameters.'),
  risk_level: riskLevelSchema
    .default('MEDIUM')
    .describe("As the person's configuration says. LOW: they are not asked."),
  read_only: z.boolean().default(false).describe("The tool's own word: it informs, and lowers nothing."),
  destructive: z.boolean().default(false).describe("The tool's own word."),
  category: customCategorySchema.default('custom').describe("The tool's own word."),
  requires_approval: z
    .boolean()
    .default(false)
    .describe("The tool's own word. True: it is never LOW. False loosens nothing."),
  network: z.boolean().default(false).describe('Its server has network, as the person granted it.'),
});
export type CustomTool = z.output<typeof customToolSchema>;

/** A call of a custom tool. What its parameters mean, only its own program knows. */
export interface CustomToolCall {
  readonly tool: CustomToolName;
  readonly params: Readonly<Record<string, JsonValue>>;
}

/** Any call that has been validated. */
export type ToolCall = BuiltInToolCall | CustomToolCall;

export const isCustomCall = (call: ToolCall): call is CustomToolCall => isCustomToolName(call.tool);

/** As `GET …/tools/available` lists it. */
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
