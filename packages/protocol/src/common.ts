import { z } from 'zod';
import { jsonValueSchema } from './json-value.ts';

// Clients parse what the server sends with `z.object`, so they ignore newer fields. The server parses what it receives
// with `z.strictObject`, so a misspelt field is an error that says so (RE-4).

/** Ids are opaque to clients. Ours are UUIDs; a malformed one names nothing, so it is simply not found. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'not an id');

/** Which program of a runner speaks, as on its stream (docs/decisions/0006). */
export const instanceSchema = idSchema
  .optional()
  .describe('Which program of the runner this is, as on its stream.');

/** Times are ISO 8601, UTC. */
export const timestampSchema = z.iso.datetime();

/** A digest as `sha256:` and 64 hexadecimal digits. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'not a digest');

/** Parameters of any tool: a JSON object; the catalogue or the custom tool's own schema says more. */
export const toolParamsSchema = z.record(z.string(), jsonValueSchema);

/** Where a request came from: the message and step of the conversation (AP-1). */
export const callContextSchema = z.object({
  message_id: idSchema.nullable(),
  run_id: idSchema.nullable(),
  step: z.int().nonnegative().nullable(),
  excerpt: z.string().describe('A few words of the conversation around the call, for the person.'),
});

/** What an event left out to stay under 64 KB (EV-2). */
export const omittedSchema = z
  .array(z.enum(['tool_params', 'preview', 'result', 'content']))
  .describe('What is left empty here because of its size; fetch it by id.');
