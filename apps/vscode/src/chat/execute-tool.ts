import { ApiError, type Client } from '@countersign/client';
import type { JsonValue } from '@countersign/protocol';
import type { FromPage } from './messages.ts';

/**
 * `EXECUTE_TOOL {tool, params}` of a page (UI-2): a call like any other, validated, assessed and asked about by the
 * server, executed by the runner. Returns the server's answer, also if it is a refusal.
 */
export async function executeTool(
  client: Client,
  { tool, params, session_id }: Extract<FromPage, { type: 'EXECUTE_TOOL' }>,
): Promise<JsonValue> {
  const body = {
    tool_name: tool,
    tool_params: params as Record<string, JsonValue>,
    ...(session_id !== undefined && { session_id }),
  };
  try {
    return (await client.executeTool({ body })) as JsonValue;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, code, message } = error;
    return { success: false, status, code, error: message };
  }
}
