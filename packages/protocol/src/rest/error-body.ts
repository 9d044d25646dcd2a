import { z } from 'zod';
import { idSchema } from '../common.ts';
import { errorCodeSchema } from '../errors.ts';
import { approvalStatusSchema } from '../execution-status.ts';

/** The body of every error response (RE-3). */
export const errorBodySchema = z.object({
  success: z.literal(false),
  error: z.string().describe('What happened and what to do next.'),
  code: errorCodeSchema,
  standing: z
    .object({ status: approvalStatusSchema, device: z.string().nullable() })
    .optional()
    .describe('With ALREADY_DECIDED: the decision that stands (AP-2).'),
  tool_id: idSchema.optional().describe('A call that was refused is recorded; this is its id (EX-1).'),
  request_id: z.string().optional().describe('Find the request in the log by this id.'),
});
