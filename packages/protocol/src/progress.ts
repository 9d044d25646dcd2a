import { z } from 'zod';

/** A piece of what a command has printed, as it runs. */
export const commandOutputSchema = z.object({
  stream: z.enum(['stdout', 'stderr']),
  chunk: z.string().max(32 * 1024),
});
