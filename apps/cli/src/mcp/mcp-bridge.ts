import { setTimeout as sleep } from 'node:timers/promises';
import {
  CountersignError,
  type ErrorCode,
  errorCodes,
  outsideAgentInstructions,
} from '@countersign/protocol';
import { Client, isInputRequiredResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import manifest from '../../package.json' with { type: 'json' };
import type { AgentServer } from './agent-access.ts';

export interface McpBridgeOptions {
  /** Finds the server. Rejects with UP_NOT_RUNNING if `countersign up` must be started first. */
  readonly reach: () => Promise<AgentServer>;
}

/** Timeout for a server that never responds. A working server ends long calls earlier. */
const callTimeoutMs = 300_000;
/** Pause before reconnecting, or looking for the server again. */
const retryMs = 2_000;
/** Requests per call: the call itself, and repetitions after a link was shown. */
const maxRounds = 3;

/**
 * Forwards MCP requests from another transport to the server's `/mcp`. Each request of the program becomes one request
 * to the server, and is cancelled with it.
 */
export class McpBridge {
  readonly #options: McpBridgeOptions;
  readonly #servers = new Set<Server>();
  readonly #closed = new AbortController();
  #client: Promise<Client> | undefined;
  #address = '';
  #isLooking = false;

  constructor(options: McpBridgeOptions) {
    this.#options = options;
  }

  /** Makes the MCP server for one connection of the program on the other side. */
  newServer({ era }: Pick<McpRequestContext, 'era'>): Server {
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: manifest.version },
      {
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
        instructions: outsideAgentInstructions,
      },
    );
    this.#servers.add(server);
    server.onclose = () => this.#servers.delete(server);
    /** Forwards a request that reads. If no server runs, the program gets an error that says what to start. */
    const forward = async <T>(
      context: ServerContext,
      ask: (client: Client, options: { signal: AbortSignal }) => Promise<T>,
    ): Promise<T> => {
      const withLinks = showsLinks(server, context);
      try {
        return await ask(await this.#connected(withLinks), { signal: context.mcpReq.signal });
      } catch (error) {
        const missing = await this.#explainUnavailable(error, withLinks);
        if (!missing) throw error;
        const { code, message } = missing;
        throw new ProtocolError(ProtocolErrorCode.InternalError, message, { code });
      }
    };
    server.setRequestHandler('tools/list', (_, context) =>
      forward(context, async (client, options) => ({
        tools: (await client.listTools(undefined, options)).tools,
      })),
    );
    server.setRequestHandler('prompts/list', (_, context) =>
      forward(context, async (client, options) => ({
        prompts: (await client.listPrompts(undefined, options)).prompts,
      })),
    );
    server.setRequestHandler('prompts/get', ({ params }, context) =>
      forward(context, (client, options) => client.getPrompt(params, options)),
    );
    server.setRequestHandler('resources/list', (_, context) =>
      forward(context, async (client, options) => ({
        resources: (await client.listResources(undefined, options)).resources,
      })),
    );
    server.setRequestHandler('resources/templates/list', (_, context) =>
      forward(context, async (client, options) => ({
        resourceTemplates: (await client.listResourceTemplates(undefined, options)).resourceTemplates,
      })),
    );
    server.setRequestHandler('resources/read', ({ params }, context) =>
      forward(context, (client, options) => client.readResource(params, options)),
    );
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const withLinks = showsLinks(server, context);
      try {
        return await forwardCall(await this.#connected(withLinks), era, params, context);
      } catch (error) {
        const missing = await this.#explainUnavailable(error, withLinks);
        if (missing) return unavailableResult(missing);
        const ended = causesOf(error).find((cause) => cause instanceof AccessEnded);
        if (!ended) throw error;
        return { isError: true, content: [{ type: 'text', text: ended.message }] };
      }
    });
    return server;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }

  /** If the server did not respond, what the agent should tell the person. Undefined for other failures. */
  async #explainUnavailable(error: unknown, withLinks: boolean): Promise<Unavailable | undefined> {
    if (!isServerDown(error) && !isUpNotRunning(error)) return undefined;
    const now = isUpNotRunning(error) ? error : await this.#findServerAgain();
    if (!this.#client) void this.#announceWhenBack(withLinks);
    if (isUpNotRunning(now)) return now;
    const message = `The Countersign server at ${this.#address} does not answer. Ask the person to start it (countersign up), then try again.`;
    return { code: 'UNAVAILABLE', message };
  }

  /** Looks for the server again. If it has moved, the next request goes there. Returns the error if none was found. */
  async #findServerAgain(): Promise<unknown> {
    try {
      const { address } = await this.#options.reach();
      if (address === this.#address) return undefined;
      const moved = await this.#client?.catch(() => undefined);
      this.#client = undefined;
      await moved?.close();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Waits for a server that was not running, then tells the program to read the list of tools again. */
  async #announceWhenBack(withLinks: boolean): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const isBack = await this.#connected(withLinks).then(
        () => true,
        () => false,
      );
      if (isBack) break;
    }
    this.#isLooking = false;
    this.#announceToolListChange();
  }

  /** `withLinks` tells the server that the program can show links; otherwise the server offers none. */
  #connected(withLinks: boolean): Promise<Client> {
    this.#client ??= this.#connect(withLinks).catch((error: unknown) => {
      this.#client = undefined; // the next request tries again
      throw error;
    });
    return this.#client;
  }

  async #connect(withLinks: boolean): Promise<Client> {
    const { address, token } = await this.#options.reach();
    this.#address = address;
    const client = new Client(
      { name: 'countersign mcp', version: manifest.version },
      {
        capabilities: withLinks ? { elicitation: { url: {} } } : {},
        versionNegotiation: { mode: 'auto' },
        inputRequired: { autoFulfill: false },
      },
    );
    const transport = new StreamableHTTPClientTransport(new URL(`${address}/mcp`), {
      fetch: (url, init) => fetchAuthorised(token, url, init),
    });
    await client.connect(transport);
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#announceToolListChange());
    void this.#listen(client, withLinks);
    return client;
  }

  /** Passes on changes of the tool list, across restarts of the server. */
  async #listen(client: Client, withLinks: boolean): Promise<void> {
    const { signal } = this.#closed;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const { closed } = await client.listen({ toolsListChanged: true }, { signal });
        if (!isFirst) this.#announceToolListChange(); // it may have changed while we were disconnected
        await closed;
      } catch (error) {
        if (causesOf(error).some((cause) => cause instanceof AccessEnded)) return;
        await this.#findServerAgain();
        if (!this.#client) return void this.#announceWhenBack(withLinks); // the server has moved
      }
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  #announceToolListChange(): void {
    for (const server of this.#servers) server.sendToolListChanged().catch(() => {}); // the program is gone
  }
}

