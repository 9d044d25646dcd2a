import { z } from 'zod';

/** A piece of a running command's output. */
export const commandOutputSchema = z.object({
  stream: z.enum(['stdout', 'stderr']),
  chunk: z.string().max(32 * 1024),
});
