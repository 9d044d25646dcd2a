import { type AvailableTool, idSchema } from '@countersign/protocol';
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';

const callIdParams = z.strictObject({ call_id: idSchema.describe('As the earlier answer had it.') });

/** Waits again for a call that was answered with `pending_approval` or `executing`. */
export const waitForCall = {
  name: 'wait_for_call',
  title: 'Wait for a call',
  description:
    'Waits for a call that was answered with pending_approval or executing, and answers as that call would. May be repeated.',
  params: callIdParams,
  annotations: { readOnlyHint: true, openWorldHint: false },
} as const;

export const cancelCall = {
  name: 'cancel_call',
  title: 'Cancel a call',
  description:
    'Cancels a call of yours that has not ended. One that is being executed is asked to stop; wait_for_call tells how it ended.',
  params: callIdParams,
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
} as const;

/** The tools of the catalogue in MCP's format (TL-1), and the two tools of this endpoint. */
export const mcpTools = (available: readonly AvailableTool[]): Tool[] => [
  ...available.map(fromCatalogue),
  ...[waitForCall, cancelCall].map(({ params, ...tool }) => ({ ...tool, inputSchema: schemaOf(params) })),
];

/** The annotations are only hints: whether a call may run is decided when it is made. */
function fromCatalogue({
  name,
  description,
  input_schema,
  read_only,
  risk_level,
  requires_approval,
}: AvailableTool): Tool {
  return {
    name,
    title: titleOf(name),
    description: requires_approval ? `${description} The person may be asked first.` : description,
    // Clients reject the whole list if one schema lacks the type, and a custom tool's schema may lack it.
    inputSchema: { ...input_schema, type: 'object' },
    annotations: {
      title: titleOf(name),
      readOnlyHint: read_only,
      destructiveHint: !read_only && risk_level !== 'LOW',
    },
  };
}

/** `git_status` is "Git status"; a custom `server__tool` is "Server: tool". */
const titleOf = (name: string): string => {
  const words = name.replace('__', ': ').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const schemaOf = (params: z.ZodObject): Tool['inputSchema'] => {
  const { $schema: _, ...schema } = z.toJSONSchema(params);
  return schema as Tool['inputSchema'];
};
