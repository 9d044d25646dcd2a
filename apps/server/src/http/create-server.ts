import { type Bus, type Engine, Refusal, RunnerBindings, StorageFull, type Store } from '@countersign/engine';
import { describeError, isWithinJsonLimits, maxParamValues, type Route, routes } from '@countersign/protocol';
import type { StorageHealth } from '@countersign/store';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { Authenticator } from '../auth/authenticator.ts';
import type { SignInCodes } from '../auth/sign-in-codes.ts';
import { type Rate, RateLimiter } from '../auth/token-bucket.ts';
import { TokenIssuer } from '../auth/token-issuer.ts';
import { TokenVerifier, type TrustedIssuer } from '../auth/token-verifier.ts';
import type { ServerConfig } from '../config.ts';
import { registerMcp } from '../mcp/register-mcp.ts';
import type { Metrics } from '../observability/metrics.ts';
import { conversationHandlers } from './handlers/conversation.ts';
import { decisionHandlers } from './handlers/decisions.ts';
import { executionHandlers } from './handlers/executions.ts';
import { permissionHandlers } from './handlers/permissions.ts';
import { runnerHandlers } from './handlers/runner.ts';
import { sessionHandlers } from './handlers/sessions.ts';
import { streamHandlers } from './handlers/streams.ts';
import { endIfStalled, LargeResponses, STALLED_MS } from './large-responses.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import {
  answer,
  answerBrokenRequest,
  drainBeforeClosing,
  noteBodyLimit,
  sendAnswer,
  toAnswer,
} from './refusals.ts';
import { checkOrigin, exceedsJsonValueLimit, originsOf, securityHeaders } from './request-guard.ts';
import type { Handlers } from './route-types.ts';
import { registerRoutes } from './routing.ts';
import type { OpenConnection, Runs, ServerParts } from './server-parts.ts';
import { registerWebPage } from './web-page.ts';

export interface ServerOptions {
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  readonly config: ServerConfig;
  /** Signs our own tokens and checks HS256 ones. */
  readonly secret: Uint8Array;
  readonly logger: FastifyBaseLogger;
  readonly runs: Runs;
  readonly signInCodes: SignInCodes;
  readonly metrics: Metrics;
  readonly storage: StorageHealth;
}

/** Makes the HTTP server; call `listen` to start it. Closing it ends the streams first (clients reconnect). */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { engine, store, bus, config, logger, runs } = options;
  const app = newFastify(config, logger);
  const onError = (error: unknown) => {
    // A full disk is logged once, by StorageHealth.
    if (!(error instanceof StorageFull)) logger.error({ err: error }, 'background task failed');
  };
  const openStreams = new Set<OpenConnection>();
  const issuer = issuerOf(config);
  const parts: ServerParts = {
    engine,
    store,
    bus,
    config,
    runs,
    openStreams,
    log: logger,
    authenticator: new Authenticator(
      store,
      new TokenVerifier(options.secret, issuer),
      { ordinary: rate(config.requestsPerSecond), runner: rate(config.runnerRequestsPerSecond) },
      onError,
    ),
    tokens: new TokenIssuer(store, options.secret),
    bindings: new RunnerBindings(store),
    signInCodes: options.signInCodes,
  };
  const limiters = {
    anonymous: new RateLimiter(rate(config.anonymousRequestsPerSecond, { burstSeconds: 10 })),
    largeBodies: new RateLimiter(rate(config.largeBodyBytesPerSecond)),
    largeResponses: new LargeResponses(rate(config.largeBodyBytesPerSecond * 4), config.callBodyBytes * 2),
  };

  guardEveryRequest(app, config);
  answerErrors(app);
  logRequests(app);
  const handlers: Handlers = {
    ...conversationHandlers(parts),
    ...sessionHandlers(parts),
    ...streamHandlers(parts),
    ...executionHandlers(parts),
    ...runnerHandlers(parts),
    ...decisionHandlers(parts),
    ...permissionHandlers(parts),
  };
  registerRoutes(app, { handlers, parts, ...limiters });
  registerMcp(app, { handlers, parts, ...limiters, bus });
  registerOperatorRoutes(app, options);
  registerWebPage(app, config);
  const unsubscribe = bus.subscribe((hint) => {
    if (hint.kind !== 'revoked') return;
    parts.authenticator.forget(hint.tokenId);
    for (const stream of openStreams) if (stream.caller.tokenId === hint.tokenId) stream.end();
  });
  app.addHook('preClose', async () => {
    unsubscribe();
    for (const stream of openStreams) stream.end();
  });
  await app.ready();
  return app;
}

const rate = (perSecond: number, { burstSeconds = 5 } = {}): Rate => ({
  perSecond,
  burst: perSecond * burstSeconds,
});

