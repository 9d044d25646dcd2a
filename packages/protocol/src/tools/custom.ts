import { z } from 'zod';
import { type JsonValue, jsonValueSchema } from '../json-value.ts';
import { approvalTimeoutSeconds, riskLevelSchema } from '../risk.ts';
import type { AvailableTool } from './available-tool.ts';
import type { BuiltInToolCall } from './catalogue.ts';
import { customCategorySchema } from './definition.ts';

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
