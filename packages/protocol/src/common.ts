import { z } from 'zod';
import { jsonValueSchema } from './json-value.ts';

// Clients parse what the server sends with `z.object`, so they ignore newer fields. The server parses what it receives
// with `z.strictObject`, so a misspelt field is an error that says so (RE-4).

/** Every 200 response with a JSON body extends this. */
export const successSchema = z.object({ success: z.literal(true) });

/** An id, opaque to clients. The server makes UUIDs. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'not an id');

/** Distinguishes two programs that run with the same runner id (docs/decisions/0006). */
export const instanceSchema = idSchema
  .optional()
  .describe('Identifies the program that runs as this runner, as on its stream.');

/** What a person searches for: words that must all occur, in any case (upper or lower). */
export const searchTextSchema = z.string().trim().min(1).max(200);

/** A time in ISO 8601, UTC. */
export const timestampSchema = z.iso.datetime();

/** A digest as `sha256:` and 64 hexadecimal digits. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'not a digest');

/** Parameters of any tool: a JSON object. The catalogue or the custom tool's own schema checks it further. */
export const toolParamsSchema = z.record(z.string(), jsonValueSchema);

/** The message and step of the conversation that a call came from (AP-1). */
export const callContextSchema = z.object({
  message_id: idSchema.nullable(),
  run_id: idSchema.nullable(),
  step: z.int().nonnegative().nullable(),
  excerpt: z.string().describe('A few words of the conversation around the call, for the person.'),
});

/** The fields that an event leaves out to stay under 64 KB (EV-2). */
export const omittedSchema = z
  .array(z.enum(['tool_params', 'preview', 'result', 'content']))
  .describe('Fields that are left empty because of their size; fetch them by id.');
