import { z } from 'zod';
import { idSchema, timestampSchema } from './common.ts';

/**
 * What the agent may do unasked in a conversation. `ask`: what is harmless. `accept_edits`: also changes to files of the
 * workspace that a file tool makes, up to MEDIUM and never in VA-3 places. `read_only`: it changes nothing.
 */
export const sessionModeSchema = z.enum(['ask', 'accept_edits', 'read_only']);
export type SessionMode = z.infer<typeof sessionModeSchema>;
export const sessionModes = sessionModeSchema.options;

/** A conversation. */
export const sessionSchema = z.object({
  session_id: idSchema,
  project_id: idSchema,
  title: z.string(),
  mode: sessionModeSchema
    .default('ask')
    .describe(
      'accept_edits: file tools change the workspace unasked. read_only: what changes anything is refused.',
    ),
  created_at: timestampSchema,
  last_message_at: timestampSchema.nullable(),
});
export type Session = z.infer<typeof sessionSchema>;
