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

/** Limits held requests of one token, so that an agent cannot use up the person's streams. */
const MAX_HELD_REQUESTS = 100;

/** Registers `/mcp`, the person's tools for outside agents (UI-5), with the same checks as other routes. */
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
  const changes = new ToolListChanges({ bus, toolsOf, compareEveryMs: beatMs, onError });
  const sessionIdleMs = config.mcpSessionIdleSeconds * 1000;
  const sessions = new AgentSessions(store, sessionIdleMs);
  const endpoint = new McpEndpoint({
    calls: new OutsideCalls({ handlers, engine, sessions, progress, holdMs, onError }),
    toolsOf,
    changes,
    pageOf: ({ request }, approvalId) =>
      `${originOf(request, config.publicOrigins)}/#/approvals${approvalId === null ? '' : `/${approvalId}`}`,
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

  const held = new Map<string, number>();

  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const caller = request.caller as AuthenticatedCaller;
    const { tokenId } = caller;
    // Each message of a batch counts as a request; admission has counted the first.
    const further = Array.isArray(request.body) ? request.body.length - 1 : 0;
    for (let i = 0; i < further; i += 1) {
      const seconds = caller.requests.take(performance.now());
      if (seconds > 0) throw new RateLimited(seconds);
    }
    const others = held.get(tokenId) ?? 0;
    if (others >= MAX_HELD_REQUESTS) throw new RateLimited(1);
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
  app.route({
    method: 'POST',
    url: path,
    bodyLimit: config.callBodyBytes,
    onRequest: admission({ scopes, body: z.unknown(), bodySize: 'call' }, routing),
    preParsing: limitUndeclaredBody(routing.largeBodies, config.callBodyBytes),
    handler: handle,
    errorHandler: answerAsRpc,
  });
  // A client of protocol 2025 listens with GET, and ends its session with DELETE.
  app.route({
    method: ['GET', 'DELETE'],
    url: path,
    onRequest: admission({ scopes }, routing),
    handler: handle,
    errorHandler: answerAsRpc,
  });
  refuseOtherMethods(app, path, ['POST', 'GET', 'DELETE']);
}

/** Our address as this client uses it. The Host header has been checked. */
function originOf({ headers, protocol }: FastifyRequest, publicOrigins: readonly string[]): string {
  const host = headers.host ?? '';
  return publicOrigins.find((origin) => new URL(origin).host === host) ?? `${protocol}://${host}`;
}

/** The request for the SDK, without its token, and without its body, which is already parsed. */
function webRequest(request: FastifyRequest, publicOrigins: readonly string[], signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
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

/** Sends an error as JSON-RPC, with our stable code in `data`. */
function answerAsRpc(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  noteBodyLimit(error, request);
  const response = toAnswer(error, request.id);
  if (response.unexpected) request.log.error({ err: error, request_id: request.id }, 'request failed');
  const { code, error: message } = response.body;
  const rpc = {
    jsonrpc: '2.0',
    id: null,
    error: { code: rpcCodes[code] ?? -32_000, message, data: { code } },
  };
  if (response.status === 413) return drainBeforeClosing(request, reply, { ...response, body: rpc });
  if (response.headers) reply.headers(response.headers);
  return reply.code(response.status).send(rpc);
}

/** The JSON-RPC codes of our codes. All others are -32000, from the range for servers' own errors. */
const rpcCodes: Readonly<Record<string, number>> = {
  INVALID_JSON: -32_700,
  NOT_FOUND: -32_001,
  INTERNAL: -32_603,
};
