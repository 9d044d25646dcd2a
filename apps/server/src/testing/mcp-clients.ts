import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

export interface Asked {
  readonly message: string;
  readonly url?: string;
  readonly mode?: string;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
  readonly timeout?: number;
}

/** An official MCP client, as a test uses it. */
export interface OfficialClient {
  listTools(): Promise<
    readonly {
      name: string;
      title?: string | undefined;
      annotations?: object | undefined;
      inputSchema: object;
    }[]
  >;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  call(name: string, args: object, options?: CallOptions): Promise<any>;
  close(): Promise<void>;
}

export interface Connecting {
  readonly address: string;
  readonly token: string;
  /** Answers the server's elicitations. Without it, the client does not declare that it supports them. */
  readonly onElicitation?: (asked: Asked) => 'accept' | 'decline' | 'cancel';
  /** The client listens for changes of the list. */
  readonly onToolsChanged?: () => void;
}

export type Connect = (connecting: Connecting) => Promise<OfficialClient>;

const who = { name: 'a test', version: '1.0.0' };
const requestInit = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** The official clients: version 2.x with protocol 2026 and with protocol 2025, and version 1.x. */
export const officialClients: Readonly<Record<string, Connect>> = {
  'client 2.x, protocol of 2026': (connecting) => connect2(connecting, { pin: '2026-07-28' }),
  'client 2.x, protocol of 2025': (connecting) => connect2(connecting, 'legacy'),
  'sdk 1.x': connect1,
};

async function connect2(
  { address, token, onElicitation, onToolsChanged }: Connecting,
  mode: 'legacy' | { pin: string },
): Promise<OfficialClient> {
  const client = new Client2(who, {
    capabilities: onElicitation ? { elicitation: { url: {} } } : {},
    versionNegotiation: { mode },
    ...(onToolsChanged && {
      listChanged: { tools: { onChanged: onToolsChanged, autoRefresh: false, debounceMs: 0 } },
    }),
  });
  if (onElicitation) {
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: onElicitation(params as Asked),
    }));
  }
  await client.connect(new Transport2(new URL(`${address}/mcp`), { requestInit: requestInit(token) }));
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args, options) =>
      client.callTool({ name, arguments: args as Record<string, unknown> }, options as never),
    close: () => client.close(),
  };
}

async function connect1({
  address,
  token,
  onElicitation,
  onToolsChanged,
}: Connecting): Promise<OfficialClient> {
  const client = new Client1(who, { capabilities: onElicitation ? { elicitation: { url: {} } } : {} });
  if (onElicitation) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: onElicitation(params as Asked),
    }));
  }
  if (onToolsChanged) client.setNotificationHandler(ToolListChangedNotificationSchema, onToolsChanged);
  const transport = new Transport1(new URL(`${address}/mcp`), { requestInit: requestInit(token) });
  await client.connect(transport as never);
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args, options) =>
      client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, options as never),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}
