import { z } from 'zod';
import { jsonValueSchema } from '../json-value.ts';
import { riskLevelSchema } from '../risk.ts';

/** A custom tool is called by its server's name and its own: `deploy__staging`. No built-in name has that form. */
const customToolNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,31}__[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'not a custom tool name');
export const isCustomToolName = (name: string): boolean => customToolNameSchema.safeParse(name).success;

/** A custom tool as the runner that has it tells the server (RN-8). */
export const customToolSchema = z.strictObject({
  name: customToolNameSchema,
  description: z.string().max(4000),
  input_schema: z.record(z.string(), jsonValueSchema).describe('JSON Schema of the parameters.'),
  risk_level: riskLevelSchema.default('MEDIUM').describe("As the person's configuration says."),
  read_only: z.boolean().default(false),
});
