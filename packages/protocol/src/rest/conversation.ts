import { z } from 'zod';
import { idSchema, timestampSchema } from '../common.ts';
import { toldLimitsSchema } from '../limits.ts';
import { messageSchema } from '../messages.ts';

export const sendMessageBodySchema = z.strictObject({
  content: z.string().min(1).max(200_000),
  session_id: idSchema
    .optional()
    .describe("The project's latest session when left out; a new one when there is none."),
  model: z.string().max(200).optional().describe('provider:model; the configured default when left out.'),
});

export const sendMessageResponseSchema = z.object({
  success: z.literal(true),
  message_id: idSchema,
  session_id: idSchema,
  run_id: idSchema,
});

export const messagesQuerySchema = z.strictObject({
  session_id: idSchema.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().max(200).optional(),
});

export const messagesResponseSchema = z.object({
  success: z.literal(true),
  messages: z.array(messageSchema),
  next_cursor: z.string().nullable(),
});

export const streamQuerySchema = z.object({
  runner: idSchema.optional().describe('Its id; with it a client is a runner (EV-3).'),
  workspace: z.string().max(4096).optional().describe('The root that the runner serves.'),
  capabilities: z.string().max(1000).optional().describe('Of the runner, comma-separated.'),
  instance: idSchema
    .optional()
    .describe("Of the runner's journal: tells a second program with its id apart."),
  last_event_id: z
    .string()
    .max(64)
    .optional()
    .describe(
      'As the Last-Event-ID header, for clients that cannot set it. An unknown one gets stream.reset.',
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
export const projectResponseSchema = z.object({ success: z.literal(true), project: projectSchema });
export const projectsResponseSchema = z.object({
  success: z.literal(true),
  projects: z.array(projectSchema),
});

export const sessionSchema = z.object({
  session_id: idSchema,
  project_id: idSchema,
  title: z.string(),
  created_at: timestampSchema,
  last_message_at: timestampSchema.nullable(),
});
export const sessionBodySchema = z.strictObject({ title: z.string().max(200).default('') });
export const sessionResponseSchema = z.object({ success: z.literal(true), session: sessionSchema });
export const sessionsResponseSchema = z.object({
  success: z.literal(true),
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
export const runResponseSchema = z.object({ success: z.literal(true), run: runSchema });

export const modelResponseSchema = z.object({
  success: z.literal(true),
  model: z
    .string()
    .nullable()
    .describe('Answers messages that name no other: provider:model or manual. Null without an agent.'),
  problem: z.string().nullable().describe('Why it cannot be used, and what to set; null when it can.'),
});

export const runnerSchema = z.object({
  runner_id: idSchema,
  project_id: idSchema,
  workspace: z.string(),
  capabilities: z.array(z.string()),
  connected: z.boolean(),
  last_seen_at: timestampSchema,
  limits: toldLimitsSchema.optional().describe('Its own bounds, as it told them last (TL-3).'),
});
export const runnersResponseSchema = z.object({
  success: z.literal(true),
  runners: z.array(runnerSchema),
  limits: toldLimitsSchema.optional().describe("The operator's bounds of this server (TL-3)."),
});
