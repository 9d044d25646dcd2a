import { Refusal } from '@countersign/engine';
import { describeIssues, outsideAgentInstructions } from '@countersign/protocol';
import {
  type AuthInfo,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import manifest from '../../package.json' with { type: 'json' };
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { toAnswer } from '../http/refusals.ts';
import type { CallNews } from './call-progress.ts';
import { refusedResult } from './call-result.ts';
import type { OutsideCalls } from './outside-calls.ts';
import { cancelCall, waitForCall } from './tool-list.ts';

/** Clients of 2026 send everything with each request; those of 2025 have a session. */
export type Era = 'modern' | 'legacy';

export interface McpServerDeps {
  readonly calls: OutsideCalls;
  readonly toolsOf: (exchange: Exchange) => Promise<Tool[]>;
  /** The address of the approvals page, as the sender of this request reaches us. */
  readonly inboxOf: (exchange: Exchange) => string;
  /** Whether the server is stopping: then held calls go on without it (AP-10). */
  readonly isClosing: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** The person's tools for one MCP client: a server for a session of 2025, or for one request of 2026. */
export function newMcpServer(era: Era, deps: McpServerDeps): Server {
  const server = new Server(
    { name: 'countersign', title: 'Countersign', version: manifest.version },
    { capabilities: { tools: { listChanged: true } }, instructions: outsideAgentInstructions },
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
    // The client was shown the link and comes back. Its answer is not a decision and is ignored (AP-9).
    const known = this.#context.mcpReq.requestState<unknown>();
    if (typeof known === 'string') return this.#hold(callIdOf(waitForCall, { call_id: known }));
    const { callId, asks } = await calls.make(this.#exchange, name, params);
    if (asks && this.#server.getClientCapabilities()?.elicitation?.url) {
      if (this.#era === 'modern') return this.#link(callId);
      return this.#hold(callId, (signal) => this.#showLink(callId, signal));
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
    const { calls, inboxOf } = this.#deps;
    const { signal } = this.#context.mcpReq;
    const exchange = this.#exchange;
    return calls.wait(callId, { exchange, signal, inbox: inboxOf(exchange), onNews: this.#teller() });
  }

  /** Sends progress if the client asked for it; the number must always grow. */
  #teller(): ((news: CallNews) => void) | undefined {
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

  /** 2026: answers with the link, and the client calls again. */
  #link(callId: string): InputRequiredResult {
    const approval = inputRequired.elicitUrl({ message: this.#invitation, url: this.#inbox });
    return inputRequired({ inputRequests: { approval }, requestState: callId });
  }

  /** 2025: shows the link while we wait, and withdraws it once the call has been decided. */
  #showLink(callId: string, signal: AbortSignal): void {
    const params = { mode: 'url', message: this.#invitation, url: this.#inbox, elicitationId: callId };
    // On this request's own stream, because the client may have no other.
    this.#context.mcpReq.send({ method: 'elicitation/create', params }, { signal }).catch(() => {}); // its result decides nothing
  }

  get #inbox(): string {
    return this.#deps.inboxOf(this.#exchange);
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

/** One HTTP request to `/mcp`, after admission: who asks, and with what. */
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
