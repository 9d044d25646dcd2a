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
    .describe('Of a custom tool: custom, or the word that it has for itself.'),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()).describe('Each parameter by name.'),
  input_schema: z.record(z.string(), z.unknown()).describe('The same as a whole JSON Schema.'),
  requires_approval: z.boolean().describe('False when the person is never asked.'),
  risk_level: riskLevelSchema.describe('When nothing is known of the arguments; each call is assessed.'),
  timeout_seconds: z.int().describe('To decide; 0 when the person is not asked.'),
  read_only: z.boolean(),
});
export type AvailableTool = z.infer<typeof availableToolSchema>;

/** A catalogue row as the API lists it. */
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

export interface ParametersJsonSchema extends Record<string, unknown> {
  readonly type: 'object';
  readonly properties: Record<string, object>;
  readonly required?: string[];
}

/** zod bounds every integer by what a double can hold; to a model that reads like a meaningful limit. */
function dropIntegerBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
