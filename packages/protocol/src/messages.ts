import { z } from 'zod';
import { idSchema, omittedSchema, timestampSchema, toolParamsSchema } from './common.ts';

export const agentStateSchema = z.enum(['idle', 'thinking', 'awaiting_approval', 'tool_execution']);

export const messageSchema = z.strictObject({
  message_id: idSchema,
  session_id: idSchema,
  run_id: idSchema.nullable(),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  content: z.string(),
  /** Tool calls that this assistant message made. */
  tool_calls: z
    .array(
      z.strictObject({
        tool_call_id: z.string(),
        tool_id: idSchema.nullable(),
        tool_name: z.string(),
        tool_params: toolParamsSchema,
      }),
    )
    .optional(),
  tool_id: idSchema.optional(),
  /** False while the text is still being streamed. */
  complete: z.boolean(),
  omitted: omittedSchema.optional(),
  created_at: timestampSchema,
});
export type Message = z.infer<typeof messageSchema>;