/** Sends a request with the token. If it is refused and a newer one exists, sends once more. */
async function fetchAuthorised(
  token: AgentServer['token'],
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const send = (bearer: string) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${bearer}`);
    return fetch(url, { ...init, headers, redirect: 'error' });
  };
  const first = await token();
  const response = await send(first);
  if (response.status !== 401) return response;
  await response.body?.cancel();
  const newer = await token(first);
  const again = newer === first ? response : await send(newer);
  if (again.status === 401) throw new AccessEnded();
  return again;
}

interface Unavailable {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Has the same shape as the server's own refusals (apps/server/src/mcp/call-result.ts). */
function unavailableResult({ code, message }: Unavailable): CallToolResult {
  const value = { status: 'error', error: { code, message, recoverable: errorCodes[code].recoverable } };
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${message}` }],
    structuredContent: value,
  };
}

const isUpNotRunning = (error: unknown): error is CountersignError =>
  error instanceof CountersignError && error.code === 'UP_NOT_RUNNING';

/** Programs of protocol 2026 send their capabilities with each request, those of 2025 only once. */
function showsLinks(server: Server, { mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return capabilities?.elicitation?.url !== undefined;
}

async function forwardCall(
  client: Client,
  era: McpRequestContext['era'],
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  { mcpReq }: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const progressToken = mcpReq._meta?.progressToken;
  const options = {
    signal: mcpReq.signal,
    timeout: callTimeoutMs,
    allowInputRequired: true,
    ...(progressToken !== undefined && {
      onprogress: (progress: object) => {
        const notification = { method: 'notifications/progress', params: { progressToken, ...progress } };
        mcpReq.notify(notification).catch(() => {}); // the program is gone
      },
    }),
  };
  let state = mcpReq.requestState<string>();
  for (let round = 1; round <= maxRounds; round += 1) {
    const { name, arguments: args = {} } = params;
    const sent = {
      name,
      arguments: args,
      ...(state !== undefined && { requestState: state, inputResponses: {} }),
    };
    const result = (await client.callTool(sent as never, options as never)) as unknown;
    if (!isInputRequiredResult(result)) return result as CallToolResult;
    const { inputRequests, requestState } = result;
    if (era === 'modern') {
      return inputRequired({
        ...(inputRequests && { inputRequests }),
        ...(requestState !== undefined && { requestState }),
      });
    }
    // A program of protocol 2025 shows the link while we wait. Its answer decides nothing (AP-9).
    for (const { method, params: shown } of Object.values(inputRequests ?? {})) {
      const request = { method, params: { ...shown, elicitationId: requestState } };
      mcpReq.send(request as never, { signal: mcpReq.signal }).catch(() => {});
    }
    state = requestState;
  }
  throw new Error('The server asked for the same input again and again');
}

/** The token was revoked or has expired, and there is no other. */
class AccessEnded extends Error {
  constructor() {
    super('The person has ended the access of this agent. It cannot go on unless they start it again.');
  }
}

/** Whether `fetch` failed because the server is not running. */
const isServerDown = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof TypeError && cause.message === 'fetch failed');

/** An error and its causes: the SDK wraps errors of `fetch`. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  return causes;
}
