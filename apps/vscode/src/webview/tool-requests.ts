import { ApiError, type Client } from '@countersign/client';
import { errorCodeSchema, type JsonValue, routes } from '@countersign/protocol';
import { z } from 'zod';
import type { FromPage, ToPage } from '../chat/messages.ts';

type ToolResult = Extract<ToPage, { type: 'TOOL_RESULT' }>;
type ExecuteToolResponse = Awaited<ReturnType<Client['executeTool']>>;

interface Waiting {
  readonly resolve: (response: ExecuteToolResponse) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The page's `executeTool`. It sends `EXECUTE_TOOL` to the extension, which makes the call on the server (UI-2) and
 * returns `TOOL_RESULT`. The page itself may not make calls.
 */
export class ToolRequests {
  readonly #post: (message: FromPage) => void;
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;

  constructor(post: (message: FromPage) => void) {
    this.#post = post;
  }

  readonly executeTool: Client['executeTool'] = ({ body }) =>
    new Promise((resolve, reject) => {
      this.#ids += 1;
      this.#waiting.set(this.#ids, { resolve, reject });
      const { tool_name: tool, tool_params: params = {}, session_id } = body;
      this.#post({
        type: 'EXECUTE_TOOL',
        id: this.#ids,
        tool,
        params: params as Record<string, JsonValue>,
        ...(session_id !== undefined && { session_id }),
      });
    });

  receive({ id, answer }: ToolResult): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !waiting) return;
    this.#waiting.delete(id);
    const response = routes.executeTool.response.safeParse(answer);
    if (response.success) waiting.resolve(response.data);
    else waiting.reject(refusal(answer));
  }
}

const refusedSchema = z.object({ status: z.int(), code: errorCodeSchema, error: z.string() });

function refusal(answer: ToolResult['answer']): ApiError {
  const refused = refusedSchema.safeParse(answer);
  if (!refused.success) return new ApiError(0, 'INTERNAL', 'The extension gave no answer.');
  return new ApiError(refused.data.status, refused.data.code, refused.data.error);
}
