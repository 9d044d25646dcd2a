/** An MCP server as the official documentation makes one: a plain tool, and one that asks first. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { announceReady } from '../processes/program.ts';
import { fileText } from './contents.ts';

const confirmation = z.object({ confirm: z.boolean() });
const readInput = z.object({ path: z.string() });
const writeInput = z.object({ path: z.string(), content: z.string() });

function newServer(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('read_file', { inputSchema: readInput }, () => ({
    content: [{ type: 'text', text: fileText }],
  }));
  server.registerTool('write_file', { inputSchema: writeInput }, ({ path }, context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, 'confirm', confirmation);
    if (answer?.confirm !== true) {
      const message = `Write ${path}?`;
      const confirm = inputRequired.elicit({ message, requestedSchema: confirmation });
      return inputRequired({ inputRequests: { confirm } });
    }
    return { content: [{ type: 'text', text: 'written' }] };
  });
  return server;
}

// The default, which is its fastest way: a single JSON response if nothing was sent before it.
const handler = toNodeHandler(createMcpHandler(newServer));
// Connections stay open while other programs are measured.
const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  void handler(request as NodeIncomingMessageLike, response);
});
server.listen(0, '127.0.0.1', () => {
  announceReady({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
