import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Bus } from '@countersign/engine';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { admission, limitUndeclaredBody, requireRoomForStream } from '../http/admission.ts';
import { onlyProject } from '../http/own-rows.ts';
import { drainBeforeClosing, noteBodyLimit, RateLimited, toAnswer } from '../http/refusals.ts';
import { type Routing, refuseOtherMethods } from '../http/routing.ts';
import type { OpenConnection } from '../http/server-parts.ts';
import { AgentSessions } from './agent-sessions.ts';
import { CallProgress } from './call-progress.ts';
import { McpEndpoint } from './mcp-endpoint.ts';
import type { Exchange } from './mcp-server.ts';
import { OutsideCalls } from './outside-calls.ts';
import { mcpTools } from './tool-list.ts';
import { ToolListChanges } from './tool-list-changes.ts';

const path = '/mcp';

/** Held requests of one token, so that an agent cannot use up the person's streams. */
const MAX_HELD = 100;

/** Registers `/mcp`, the person's tools for outside agents (UI-5), with the checks of every other address. */
export function registerMcp(app: FastifyInstance, routing: Routing & { readonly bus: Bus }): void {
  const { handlers, parts, bus } = routing;
  const { store, engine, config, openStreams, authenticator } = parts;
  const onError = (error: unknown) => app.log.error({ err: error }, 'MCP call failed');
  const progress = new CallProgress(bus);
  const holdMs = config.mcpHoldSeconds * 1000;
  const beatMs = config.streamHeartbeatSeconds * 1000;
  const toolsOf = async (exchange: Exchange) => {
    const { id: project_id } = await onlyProject(store, exchange.caller);
    const input = { ...exchange, params: { project_id }, query: undefined, body: undefined };
    return mcpTools((await handlers.availableTools(input)).tools);
  };
  const changes = new ToolListChanges({ bus, toolsOf, lookEveryMs: beatMs, onError });
  const sessionIdleMs = config.mcpSessionIdleSeconds * 1000;
  const sessions = new AgentSessions(store, sessionIdleMs);
  const endpoint = new McpEndpoint({
    calls: new OutsideCalls({ handlers, engine, sessions, progress, holdMs, onError }),
    toolsOf,
    changes,
    inboxOf: ({ request }) => `${originOf(request, config.publicOrigins)}/#/approvals`,
    maxSessions: config.mcpSessions,
    sessionIdleMs,
    isShared: store.isShared,
    onError,
  });
  /** Connections may stay open for days: end them when their token is revoked or expires. */
  const connections = new Set<OpenConnection>();
  const beat = setInterval(() => {
    for (const { caller, end } of connections) {
      authenticator.isStillValid(caller).then(
        (isValid) => isValid || end(),
        () => {}, // the store does not answer: try again at the next beat
      );
    }
  }, beatMs);
  app.addHook('preClose', async () => {
    clearInterval(beat);
    changes.close();
    progress.close();
    await endpoint.close();
  });

  const rate = { perSecond: config.requestsPerSecond, burst: config.requestsPerSecond * 5 };
  const held = new Map<string, number>();

  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const caller = request.caller as AuthenticatedCaller;
    const { tokenId } = caller;
    // Each message of a batch counts as if it had come alone.
    const further = Array.isArray(request.body) ? request.body.length - 1 : 0;
    for (let i = 0; i < further; i += 1) {
      const seconds = caller.requests.take(rate, performance.now());
      if (seconds > 0) throw new RateLimited(seconds);
    }
    const others = held.get(tokenId) ?? 0;
    if (others >= MAX_HELD) throw new RateLimited(1);
    requireRoomForStream(parts, caller);
    // Aborted when the client disconnects or its token is revoked.
    const gone = new AbortController();
    const connection = { caller, end: () => reply.raw.destroy() };
    openStreams.add(connection);
    connections.add(connection);
    held.set(tokenId, others + 1);
    const ended = new Promise<void>((resolve) => {
      reply.raw.once('close', () => {
        openStreams.delete(connection);
        connections.delete(connection);
        const left = (held.get(tokenId) ?? 1) - 1;
        if (left > 0) held.set(tokenId, left);
        else held.delete(tokenId);
        if (!reply.raw.writableFinished) gone.abort();
        resolve();
      });
    });
    const exchange: Exchange = { caller, request, reply };
    const asked = webRequest(request, config.publicOrigins, gone.signal);
    await sendWeb(reply, await endpoint.answer(exchange, asked, ended));
    return reply;
  };
  const scopes = ['agent'] as const;
  const admit = admission({ scopes }, routing);
  const errorHandler = answerAsRpc;
  app.route({
    method: 'POST',
    url: path,
    bodyLimit: config.callBodyBytes,
    onRequest: admission({ scopes, body: z.unknown(), bodySize: 'call' }, routing),
    preParsing: limitUndeclaredBody(routing.largeBodies, config.callBodyBytes),
    handler: handle,
    errorHandler,
  });
  // A client of 2025 listens.
  app.route({ method: 'GET', url: path, onRequest: admit, handler: handle, errorHandler });
  // Ends a session of 2025.
  app.route({ method: 'DELETE', url: path, onRequest: admit, handler: handle, errorHandler });
  refuseOtherMethods(app, path, ['POST', 'GET', 'DELETE']);
}

/** Our address as this client uses it; the Host header was checked before. */
function originOf({ headers, protocol }: FastifyRequest, publicOrigins: readonly string[]): string {
  const host = headers.host ?? '';
  return publicOrigins.find((origin) => new URL(origin).host === host) ?? `${protocol}://${host}`;
}

/** The request for the SDK, without its body, which was parsed already. */
function webRequest(request: FastifyRequest, publicOrigins: readonly string[], signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    // The token is not passed on.
    if (value !== undefined && name !== 'authorization') headers.set(name, String(value));
  }
  return new Request(`${originOf(request, publicOrigins)}${path}`, {
    method: request.method,
    headers,
    signal,
  });
}

/** Sends the head at once, so that the client knows that the request arrived. */
async function sendWeb(reply: FastifyReply, { status, headers, body }: Response): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    ...Object.fromEntries(headers),
  });
  if (body === null) {
    raw.end();
    return;
  }
  raw.flushHeaders();
  await pipeline(Readable.fromWeb(body), raw).catch(() => {}); // the client is gone; `close` handles that
}

/** MCP clients read JSON-RPC; our stable code stands beside its number. */
function answerAsRpc(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  noteBodyLimit(error, request);
  const told = toAnswer(error, request.id);
  if (told.unexpected) request.log.error({ err: error, request_id: request.id }, 'request failed');
  const { code, error: message } = told.body;
  const rpc = {
    jsonrpc: '2.0',
    id: null,
    error: { code: rpcCode(code), message, data: { code } },
  };
  if (told.status === 413) return drainBeforeClosing(request, reply, { ...told, body: rpc });
  if (told.headers) reply.headers(told.headers);
  return reply.code(told.status).send(rpc);
}

/** The JSON-RPC code of one of ours; most are in the range for servers' own errors. */
const rpcCode = (code: string): number =>
  code === 'INVALID_JSON'
    ? -32_700
    : code === 'NOT_FOUND'
      ? -32_001
      : code === 'INTERNAL'
        ? -32_603
        : -32_000;
