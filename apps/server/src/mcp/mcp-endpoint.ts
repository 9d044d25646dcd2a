import { AsyncLocalStorage } from 'node:async_hooks';
import { createMcpHandler, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server';
import { LegacySessions } from './legacy-sessions.ts';
import { authInfoOf, type Exchange, type McpServerDeps, newMcpServer } from './mcp-server.ts';
import type { ToolListChanges } from './tool-list-changes.ts';

export interface McpEndpointOptions extends Omit<McpServerDeps, 'isClosing'> {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  readonly isShared: boolean;
  readonly changes: ToolListChanges;
}

/** `/mcp` for clients of protocol 2026 (modern) and 2025 (legacy). */
export class McpEndpoint {
  readonly #modern: McpHttpHandler;
  readonly #legacy: LegacySessions;
  /** The current request, because the SDK does not tell `subscribe` which client subscribes. */
  readonly #currentExchange = new AsyncLocalStorage<Exchange>();
  #isClosing = false;

  constructor({ maxSessions, sessionIdleMs, isShared, changes, ...options }: McpEndpointOptions) {
    const deps: McpServerDeps = { ...options, isClosing: () => this.#isClosing };
    // `sse` streams responses, so that a proxy that waits for the first byte does not cut a held request.
    this.#modern = createMcpHandler(() => newMcpServer('modern', deps), {
      legacy: 'reject',
      responseMode: 'sse',
      // Each subscription is a held request, and register-mcp.ts limits those already.
      maxSubscriptions: Number.POSITIVE_INFINITY,
      bus: {
        publish: () => {},
        subscribe: (tell) => {
          const exchange = this.#currentExchange.getStore();
          if (!exchange) throw new Error('A subscription came to /mcp without its request');
          return changes.watch(exchange, () => tell({ kind: 'tools_list_changed' }));
        },
      },
    });
    this.#legacy = new LegacySessions({
      newServer: () => newMcpServer('legacy', deps),
      changes,
      maxSessions,
      idleMs: sessionIdleMs,
      isShared,
    });
  }

  async answer(exchange: Exchange, request: Request, ended: Promise<void>): Promise<Response> {
    const parsedBody = exchange.request.body;
    if (await isLegacyRequest(request, parsedBody)) {
      return this.#legacy.answer(exchange, request, parsedBody, ended);
    }
    const context = { authInfo: authInfoOf(exchange), parsedBody };
    return this.#currentExchange.run(exchange, () => this.#modern.fetch(request, context));
  }

  /** Ends held requests. Their calls continue, and clients can ask for the results later. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#modern.close(), this.#legacy.close()]);
  }
}
