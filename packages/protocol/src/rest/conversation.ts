import { z } from 'zod';
import { idSchema, searchTextSchema, successSchema, timestampSchema } from '../common.ts';
import { sentLimitsSchema } from '../limits.ts';
import { messageSchema, queuedMessageSchema, whenBusySchema } from '../messages.ts';
import { machinePolicySchema } from '../policy-file.ts';
import { sessionModeSchema, sessionSchema } from '../session.ts';

const contentSchema = z.string().min(1).max(200_000);

export const sendMessageBodySchema = z.strictObject({
  content: contentSchema,
  session_id: idSchema.optional().describe('Default: the latest session of the project, or a new session.'),
  model: z.string().max(200).optional().describe('provider:model; the configured default when left out.'),
  when_busy: whenBusySchema
    .default('refuse')
    .describe(
      'While a run is under way: refuse with RUN_ACTIVE, queue for its next step, or send_now, which lets the step end after the call that is running.',
    ),
});

export const sendMessageResponseSchema = successSchema.extend({
  message_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.describe('The run that it started, or the one under way, which takes it.'),
  queued: z.boolean().default(false).describe('True when it waits for the agent to take it.'),
});

export const queuedMessageBodySchema = z.strictObject({ content: contentSchema });
export const queuedMessageResponseSchema = successSchema.extend({ message: queuedMessageSchema });

export const messagesQuerySchema = z.strictObject({
  session_id: idSchema.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().max(200).optional(),
});

export const messagesResponseSchema = successSchema.extend({
  messages: z.array(messageSchema),
  queued: z.array(queuedMessageSchema).default([]).describe('What waits for the agent, oldest first.'),
  next_cursor: z.string().nullable(),
});

export const streamQuerySchema = z.object({
  runner: idSchema.optional().describe('The id of the runner. A client that sends it is a runner (EV-3).'),
  workspace: z.string().max(4096).optional().describe('The root that the runner serves.'),
  capabilities: z.string().max(1000).optional().describe('Capabilities of the runner, comma-separated.'),
  instance: idSchema
    .optional()
    .describe("The id of the runner's journal. It distinguishes two programs with the same runner id."),
  last_event_id: z
    .string()
    .max(64)
    .optional()
    .describe(
      'The same as the Last-Event-ID header, for clients that cannot set it. An unknown id gets stream.reset.',
    ),
});

export const projectSchema = z.object({
  project_id: idSchema,
  name: z.string(),
  workspace: z
    .string()
    .nullable()
    .describe("The root on the person's machine; null until a runner has named one."),
  created_at: timestampSchema,
});
export const projectBodySchema = z.strictObject({
  name: z.string().min(1).max(200),
  workspace: z.string().max(4096).optional(),
});
export const projectResponseSchema = successSchema.extend({ project: projectSchema });
export const projectsResponseSchema = successSchema.extend({
  projects: z.array(projectSchema),
});

export const sessionBodySchema = z.strictObject({ title: z.string().max(200).default('') });
export const sessionChangesBodySchema = z
  .strictObject({ title: z.string().max(200).optional(), mode: sessionModeSchema.optional() })
  .refine(({ title, mode }) => title !== undefined || mode !== undefined, {
    error: 'give title, mode or both',
  });
export const sessionResponseSchema = successSchema.extend({ session: sessionSchema });
export const sessionsQuerySchema = z.strictObject({
  q: searchTextSchema
    .optional()
    .describe('Only conversations with these words in their title, or all of them in one message.'),
});
export const sessionsResponseSchema = successSchema.extend({
  sessions: z.array(sessionSchema),
});

export const runSchema = z.object({
  run_id: idSchema,
  session_id: idSchema,
  model: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'stopped']),
  steps: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  error: z.string().nullable(),
  created_at: timestampSchema,
  ended_at: timestampSchema.nullable(),
});
export const runResponseSchema = successSchema.extend({ run: runSchema });

export const modelResponseSchema = successSchema.extend({
  model: z
    .string()
    .nullable()
    .describe('The default model: provider:model or manual. Null if the server has no agent.'),
  problem: z.string().nullable().describe('Why it cannot be used, and what to set; null when it can.'),
});

export const runnerSchema = z.object({
  runner_id: idSchema,
  project_id: idSchema,
  workspace: z.string(),
  capabilities: z.array(z.string()),
  connected: z.boolean(),
  last_seen_at: timestampSchema,
  limits: sentLimitsSchema.optional().describe('Limits of this runner, as it reported them last (TL-3).'),
  policy: machinePolicySchema
    .optional()
    .describe("The person's policy file on that machine, as it reported it last (RK-5)."),
});
export const runnersResponseSchema = successSchema.extend({
  runners: z.array(runnerSchema),
  limits: sentLimitsSchema.optional().describe('Limits of this server, set by the operator (TL-3).'),
});
