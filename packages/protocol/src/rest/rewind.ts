import { z } from 'zod';
import { idSchema, successSchema } from '../common.ts';
import { executionStatusSchema } from '../execution-status.ts';
import { fileOperations } from '../tools/definition.ts';

/** The most calls of one undo, so that its event stays under 64 KB. */
export const maxUndoneAtOnce = 1_000;

/** A file that is restored, and the operation that restores it. */
const restoredFileSchema = z.object({
  path: z.string(),
  operation: z
    .enum(fileOperations)
    .describe('What putting it back does: deleted if a call had created the file.'),
  tool_ids: z.array(idSchema).describe('The calls that are undone for it, newest first.'),
});
export type RestoredFile = z.infer<typeof restoredFileSchema>;

export const rewindQuerySchema = z.strictObject({
  message_id: idSchema.describe('A message of the person, or one of the agent.'),
});

export const rewindPreviewResponseSchema = successSchema.extend({
  session_id: idSchema,
  message_id: idSchema,
  messages: z.int().nonnegative().describe('How many messages would be rewound.'),
  files: z.array(restoredFileSchema),
  kept: z
    .array(z.object({ tool_id: idSchema, tool_name: z.string(), status: executionStatusSchema }))
    .describe('Calls that may have changed something and cannot be undone, such as commands; newest first.'),
  runner_connected: z.boolean().describe('False: files cannot be put back now.'),
});

export const rewindBodySchema = z.strictObject({
  message_id: idSchema,
  files: z.boolean().describe('True: also put back what calls changed since.'),
  force: z.boolean().default(false).describe('Put files back even if they were changed after the calls.'),
});

export const rewindResponseSchema = successSchema.extend({
  session_id: idSchema,
  message_id: idSchema,
  messages: z.int().nonnegative().describe('How many messages were rewound; 0 if they were already.'),
  files: z.array(restoredFileSchema).describe('The files that were put back.'),
});

export const branchBodySchema = z.strictObject({
  message_id: idSchema.describe('The last message of the new conversation.'),
  title: z.string().max(200).optional().describe('Default: the title of this one, with a number.'),
});

/** One file that a run changed. */
export const changedFileSchema = z.object({
  path: z.string(),
  operation: z.enum(fileOperations).describe('Over the whole run.'),
  added: z.int().nonnegative().nullable().describe('Lines; null if the runner told no diff.'),
  removed: z.int().nonnegative().nullable(),
  diff: z
    .string()
    .nullable()
    .describe(
      'Unified, from before the first call of the run to after the last one that was not undone. Null if the runner told no diff, it is no longer kept, or the diffs of the run are too long together.',
    ),
  truncated: z.boolean().describe('True when the diff was cut for size.'),
  tool_ids: z.array(idSchema).describe('The calls of the run that changed the file, oldest first.'),
  undoable: z.boolean(),
  undone: z.boolean().describe('True if every one of these calls was undone.'),
});
export type ChangedFile = z.infer<typeof changedFileSchema>;

export const runChangesResponseSchema = successSchema.extend({
  run_id: idSchema,
  files: z.array(changedFileSchema).describe('In the order of their first change.'),
});

export const undoRunBodySchema = z.strictObject({
  path: z
    .string()
    .max(4096)
    .optional()
    .describe('Only this file, and what cannot be undone without it; the whole run when left out.'),
  force: z.boolean().default(false).describe('Put files back even if they were changed after the calls.'),
});

export const undoRunResponseSchema = successSchema.extend({
  run_id: idSchema,
  files: z.array(restoredFileSchema).describe('The files that were put back.'),
});
