import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { type ServeStdioOptions, serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { callResult, type ParametersOf, type ToolContext, type ToolDefinition } from './define-tool.ts';

export interface ToolServerOptions {
  readonly name: string;
  readonly version?: string;
}

/** Tools as one MCP server over standard input and output. Log to standard error: standard output carries the protocol. */
export interface ToolServer {
  /** Returns the server, so that calls can be chained. Throws if there is a tool of that name already. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a tool's parameters are, its own definition has checked them
  registerTool(tool: ToolDefinition<any>): ToolServer;
  /** Serves until its input ends (by default standard input). Supports clients of the 2025 and the 2026 protocol. */
  start(options?: Pick<ServeStdioOptions, 'transport'>): void;
}

export function createToolServer({ name, version = '1.0.0' }: ToolServerOptions): ToolServer {
  const tools = new Map<string, ToolDefinition>();
  const server: ToolServer = {
    registerTool(tool) {
      if (tools.has(tool.name)) throw new Error(`There is a tool "${tool.name}" already.`);
      tools.set(tool.name, tool);
      return server;
    },
    start(options = {}) {
      serveStdio(() => {
        const mcp = new McpServer({ name, version });
        for (const tool of tools.values()) register(mcp, tool);
        return mcp;
      }, options);
    },
  };
  return server;
}

function register(mcp: McpServer, tool: ToolDefinition): void {
  const { name, description, parameters, readOnly, destructive, category, requires_approval } = tool;
  const annotations = {
    ...(readOnly !== undefined && { readOnlyHint: readOnly }),
    ...(destructive !== undefined && { destructiveHint: destructive }),
  };
  const _meta = {
    ...(category !== undefined && { 'countersign/category': category }),
    ...(requires_approval !== undefined && { 'countersign/requires_approval': requires_approval }),
  };
  const inputSchema = parameters instanceof z.ZodObject ? parameters : fromJsonSchema(parameters);
  mcp.registerTool(name, { description, inputSchema, annotations, _meta }, async (given, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    const context: ToolContext = {
      signal: mcpReq.signal,
      progress(percent, message) {
        if (progressToken === undefined) return;
        const params = {
          progressToken,
          progress: percent,
          total: 100,
          ...(message !== undefined && { message }),
        };
        mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client is gone
      },
    };
    return callResult(await tool.handler(given as ParametersOf<typeof parameters>, context));
  });
}
