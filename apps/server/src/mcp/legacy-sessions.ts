import { randomUUID } from 'node:crypto';
import { Refusal } from '@countersign/engine';
import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { authInfoOf, type Exchange } from './mcp-server.ts';
import type { ToolListChanges } from './tool-list-changes.ts';

export interface LegacySessionsOptions {
  readonly newServer: () => Server;
  readonly changes: ToolListChanges;
  readonly maxSessions: number;
  readonly idleMs: number;
  /** True if several nodes have sessions behind a load balancer: an unknown session may be another node's. */
  readonly isShared: boolean;
}

interface Session {
  readonly userId: string;
  readonly tokenId: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** The number of requests that are being answered. */
  busy: number;
  /** Monotonic milliseconds. */
  usedAt: number;
}

/** A program needs one session, and a few more while it restarts. */
const MAX_PER_TOKEN = 50;
/** One person must not use up the sessions of others. */
const MAX_PER_PERSON = 200;

/**
 * The sessions of MCP clients of protocol 2025. If a token or person opens too many, its own oldest session is closed, and
 * that client starts a new one. Idle sessions are closed too.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(options.idleMs / 2, 60_000));
    this.#sweeper.unref();
  }

  /** Answers one request. `ended` resolves when the response has been sent. */
  async answer(
    exchange: Exchange,
    request: Request,
    parsedBody: unknown,
    ended: Promise<void>,
  ): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id !== null && this.#options.isShared && !this.#sessions.has(id))
      return this.#answerForOtherNode(exchange, request, parsedBody, ended);
    const session = this.#find(exchange, id) ?? (await this.#begin(exchange));
    session.busy += 1;
    void ended.then(() => {
      session.busy -= 1;
      session.usedAt = performance.now();
    });
    const authInfo = authInfoOf(exchange);
    const response = await session.transport.handleRequest(request, { parsedBody, authInfo });
    // The transport has a session only after `initialize`.
    if (session.transport.sessionId === undefined) await session.transport.close();
    else if (request.method === 'GET' && response.ok) void ended.then(this.#watchTools(exchange, session));
    return response;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  /**
   * Answers a request whose session is on another node. That works because a request contains everything it needs, except
   * for replies to our questions and cancel notifications, which only the session's own node understands.
   */
  async #answerForOtherNode(
    exchange: Exchange,
    request: Request,
    parsedBody: unknown,
    ended: Promise<void>,
  ): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({});
    const server = this.#options.newServer();
    await server.connect(transport);
    void ended.then(() => transport.close());
    const response = await transport.handleRequest(request, { parsedBody, authInfo: authInfoOf(exchange) });
    if (request.method === 'GET' && response.ok) void ended.then(this.#watchTools(exchange, { server }));
    return response;
  }

  /** Notifies a listening client when the tool list changes. Returns a stop function. */
  #watchTools(exchange: Exchange, { server }: Pick<Session, 'server'>): () => void {
    return this.#options.changes.watch(exchange, () => {
      server.sendToolListChanged().catch(() => {}); // the client is gone
    });
  }

  /** Throws NOT_FOUND for another token's session. */
  #find({ caller }: Exchange, id: string | null): Session | undefined {
    if (id === null) return undefined;
    const session = this.#sessions.get(id);
    if (session?.tokenId !== caller.tokenId) throw new Refusal('NOT_FOUND', { what: 'MCP session' });
    return session;
  }

  async #begin({ caller }: Exchange): Promise<Session> {
    await this.#makeRoom(caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const server = this.#options.newServer();
    const { tokenId, userId } = caller;
    const session: Session = { tokenId, userId, server, transport, busy: 0, usedAt: performance.now() };
    await server.connect(transport);
    const closed = transport.onclose;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      closed?.();
    };
    return session;
  }

  async #makeRoom({ tokenId, userId }: Exchange['caller']): Promise<void> {
    const ofPerson = [...this.#sessions.values()].filter((session) => session.userId === userId);
    const ofToken = ofPerson.filter((session) => session.tokenId === tokenId);
    const isFull = ofToken.length >= MAX_PER_TOKEN || this.#sessions.size >= this.#options.maxSessions;
    if (!isFull && ofPerson.length < MAX_PER_PERSON) return;
    const own = isFull ? ofToken : ofPerson;
    const [oldest] = own.filter(({ busy }) => busy === 0).sort((a, b) => a.usedAt - b.usedAt);
    if (!oldest) throw new Refusal('UNAVAILABLE', { problem: 'too many MCP sessions are open' });
    await oldest.transport.close();
  }

  #sweep(): void {
    const before = performance.now() - this.#options.idleMs;
    for (const { busy, usedAt, transport } of this.#sessions.values())
      if (busy === 0 && usedAt < before) void transport.close();
  }
}
