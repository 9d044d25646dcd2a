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
  /** Finds the server; rejects with what is missing. */
  readonly reach: () => Promise<AgentServer>;
}

/** Upper bound for a server that never responds; the server itself ends long calls earlier. */
const answerWithinMs = 300_000;
/** The pause before we reconnect, or look for the server again. */
const listenAgainMs = 2_000;
/** Requests per call: the call itself, and a repetition after the link was shown. */
const maxRounds = 3;

/**
 * Offers the server's `/mcp` on another transport. It has no state and decides nothing: each request of the program
 * becomes one request to the server, and is cancelled with it.
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

  /** An MCP server for the program on the other side, one for each connection. */
  newServer({ era }: Pick<McpRequestContext, 'era'>): Server {
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: manifest.version },
      { capabilities: { tools: { listChanged: true } }, instructions: outsideAgentInstructions },
    );
    this.#servers.add(server);
    server.onclose = () => this.#servers.delete(server);
    server.setRequestHandler('tools/list', async (_request, context) => {
      const withLinks = showsLinks(server, context);
      try {
        const client = await this.#connected(withLinks);
        const { tools } = await client.listTools(undefined, { signal: context.mcpReq.signal });
        return { tools };
      } catch (error) {
        const missing = await this.#whatIsMissing(error, withLinks);
        if (!missing) throw error;
        const { code, message } = missing;
        throw new ProtocolError(ProtocolErrorCode.InternalError, message, { code });
      }
    });
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const withLinks = showsLinks(server, context);
      try {
        return await callThrough(await this.#connected(withLinks), era, params, context);
      } catch (error) {
        const missing = await this.#whatIsMissing(error, withLinks);
        if (missing) return missingResult(missing);
        const ended = causesOf(error).find(isEnded);
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

  /** Why the server did not respond, for the agent to tell the person. Undefined if it failed for another reason. */
  async #whatIsMissing(error: unknown, withLinks: boolean): Promise<Missing | undefined> {
    if (!isNoAnswer(error) && !isUpNotRunning(error)) return undefined;
    const now = isUpNotRunning(error) ? error : await this.#lookAgain();
    if (!this.#client) void this.#tellWhenBack(withLinks);
    if (isUpNotRunning(now)) return now;
    const message = `The Countersign server at ${this.#address} does not answer. Ask the person to start it (countersign up), then try again.`;
    return { code: 'UNAVAILABLE', message };
  }

  /** Looks for the server again. If it has moved, the next request goes there. Returns what is missing. */
  async #lookAgain(): Promise<unknown> {
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
  async #tellWhenBack(withLinks: boolean): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await sleep(listenAgainMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const isBack = await this.#connected(withLinks).then(
        () => true,
        () => false,
      );
      if (isBack) break;
    }
    this.#isLooking = false;
    this.#tellChanged();
  }

  /** Announces the program's own capabilities: the server offers a link only if the program can show it. */
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
      fetch: (url, init) => fetchWith(token, url, init),
    });
    await client.connect(transport);
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#tellChanged());
    void this.#listen(client, withLinks);
    return client;
  }

  /** Passes on changes of the list of tools, also over restarts of the server. */
  async #listen(client: Client, withLinks: boolean): Promise<void> {
    const { signal } = this.#closed;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const { closed } = await client.listen({ toolsListChanged: true }, { signal });
        if (!isFirst) this.#tellChanged(); // while nobody listened
        await closed;
      } catch (error) {
        if (causesOf(error).some(isEnded)) return; // nothing will be told any more
        await this.#lookAgain();
        if (!this.#client) return void this.#tellWhenBack(withLinks); // it is at another address now
      }
      await sleep(listenAgainMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  #tellChanged(): void {
    for (const server of this.#servers) server.sendToolListChanged().catch(() => {}); // the program is gone
  }
}

/** Sends a request with the token, and once more with a newer one if that was refused. */
async function fetchWith(
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

interface Missing {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The same shape as a refusal of the server (apps/server/src/mcp/call-result.ts). */
function missingResult({ code, message }: Missing): CallToolResult {
  const value = { status: 'error', error: { code, message, recoverable: errorCodes[code].recoverable } };
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(value) }],
    structuredContent: value,
  };
}

const isUpNotRunning = (error: unknown): error is CountersignError =>
  error instanceof CountersignError && error.code === 'UP_NOT_RUNNING';

/** Programs of protocol 2026 announce capabilities with each request, those of 2025 once. */
function showsLinks(server: Server, { mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return capabilities?.elicitation?.url !== undefined;
}

async function callThrough(
  client: Client,
  era: McpRequestContext['era'],
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  { mcpReq }: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const progressToken = mcpReq._meta?.progressToken;
  const options = {
    signal: mcpReq.signal,
    timeout: answerWithinMs,
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

const isEnded = (error: Error): boolean => error instanceof AccessEnded;

/** Whether `fetch` failed because the server is not running. */
const isNoAnswer = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof TypeError && cause.message === 'fetch failed');

/** An error and its causes, however the SDK has wrapped them. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  return causes;
}