function newFastify(config: ServerConfig, logger: FastifyBaseLogger): FastifyInstance {
  let requests = 0;
  const prefix = Date.now().toString(36);
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: () => `${prefix}-${(++requests).toString(36)}`,
    bodyLimit: config.bodyBytes,
    trustProxy: config.trustProxy,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: 75_000,
    connectionTimeout: STALLED_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // we send our own error body
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200, caseSensitive: true },
    http: {
      requestTimeout: config.requestTimeoutSeconds * 1000, // otherwise Node checks headersTimeout against its own default
      headersTimeout: config.headersTimeoutSeconds * 1000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16 * 1024,
    },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => void sendAnswer(reply, toAnswer(error, request.id)),
  });
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body as string;
    const { route: name } = request.routeOptions.config;
    const route: Route | undefined = name && routes[name];
    const maxValues = route?.maxBodyValues ?? maxParamValues;
    // An empty body counts as missing; the schema decides whether that is allowed.
    if (text === '') done(null, undefined);
    else if (exceedsJsonValueLimit(text, 2 * maxValues)) done(unmanageable());
    else
      parseJson(request, text, (error, parsed) =>
        error || isWithinJsonLimits(parsed, maxValues) ? done(error, parsed) : done(unmanageable()),
      );
  });
  return app as unknown as FastifyInstance;
}

/** For pages of other origins. */
const usedMethods = [...new Set(Object.values(routes).map(({ method }) => method))].join(', ');

const unmanageable = (): Refusal =>
  new Refusal('INVALID_BODY', { problem: 'it is nested too deep, or has too many values' });

/** Before every request: sets security headers, refuses while the server stops, checks host and origin. */
function guardEveryRequest(app: FastifyInstance, config: ServerConfig): void {
  const cors = new Set(config.corsOrigins);
  let origins = originsOf(config.publicOrigins, undefined);
  let isClosing = false;
  app.addHook('onListen', async () => {
    const address = app.addresses().find((found) => typeof found !== 'string');
    origins = originsOf(config.publicOrigins, address && { host: config.host, port: address.port });
  });
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeaders);
    reply.raw.on('timeout', endIfStalled);
    if (isClosing) {
      reply.header('connection', 'close');
      return done(new Refusal('UNAVAILABLE', { problem: 'it is stopping' }));
    }
    // Health probes use the IP address as host, so it is not checked. They reveal only whether the server works.
    const { url } = request;
    if (url === '/healthz' || url === '/readyz') return done();
    try {
      checkOrigin(request, origins, cors);
    } catch (error) {
      return done(error as Error);
    }
    const { origin } = request.headers;
    if (origin !== undefined && cors.has(origin)) {
      reply.headers({ 'access-control-allow-origin': origin, vary: 'Origin' });
      if (request.method === 'OPTIONS') {
        reply.headers({
          'access-control-allow-methods': usedMethods,
          'access-control-allow-headers': 'authorization, content-type, last-event-id',
          'access-control-max-age': '600',
        });
        reply.code(204).send();
        return;
      }
    }
    done();
  });
}

function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    noteBodyLimit(error, request);
    const response = toAnswer(error, request.id);
    // The client's view of a call's state differs from ours (EX-2), which may be a bug.
    if (error instanceof Refusal && error.code === 'ILLEGAL_TRANSITION')
      request.log.warn({ request_id: request.id, problem: error.message }, 'illegal transition refused');
    if (response.unexpected) request.log.error({ err: error, request_id: request.id }, 'request failed');
    if (response.status === 413) return drainBeforeClosing(request, reply, response);
    return sendAnswer(reply, response);
  });
  app.setNotFoundHandler((_request, reply) =>
    sendAnswer(reply, answer('NOT_FOUND', describeError('NOT_FOUND', { what: 'address' }).message)),
  );
}

/** Logs every request at debug level. At info level, the log has only the steps of calls and failures (OB-2). */
function logRequests(app: FastifyInstance): void {
  if (!(app.log as { isLevelEnabled?: (level: string) => boolean }).isLevelEnabled?.('debug')) return;
  app.addHook('onResponse', (request, reply, done) => {
    const params = (request.params ?? {}) as Record<string, string | undefined>;
    const { tool_id: call, approval_id: approval } = params;
    const { method, caller, id: request_id, routeOptions } = request;
    const route = routeOptions.config.route ?? routeOptions.url;
    const ms = Math.round(reply.elapsedTime);
    request.log.debug(
      { request_id, method, route, status: reply.statusCode, ms, by: caller?.tokenId, call, approval },
      'request',
    );
    done();
  });
}

function issuerOf({ authIssuer, authAudience, authJwksUrl }: ServerConfig): TrustedIssuer | undefined {
  if (authIssuer === undefined || authAudience === undefined) return undefined;
  const jwksUrl = authJwksUrl ?? `${authIssuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  return { issuer: authIssuer, audience: authAudience, jwksUrl };
}
