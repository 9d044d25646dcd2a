import { z } from 'zod';
import { idSchema, omittedSchema, timestampSchema, toolParamsSchema } from './common.ts';

export const agentStateSchema = z.enum(['idle', 'thinking', 'awaiting_approval', 'tool_execution']);

const messageToolCallSchema = z.object({
  tool_call_id: z.string(),
  tool_id: idSchema.nullable(),
  tool_name: z.string(),
  tool_params: toolParamsSchema,
  not_started: z
    .boolean()
    .optional()
    .describe('True when the run went on or ended before this call began; it never will.'),
});

/** One message of a conversation. */
export const messageSchema = z.object({
  message_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.nullable(),
  model: z
    .string()
    .optional()
    .describe('The model of the run: provider:model or manual. Left out if there is no run.'),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  content: z.string(),
  tool_calls: z.array(messageToolCallSchema).optional().describe('The tool calls of this assistant message.'),
  tool_id: idSchema.optional().describe('The call whose result this tool message contains.'),
  complete: z.boolean().describe('False while the text is still being streamed.'),
  rewound: z
    .boolean()
    .optional()
    .describe('True if the conversation went back to before this message: the agent no longer reads it.'),
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Message = z.infer<typeof messageSchema>;

/** When the agent gets a message that was sent while it works; `refuse` does not keep the message. */
export const whenBusySchema = z.enum(['refuse', 'queue', 'send_now']);

/** A message that waits until the agent takes it. It keeps its id as a message of the conversation. */
export const queuedMessageSchema = z.object({
  message_id: idSchema,
  content: z.string(),
  when_busy: whenBusySchema
    .exclude(['refuse'])
    .describe('queue: with the next model step. send_now: that step comes after the call that is running.'),
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type QueuedMessage = z.infer<typeof queuedMessageSchema>;

/** A conversation keeps at most this many messages that wait. */
export const maxQueuedMessages = 20;
