import { z } from 'zod';
import { digestSchema, idSchema, instanceSchema } from '../common.ts';
import { executionStatusSchema } from '../execution-status.ts';
import { jsonValueSchema } from '../json-value.ts';
import { toldLimitsSchema } from '../limits.ts';
import { commandOutputSchema } from '../progress.ts';
import { customToolSchema } from '../tools/catalogue.ts';

const auditHead = z
  .string()
  .optional()
  .describe("Head of the person's audit chain; runners keep it as witnesses (DA-4).");

/** What a runner may say of itself; the founding documents' clients say nothing. */
const report = {
  execution_time_ms: z
    .int()
    .nonnegative()
    .optional()
    .describe(
      'Without it the server measures: from the claim, or the signal that was the claim, to the result.',
    ),
  attempt: z.int().min(1).optional(),
  runner_id: idSchema.optional(),
  instance: instanceSchema,
  undo_id: idSchema.optional().describe('Of tool.undo: this is the outcome of the undo, not of the call.'),
};

/** As the founding documents send it, or with a code. A code that is not one of ours is kept as EXECUTION_FAILED. */
const reportedErrorSchema = z.union([
  z.string().max(10_000),
  z.strictObject({
    code: z.string().max(64),
    message: z.string().max(10_000),
    recoverable: z.boolean().optional().describe('Unless said, as the code is.'),
  }),
]);

/** Body of `POST …/result` (RE-3). The result is any JSON: custom tools and the founding documents' clients have their own. */
export const resultBodySchema = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('completed'), result: jsonValueSchema, ...report }),
  z.strictObject({
    status: z.literal('failed'),
    error: reportedErrorSchema,
    result: jsonValueSchema.optional().describe('What there was before it failed.'),
    ...report,
  }),
  z.strictObject({
    status: z.literal('cancelled'),
    error: reportedErrorSchema.optional(),
    result: jsonValueSchema.optional(),
    ...report,
  }),
]);

export const resultResponseSchema = z.object({
  success: z.literal(true),
  tool_id: idSchema,
  status: executionStatusSchema,
  message: z.string(),
  audit_head: auditHead,
});

/** Body of `POST …/start`, the claim (EX-6). */
export const startBodySchema = z.strictObject({
  digest: digestSchema.nullable().describe('Recomputed just before; null where nothing was approved.'),
  runner_id: idSchema.optional(),
  attempt: z.int().min(1).optional(),
  instance: instanceSchema,
});

export const startResponseSchema = z.object({
  success: z.literal(true),
  tool_id: idSchema,
  status: z.literal('executing'),
  attempt: z.int().min(1),
});

export const progressBodySchema = z.strictObject({
  progress: z.number().min(0).max(100).nullable().default(null),
  message: z.string().max(1000).nullable().default(null),
  output: commandOutputSchema.nullable().default(null),
  runner_id: idSchema.optional(),
  instance: instanceSchema,
});

const calls = z.array(idSchema).max(2_000);
export const heartbeatBodySchema = z.strictObject({
  instance: instanceSchema,
  queued: calls,
  executing: calls,
  unacknowledged: calls,
  custom_tools: z
    .array(customToolSchema)
    .max(500)
    .optional()
    .describe('The tools that the person registered here: with the first heartbeat, and when they change.'),
  limits: toldLimitsSchema
    .optional()
    .describe(
      "The bounds of this machine, with the first heartbeat; the stricter of them and the server's count.",
    ),
});

/** For each call the runner named: what it should do with it (EX-7). */
export const heartbeatResponseSchema = z.object({
  success: z.literal(true),
  calls: z.record(idSchema, z.enum(['go_on', 'cancel', 'acknowledged'])),
  limits: toldLimitsSchema
    .optional()
    .describe("The operator's bounds: a runner keeps to the stricter ones (TL-3)."),
  audit_head: auditHead,
});
