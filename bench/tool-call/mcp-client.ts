/** Calls the MCP server's tools with the official client, and answers its elicitation. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { announceReady, inputOf } from '../processes/program.ts';
import { callsOf } from './calls.ts';
import { readParams, writeParams } from './contents.ts';

const { address } = inputOf<{ address: string }>();
const client = new Client(
  { name: 'bench', version: '1.0.0' },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } },
);
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirm: true } }));
await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`)));

async function call(name: string, args: Record<string, unknown>): Promise<void> {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(JSON.stringify(result));
}
const time = callsOf({
  plain: () => call('read_file', readParams),
  asked: () => call('write_file', writeParams),
});
announceReady({}, { time });
