import { z } from 'zod';

/** What a command may use while it is tried (RN-13). */
export const trialLimitsSchema = z.strictObject({
  seconds: z.int().min(1).max(300).default(30),
  /** Of all files that the command writes in the workspace. */
  bytes: z
    .int()
    .min(1)
    .default(1024 ** 3),
  /** Files, folders and links that the command writes. */
  files: z.int().min(1).max(1_000_000).default(100_000),
});
export type TrialLimits = z.output<typeof trialLimitsSchema>;

export const defaultTrialLimits: TrialLimits = trialLimitsSchema.parse({});
