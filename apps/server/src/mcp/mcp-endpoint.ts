import { createMcpHandler, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server';
import { authInfoOf, type Exchange } from './exchange.ts';
import { LegacySessions } from './legacy-sessions.ts';
import { type McpServerDeps, newMcpServer } from './mcp-server.ts';

export interface McpEndpointOptions extends Omit<McpServerDeps, 'isClosing'> {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
}

/** Subscriptions carry nothing here that a client would wait for. */
const MAX_SUBSCRIPTIONS = 100;

/** `/mcp` for clients of 2026 and of 2025: the same tools, the same calls. */
export class McpEndpoint {
  readonly #modern: McpHttpHandler;
  readonly #legacy: LegacySessions;
  #isClosing = false;

  constructor({ maxSessions, sessionIdleMs, ...options }: McpEndpointOptions) {
    const deps: McpServerDeps = { ...options, isClosing: () => this.#isClosing };
    // Streamed: an answer that is held would otherwise die in whatever waits for its first byte.
    this.#modern = createMcpHandler(() => newMcpServer('modern', deps), {
      legacy: 'reject',
      responseMode: 'sse',
      maxSubscriptions: MAX_SUBSCRIPTIONS,
    });
    this.#legacy = new LegacySessions({
      newServer: () => newMcpServer('legacy', deps),
      maxSessions,
      idleMs: sessionIdleMs,
    });
  }

  async answer(exchange: Exchange, request: Request, ended: Promise<void>): Promise<Response> {
    const parsedBody = exchange.request.body;
    if (await isLegacyRequest(request, parsedBody)) {
      return this.#legacy.answer(exchange, request, parsedBody, ended);
    }
    return this.#modern.fetch(request, { authInfo: authInfoOf(exchange), parsedBody });
  }

  /** Ends what is held; the calls go on, and can be asked for again. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#modern.close(), this.#legacy.close()]);
  }
}
