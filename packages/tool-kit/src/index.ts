export { z } from 'zod';
export {
  defineTool,
  type JsonObjectSchema,
  type ToolAnswer,
  type ToolContext,
  type ToolDefinition,
} from './define-tool.ts';
export { createToolServer, type ToolServer, type ToolServerOptions } from './tool-server.ts';
