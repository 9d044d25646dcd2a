import { z } from 'zod';
import { idSchema, omittedSchema, timestampSchema, toolParamsSchema } from './common.ts';

export const agentStateSchema = z.enum(['idle', 'thinking', 'awaiting_approval', 'tool_execution']);

const messageToolCallSchema = z.object({
  tool_call_id: z.string(),
  tool_id: idSchema.nullable(),
  tool_name: z.string(),
  tool_params: toolParamsSchema,
});

/** One message of a conversation. */
export const messageSchema = z.object({
  message_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.nullable(),
  model: z
    .string()
    .optional()
    .describe('The model of its run: provider:model or manual. Left out without a run.'),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  content: z.string(),
  tool_calls: z.array(messageToolCallSchema).optional().describe('What this assistant message calls.'),
  tool_id: idSchema.optional().describe('Whose result a tool message holds.'),
  complete: z.boolean().describe('False while the text is still being streamed.'),
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Message = z.infer<typeof messageSchema>;
