import { z } from 'zod';
import { describeError, type ToolErrorValue } from '../error-codes.ts';
import { approvalTimeoutSeconds, type RiskLevel, riskLevelSchema } from '../risk.ts';
import { commandTools } from './command.ts';
import {
  type ToolCategory,
  type ToolDefinition,
  toolCategorySchema,
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
/** What one tool comes back with when it succeeds. */
export type ToolSuccess<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['result']>;

/** A built-in tool call whose parameters have been validated, by name. */
export type BuiltInToolCall = { [N in BuiltInToolName]: { tool: N; params: ToolParams<N> } }[BuiltInToolName];

export const builtInToolNames = catalogue.map((tool) => tool.name) as readonly BuiltInToolName[];
const byName: ReadonlyMap<string, ToolDefinition> = new Map(catalogue.map((tool) => [tool.name, tool]));

export const findTool = (name: string): ToolDefinition | undefined => byName.get(name);

/** A custom tool is called by its server's name and its own: `deploy__staging`. */
export const customToolNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,31}__[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/);
export const isCustomToolName = (name: string): boolean => customToolNameSchema.safeParse(name).success;

export type ParsedCall =
  | { readonly ok: true; readonly call: BuiltInToolCall }
  | { readonly ok: false; readonly error: ToolErrorValue };

/** Checks a call of a built-in tool against the catalogue. Unknown parameters are an error, not ignored. */
export function parseToolCall(tool: unknown, params: unknown): ParsedCall {
  const definition = typeof tool === 'string' ? byName.get(tool) : undefined;
  if (!definition) {
    const shown = typeof tool === 'string' ? tool : JSON.stringify(tool);
    return { ok: false, error: describeError('UNKNOWN_TOOL', { tool: String(shown).slice(0, 100) }) };
  }
  const parsed = definition.parameters.safeParse(params ?? {});
  if (!parsed.success) {
    const problem = describeIssues(parsed.error);
    return { ok: false, error: describeError('INVALID_PARAMS', { tool: definition.name, problem }) };
  }
  return { ok: true, call: { tool: definition.name, params: parsed.data } as BuiltInToolCall };
}

/** A zod error as one readable sentence part: `path: expected string, received number; …`. */
export function describeIssues(error: z.ZodError): string {
  const shown = error.issues.slice(0, 3).map((issue) => {
    const where = issue.path.map(String).join('.');
    const what = issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
    return where === '' ? what : `${where}: ${what}`;
  });
  const more = error.issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** The result of one tool as it crosses the wire: its success or the common failure. */
export function resultSchemaOf(tool: ToolDefinition): z.ZodType {
  return z.union([tool.result, toolFailureSchema]);
}

/** One tool in `GET …/tools/available`. */
export const availableToolSchema = z.strictObject({
  name: z.string(),
  category: toolCategorySchema,
  description: z.string(),
  /** The seeds' form: each parameter by name. `input_schema` is the whole JSON Schema. */
  parameters: z.record(z.string(), z.unknown()),
  input_schema: z.record(z.string(), z.unknown()),
  requires_approval: z.boolean(),
  risk_level: riskLevelSchema,
  timeout_seconds: z.int(),
  read_only: z.boolean(),
});
export type AvailableTool = z.infer<typeof availableToolSchema>;

/** JSON Schema of a tool's parameters, for models, MCP and OpenAPI. */
export function parametersJsonSchema(tool: ToolDefinition): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.parameters, { io: 'input' });
  return schema;
}

/** A catalogue row as the API lists it. */
export function describeTool(tool: ToolDefinition): AvailableTool {
  const schema = parametersJsonSchema(tool);
  const level: RiskLevel = tool.baseRisk;
  return {
    name: tool.name,
    category: tool.category satisfies ToolCategory,
    description: tool.description,
    parameters: (schema.properties ?? {}) as Record<string, unknown>,
    input_schema: schema,
    requires_approval: tool.approval !== 'auto',
    risk_level: level,
    timeout_seconds: approvalTimeoutSeconds[level],
    read_only: tool.readOnly,
  };
}
