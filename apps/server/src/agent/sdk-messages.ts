import type { JsonObject, ModelMessage, OfferedTool } from '@countersign/engine';
import { jsonSchema, type ModelMessage as SdkMessage, type ToolSet, tool } from 'ai';

/** Our conversation as the AI SDK takes it. Results of one answer are one message there. */
export function toSdkMessages(messages: readonly ModelMessage[]): SdkMessage[] {
  const sdk: SdkMessage[] = [];
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        sdk.push({ role: 'user', content: message.text });
        break;
      case 'note':
        // Providers take system messages only at the start; who speaks is said in words.
        sdk.push({ role: 'user', content: `[Note from Countersign, not from the person]\n${message.text}` });
        break;
      case 'assistant':
        sdk.push({
          role: 'assistant',
          content: [
            ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
            ...message.toolCalls.map(({ id, name, params }) => ({
              type: 'tool-call' as const,
              toolCallId: id,
              toolName: name,
              input: params,
            })),
          ],
        });
        break;
      case 'tool': {
        const result = {
          type: 'tool-result' as const,
          toolCallId: message.toolCallId,
          toolName: message.toolName,
          output: { type: 'text' as const, value: message.content },
        };
        const last = sdk.at(-1);
        if (last?.role === 'tool') last.content.push(result);
        else sdk.push({ role: 'tool', content: [result] });
        break;
      }
    }
  }
  return sdk;
}

/** Tools without `execute`: the SDK reports a call and stops; the engine takes it from there. */
export function toSdkTools(tools: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema<JsonObject>(inputSchema) }),
    ]),
  );
}
