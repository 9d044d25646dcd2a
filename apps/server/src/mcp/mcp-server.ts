import { Refusal } from '@countersign/engine';
import { describeIssues, outsideAgentInstructions } from '@countersign/protocol';
import {
  type AuthInfo,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import manifest from '../../package.json' with { type: 'json' };
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { toAnswer } from '../http/refusals.ts';
import { listedPrompts, promptNamed } from './agent-prompts.ts';
import { callOfResource, guideOf, listedResources, listedTemplates } from './agent-resources.ts';
import type { CallUpdate } from './call-progress.ts';
import { refusedResult } from './call-result.ts';
import type { OutsideCalls } from './outside-calls.ts';
import { cancelCall, waitForCall } from './tool-list.ts';

/** Clients of protocol 2026 (modern) send everything with each request; those of 2025 (legacy) have a session. */
export type Era = 'modern' | 'legacy';

export interface McpServerDeps {
  readonly calls: OutsideCalls;
  readonly toolsOf: (exchange: Exchange) => Promise<Tool[]>;
  /** The URL of the page of one approval, or of all, at the address that this client uses for us. */
  readonly pageOf: (exchange: Exchange, approvalId: string | null) => string;
  /** True while the server stops: held calls are then not cancelled (AP-10). */
  readonly isClosing: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** Makes an MCP server with the person's tools, for a session of protocol 2025 or one request of 2026. */
export function newMcpServer(era: Era, deps: McpServerDeps): Server {
  const server = new Server(
    { name: 'countersign', title: 'Countersign', version: manifest.version },
    {
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
      instructions: outsideAgentInstructions,
    },
  );
  server.setRequestHandler('prompts/list', () => ({ prompts: listedPrompts() }));
  server.setRequestHandler('prompts/get', ({ params }) => promptNamed(params.name, params.arguments));
  server.setRequestHandler('resources/list', () => ({ resources: listedResources }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: listedTemplates }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    readResource(uri, context, deps),
  );
  server.setRequestHandler('tools/list', async (_request, context) => {
    const exchange = exchangeOf(context);
    try {
      return { tools: await deps.toolsOf(exchange) };
    } catch (error) {
      throw asProtocolError(error, exchange.request.id);
    }
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const exchange = exchangeOf(context);
    try {
      return await new CallRequest(era, server, context, deps).answer(params.name, params.arguments ?? {});
    } catch (error) {
      const { unexpected } = toAnswer(error, exchange.request.id);
      if (unexpected) deps.onError(error);
      return refusedResult(error, exchange.request.id);
    }
  });
  server.onerror = () => {}; // protocol errors go to the client, not to the log
  return server;
}

/** Reads the guide, or the status of one of this agent's own calls. */
async function readResource(
  uri: string,
  context: ServerContext,
  { calls, pageOf }: McpServerDeps,
): Promise<ReadResourceResult> {
  const exchange = exchangeOf(context);
  const guide = guideOf(uri);
  if (guide !== undefined) return { contents: [{ uri, mimeType: 'text/markdown', text: guide }] };
  const callId = callOfResource(uri);
  if (callId === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource "${uri}".`);
  try {
    const call = await calls.look(callIdOf(waitForCall, { call_id: callId }), {
      exchange,
      pageOf: (approvalId) => pageOf(exchange, approvalId),
    });
    const text = call.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return { contents: [{ uri, mimeType: 'text/plain', text }] };
  } catch (error) {
    throw asProtocolError(error, exchange.request.id);
  }
}

/** One `tools/call`. */
class CallRequest {
  readonly #era: Era;
  readonly #server: Server;
  readonly #context: ServerContext;
  readonly #deps: McpServerDeps;
  readonly #exchange: Exchange;

  constructor(era: Era, server: Server, context: ServerContext, deps: McpServerDeps) {
    this.#era = era;
    this.#server = server;
    this.#context = context;
    this.#deps = deps;
    this.#exchange = exchangeOf(context);
  }

  async answer(
    name: string,
    params: Readonly<Record<string, unknown>>,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { calls } = this.#deps;
    if (name === waitForCall.name) return this.#wait(callIdOf(waitForCall, params));
    if (name === cancelCall.name) return calls.cancel(this.#exchange, callIdOf(cancelCall, params));
    // The client has shown the link and calls again. Its reply is not a decision and is ignored (AP-9).
    const known = this.#context.mcpReq.requestState<unknown>();
    if (typeof known === 'string') return this.#hold(callIdOf(waitForCall, { call_id: known }));
    const { callId, approvalId } = await calls.make(this.#exchange, name, params);
    if (approvalId !== null && this.#server.getClientCapabilities()?.elicitation?.url) {
      const url = this.#deps.pageOf(this.#exchange, approvalId);
      if (this.#era === 'modern') return this.#link(callId, url);
      return this.#hold(callId, (signal) => this.#showLink(callId, url, signal));
    }
    return this.#hold(callId);
  }

  /** Waits for the call of this request. Cancelling the request cancels the call. */
  async #hold(callId: string, meanwhile?: (signal: AbortSignal) => void): Promise<CallToolResult> {
    const { calls, isClosing } = this.#deps;
    const { signal } = this.#context.mcpReq;
    const abandon = () => {
      if (!isClosing()) calls.abandon(this.#exchange, callId);
    };
    if (signal.aborted) abandon();
    signal.addEventListener('abort', abandon, { once: true });
    const answered = new AbortController();
    try {
      meanwhile?.(AbortSignal.any([answered.signal, signal]));
      return await this.#wait(callId);
    } finally {
      answered.abort();
      signal.removeEventListener('abort', abandon);
    }
  }

  #wait(callId: string): Promise<CallToolResult> {
    const { calls } = this.#deps;
    const { signal } = this.#context.mcpReq;
    const exchange = this.#exchange;
    const pageOf = (approvalId: string | null) => this.#deps.pageOf(exchange, approvalId);
    return calls.wait(callId, { exchange, signal, pageOf, onUpdate: this.#onUpdate() });
  }

  /** Sends progress if the client asked for it. MCP requires that the number always grows. */
  #onUpdate(): ((update: CallUpdate) => void) | undefined {
    const { mcpReq } = this.#context;
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return undefined;
    let progress = 0;
    return ({ percent, text: message }) => {
      progress = Math.max(percent ?? 0, progress + 0.001);
      const params = { progressToken, progress, message, ...(percent !== null && { total: 100 }) };
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client is gone
    };
  }

  /** Protocol 2026: returns the link, and the client calls again. */
  #link(callId: string, url: string): InputRequiredResult {
    const approval = inputRequired.elicitUrl({ message: this.#invitation, url });
    return inputRequired({ inputRequests: { approval }, requestState: callId });
  }

  /** Protocol 2025: shows the link while we wait. Aborting the signal withdraws it. */
  #showLink(callId: string, url: string, signal: AbortSignal): void {
    const params = { mode: 'url', message: this.#invitation, url, elicitationId: callId };
    // On this request's own stream, because the client may have no other.
    this.#context.mcpReq.send({ method: 'elicitation/create', params }, { signal }).catch(() => {}); // its result decides nothing
  }

  get #invitation(): string {
    return `${this.#exchange.caller.tokenName} asks for an approval in Countersign. You decide there, or in your terminal or editor; this dialog decides nothing.`;
  }
}

function callIdOf({ name, params }: typeof waitForCall | typeof cancelCall, given: unknown): string {
  const parsed = params.safeParse(given);
  if (parsed.success) return parsed.data.call_id;
  const values = { tool: name, problem: describeIssues(parsed.error) };
  throw new Refusal('INVALID_PARAMS', values);
}

function asProtocolError(error: unknown, requestId: string): ProtocolError {
  const { body, status } = toAnswer(error, requestId);
  const code = status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidRequest;
  return new ProtocolError(code, body.error, { code: body.code });
}

/** One HTTP request to `/mcp`, after admission. */
export interface Exchange {
  readonly caller: AuthenticatedCaller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Passes the exchange through the SDK to its handlers. The SDK never sees the token. */
export const authInfoOf = (exchange: Exchange): AuthInfo => ({
  token: '',
  clientId: exchange.caller.tokenId,
  scopes: [exchange.caller.scope],
  extra: { exchange },
});

function exchangeOf(context: ServerContext): Exchange {
  const exchange = context.http?.authInfo?.extra?.exchange;
  if (exchange === undefined) throw new Error('A message came to /mcp without its request');
  return exchange as Exchange;
}
