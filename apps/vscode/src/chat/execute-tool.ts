import { ApiError, type Client } from '@countersign/client';
import type { JsonValue } from '@countersign/protocol';
import type { FromPage } from './messages.ts';

/**
 * Makes the call that the page requests with `EXECUTE_TOOL` (UI-2). The server validates and assesses it like any other
 * call. Returns the server's response, even if the server refuses.
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
