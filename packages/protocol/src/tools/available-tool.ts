import { z } from 'zod';
import { defaultLimits, type Limits } from '../limits.ts';
import { approvalTimeoutSeconds, riskLevelSchema } from '../risk.ts';
import { timeoutBounds } from './command.ts';
import { customCategorySchema, type ToolDefinition, toolCategorySchema } from './definition.ts';

/** One tool in `GET …/tools/available`. */
export const availableToolSchema = z.object({
  name: z.string(),
  category: z
    .union([toolCategorySchema, customCategorySchema])
    .describe('Custom tools have custom, or a category of their own.'),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()).describe('Each parameter by name.'),
  input_schema: z.record(z.string(), z.unknown()).describe('The same as a whole JSON Schema.'),
  requires_approval: z.boolean().describe('False when the person is never asked.'),
  risk_level: riskLevelSchema.describe('The level without regard to the arguments; each call is assessed.'),
  timeout_seconds: z.int().describe('Time to decide; 0 if the person is not asked.'),
  read_only: z.boolean(),
});
export type AvailableTool = z.infer<typeof availableToolSchema>;

/** A built-in tool as `GET …/tools/available` lists it. */
export function describeTool(tool: ToolDefinition, limits: Limits = defaultLimits): AvailableTool {
  const schema = parametersJsonSchema(tool, limits);
  return {
    name: tool.name,
    category: tool.category,
    description: tool.description,
    parameters: schema.properties,
    input_schema: schema,
    requires_approval: tool.baseRisk !== 'LOW',
    risk_level: tool.baseRisk,
    timeout_seconds: approvalTimeoutSeconds[tool.baseRisk],
    read_only: tool.changes === 'nothing',
  };
}

/** JSON Schema (2020-12) of a tool's parameters, for models, MCP and OpenAPI. */
export function parametersJsonSchema(
  tool: ToolDefinition,
  limits: Limits = defaultLimits,
): ParametersJsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(tool.parameters, {
    io: 'input',
    override: dropIntegerBounds,
  });
  const schema = made as ParametersJsonSchema;
  if (!('timeout' in schema.properties)) return schema;
  const timeout = { ...schema.properties.timeout, ...timeoutBounds(limits) };
  return { ...schema, properties: { ...schema.properties, timeout } };
}

interface ParametersJsonSchema extends Record<string, unknown> {
  readonly type: 'object';
  readonly properties: Record<string, object>;
  readonly required?: string[];
}

/** Drops the safe-integer bounds that zod gives every integer: a model would take them for real limits. */
function dropIntegerBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
