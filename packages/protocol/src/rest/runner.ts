import { z } from 'zod';
import { digestSchema, idSchema, instanceSchema, successSchema } from '../common.ts';
import { executionStatusSchema } from '../execution-status.ts';
import { jsonValueSchema } from '../json-value.ts';
import { defaultLimits, sentLimitsSchema } from '../limits.ts';
import { networkHost } from '../network-host.ts';
import { machinePolicySchema } from '../policy-file.ts';
import { commandOutputSchema } from '../progress.ts';
import { customToolSchema } from '../tools/catalogue.ts';
import { fileOperations } from '../tools/definition.ts';
import { maxUndoneAtOnce } from './rewind.ts';

const auditHead = z
  .string()
  .optional()
  .describe("Head of the person's audit chain; runners keep it as witnesses (DA-4).");

/** The longest diff of one file that a report carries, in characters. */
const maxRunDiffCharacters = 600_000;

/** Fields of a report. All are optional, because clients of the founding documents do not send them. */
const report = {
  execution_time_ms: z
    .int()
    .nonnegative()
    .optional()
    .describe(
      'If left out, the server measures from the claim (or the signal, if that was the claim) to the result.',
    ),
  attempt: z.int().min(1).optional(),
  runner_id: idSchema.optional(),
  instance: instanceSchema,
  undo_id: idSchema
    .optional()
    .describe('The undo_id of tool.undo: this is the outcome of the undo, not of the call.'),
  undo_tool_ids: z
    .array(idSchema)
    .max(maxUndoneAtOnce)
    .optional()
    .describe('The tool_ids of tool.undo: the outcome is that of all these calls.'),
};

/** An error as a text (founding documents) or with a code. An unknown code is stored as EXECUTION_FAILED. */
const reportedErrorSchema = z.union([
  z.string().max(10_000),
  z.strictObject({
    code: z.string().max(64),
    message: z.string().max(10_000),
    recoverable: z.boolean().optional().describe('Default: as defined for the code.'),
  }),
]);

/** The change of one file by all calls of a run, from before the first call to after the reported one. */
const runChangeSchema = z.strictObject({
  path: z.string().max(defaultLimits.pathBytes),
  operation: z.enum([...fileOperations, 'none']).describe('none: the file is as it was before the run.'),
  diff: z.string().max(maxRunDiffCharacters).describe('Unified; hidden characters are made visible.'),
  truncated: z.boolean().describe('True when the diff was cut for size.'),
  added: z.int().nonnegative().describe('Lines.'),
  removed: z.int().nonnegative(),
});
export type RunChange = z.infer<typeof runChangeSchema>;

/** Body of `POST …/result` (RE-3). The result is any JSON, because custom tools and other clients have their own shapes. */
export const resultBodySchema = z.discriminatedUnion('status', [
  z.strictObject({
    status: z.literal('completed'),
    result: jsonValueSchema,
    run_changes: z
      .array(runChangeSchema)
      .max(1_000)
      .optional()
      .describe('For each file that the call changed: the difference since the run began.'),
    ...report,
  }),
  z.strictObject({
    status: z.literal('failed'),
    error: reportedErrorSchema,
    result: jsonValueSchema.optional().describe('The partial result before the failure.'),
    ...report,
  }),
  z.strictObject({
    status: z.literal('cancelled'),
    error: reportedErrorSchema.optional(),
    result: jsonValueSchema.optional(),
    ...report,
  }),
]);

export const resultResponseSchema = successSchema.extend({
  tool_id: idSchema,
  status: executionStatusSchema,
  message: z.string(),
  audit_head: auditHead,
});

/** Body of `POST …/start`, the claim (EX-6). */
export const startBodySchema = z.strictObject({
  digest: digestSchema
    .nullable()
    .describe('Recomputed just before the start; null if the call needed no approval.'),
  runner_id: idSchema.optional(),
  attempt: z.int().min(1).optional(),
  instance: instanceSchema,
});

export const startResponseSchema = successSchema.extend({
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

/** Body of `POST …/hosts`. The host is asked about by a call of `reach_host` in the same conversation (RN-5). */
export const hostBodySchema = z.strictObject({
  host: networkHost,
  runner_id: idSchema.optional(),
  instance: instanceSchema,
});

export const hostResponseSchema = successSchema.extend({
  tool_id: idSchema.describe('The call of reach_host.'),
  status: executionStatusSchema,
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
    .describe(
      'The tools that the person registered here; sent with the first heartbeat and after each change.',
    ),
  limits: sentLimitsSchema
    .optional()
    .describe(
      "Limits of this machine, sent with the first heartbeat. The stricter of these and the server's apply.",
    ),
  policy: machinePolicySchema
    .optional()
    .describe(
      "The person's policy file on this machine; sent with the first heartbeat and after each change.",
    ),
});

/** Says for each call in the heartbeat what the runner should do with it (EX-7). */
export const heartbeatResponseSchema = successSchema.extend({
  calls: z.record(idSchema, z.enum(['go_on', 'cancel', 'acknowledged'])),
  limits: sentLimitsSchema
    .optional()
    .describe('Limits of the server. A runner applies the stricter of these and its own (TL-3).'),
  audit_head: auditHead,
});
